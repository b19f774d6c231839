"""Example programs see what they see under MXNet, with the import line changed."""

from __future__ import annotations

import pytest

import executorkit as mx
from tests._tools.answers import differences, stored_answers
from tests.golden import example_scripts

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("examples")


#: Scripts that are compiled even where the environment has all others interpreted. Eight steps of
#: Adam multiply the rounding of gradients: MXNet's numbers are up to 1.0e-5 from those of float64,
#: these up to 1.1e-5, compiled or not. One that is interpreted is 1.37e-6 from MXNet's instead of
#: the 1.34e-6 that are allowed.
COMPILED = {"softmax_regression_with_an_optimizer"}
#: Scripts that use the profiler.
PROFILED = {"profiled_products"}


# MXNet warns of deprecated operators and of doing things a second time, and so does executorkit.
@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.first) if n in PROFILED else n for n in ANSWERS]
)
def test_program_sees_the_same_as_under_mxnet(name, request):
    if name in COMPILED:
        request.getfixturevalue("fresh_programs")
        request.getfixturevalue("compiled")
    assert list(differences(example_scripts.run(name, mx), ANSWERS[name], name)) == []


def test_every_program_has_an_answer():
    assert list(ANSWERS) == list(example_scripts.SCRIPTS)
