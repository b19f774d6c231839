"""Scripts on modules give the results that they give under MXNet."""

from __future__ import annotations

import pytest

import executorkit as mx
from tests._tools.answers import differences, stored_answers
from tests.golden import module_scripts

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("modules")


def _known_to_mxnet(ours, theirs):
    """Signatures without the methods and last arguments that MXNet's modules lack."""
    return {
        name: ours[name] if arguments is None else ours[name][: len(arguments)]
        for name, arguments in theirs.items()
    }


# MXNet warns of doing things a second time, and so does executorkit.
@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize("name", ANSWERS)
def test_script_gives_mxnets_answers(name):
    ours = module_scripts.run(name, mx)
    if name == "signatures":
        ours = _known_to_mxnet(ours, ANSWERS[name])
    assert list(differences(ours, ANSWERS[name], name)) == []


def test_every_script_has_an_answer():
    assert list(ANSWERS) == list(module_scripts.SCRIPTS)
