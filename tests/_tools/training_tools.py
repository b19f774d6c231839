"""Runs the scripts on training tools and compares what they see with what they saw under MXNet."""

from __future__ import annotations

import executorkit as mx
from tests._tools.answers import differences, stored_answers
from tests.golden import training_scripts

ANSWERS = stored_answers("training_tools")


def names(module: str) -> list[str]:
    """The scripts of one module, each of which has an answer."""
    script_names = [n for n, f in training_scripts.SCRIPTS.items() if f.__module__.endswith(module)]
    assert set(script_names) <= set(ANSWERS), "run tests/golden/make_scripts.py training_tools"
    return script_names


def compare(name: str, known_differences: dict[str, str] | None = None) -> None:
    """Fails with all differences, but for those at the places in ``known``, which must differ."""
    differing = dict(differences(training_scripts.run(name, mx), ANSWERS[name], name))
    expected = {place for place in known_differences or {} if place.split("/")[0] == name}
    wrong = [f"{place}: {what}" for place, what in differing.items() if place not in expected]
    assert not wrong, "\n".join(wrong)
    assert expected <= set(differing), "these agree with MXNet now"
