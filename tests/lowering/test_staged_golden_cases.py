"""Golden cases of operators, forward and backward, split in two stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun

from executorkit.jaxpr_interpreter import plan
from executorkit.lowering import two_stages
from tests._tools import golden as _golden

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


def staged(closed_jaxpr: Any, arrays: Sequence[Any]) -> list[Any]:
    """The results in two stages; every second argument stays."""
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
    held = [i % 2 == 1 for i in range(len(arrays))]
    stages = two_stages(jaxpr_as_fun(closed_jaxpr), avals, held, "cpu")
    prepared = _interpreted(stages.prepare, [arrays[i] for i in stages.sources])
    others = [arrays[i] for i in (*stages.fed, *stages.held)]
    return _interpreted(stages.run, [*others, *prepared])


@pytest.mark.sampled(3)
@pytest.mark.golden
@pytest.mark.parametrize("family", FAMILIES)
def test_both_stages_together_give_what_mxnet_gives(family: str) -> None:
    stored = _golden.answers(family)
    problems = []
    for case in _golden.cases(family):
        case = _golden.for_interpreter(case)
        for dtype in case.dtypes:
            key = case.key(dtype)
            result = _golden.trace_case(case, dtype).evaluated(staged)
            faults = _golden.compare(result, case, key, stored, stored.facts[key])
            problems += [f"{key}: {text}" for text in faults]
    assert problems == []
