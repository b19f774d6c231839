"""Golden cases of operators, forward and backward, split in two stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from executorkit.jaxpr_interpreter import plan
from executorkit.lowering import two_stages
from tests import _golden
from tests.jaxpr_interpreter.test_golden_cases import TOLERANCES

#: Families with weights, and some that move data. The others take a minute, and split as well.
FAMILIES = (
    "attention", "batch_norm", "conv", "dense", "join", "matmul", "norm", "quantized_layers",
    "rnn", "slicing", "tiling",
)  # fmt: skip


def _interpreted(function: Callable[..., Any], arrays: Sequence[Any]) -> list[Any]:
    """The results of a function of arrays, without compiling it."""
    planned = plan(jax.make_jaxpr(function)(*arrays))
    assert planned.uncovered == ()
    return list(planned.run([np.asarray(x) for x in arrays]))


def staged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in two stages, of whose arguments every second one stays."""

    def run(*args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        results = jax.eval_shape(function, *args)

        def flat(*arrays: Any) -> list[Any]:
            return jax.tree.leaves(function(*jax.tree.unflatten(structure, arrays)))

        avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
        stages = two_stages(flat, avals, [i % 2 == 1 for i in range(len(leaves))], "cpu")
        prepared = _interpreted(stages.prepare, [leaves[i] for i in stages.sources])
        others = [leaves[i] for i in (*stages.fed, *stages.held)]
        outputs = _interpreted(stages.run, [*others, *prepared])
        return jax.tree.unflatten(jax.tree.structure(results), outputs)

    return run


@pytest.mark.golden
@pytest.mark.parametrize("family", FAMILIES)
def test_both_stages_together_give_what_mxnet_gives(family: str) -> None:
    stored = _golden.answers(family)
    problems = []
    for case in _golden.cases(family):
        if case.name in TOLERANCES:  # the interpreter's own
            case = replace(case, rtol=TOLERANCES[case.name][0])
        for dtype in case.dtypes:
            key = case.key(dtype)
            result = _golden.run_case(case, dtype, staged)
            faults = _golden.compare(result, case, key, stored, stored.facts[key])
            problems += [f"{key}: {text}" for text in faults]
    assert problems == []
