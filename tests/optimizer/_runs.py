"""MXNet's stored runs, for all tests of optimizers."""

from __future__ import annotations

from tests.golden._store import Answers
from tests.golden.cases._optimizers import RUNS, Run

ANSWERS = Answers("optimizers")


def inner_state(case: Run, state):
    """The part of a state that MXNet has too: LBSGD keeps its sum of gradients elsewhere."""
    if case.name != "lbsgd" or case.options.get("batch_scale", 1) == 1:
        return state
    if case.options.get("multi_precision"):
        return state[0], state[1][0]
    return state[0]


def keys(*parts: str) -> list[str]:
    """Names of runs, all of them or those whose way of use is among ``parts``."""
    return [key for key in RUNS if not parts or key.split("|")[1] in parts]
