"""Operators under ``record()``: gradients as MXNet has them, and an executor to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import nd
from executorkit.symbol import Symbol
from executorkit.symbol.node import Node
from tests._tools import golden as _golden
from tests.golden.cases._case import Case

FAMILIES = _golden.families()


def differentiated(family: str, dtypes: str) -> Iterator[tuple[Case, str]]:
    """The cases whose gradients are compared, in their main dtype or in the others."""
    for case in map(_golden.for_interpreter, _golden.cases(family)):
        for dtype in (case.dtype,) if dtypes == "main" else case.also:
            if case.compared(dtype):
                yield case, dtype


def array(values: np.ndarray) -> nd.NDArray:
    return nd.array(values, dtype=values.dtype)


def arrays_of(case: Case, dtype: str) -> dict[str, nd.NDArray]:
    return {name: array(values) for name, values in case.arrays(dtype).items()}


def heads_of(case: Case, outs: list[Any]) -> list[nd.NDArray]:
    """The head gradients of a case."""
    return [array(case.head(i, x.shape, x.storage.dtype.name)) for i, x in enumerate(outs)]


def results_of(outs: list[Any], grads: dict[str, Any], states: dict[str, Any]) -> dict[str, Any]:
    return {
        **{f"out{i}": out.asnumpy() for i, out in enumerate(outs)},
        **{f"grad:{name}": grad.asnumpy() for name, grad in grads.items()},
        **{f"aux:{name}": state.asnumpy() for name, state in states.items()},
    }


def states_of(case: Case, arrays: dict[str, Any]) -> dict[str, Any]:
    """The auxiliary states, by the names that a case has for them."""
    op, p = _golden.parsed(case)
    names = zip(op.inputs(p), arrays, strict=True)
    return {theirs: arrays[theirs] for ours, theirs in names if ours in op.aux_of(p)}


def run_recorded(case: Case, arrays: dict[str, Any]) -> list[Any]:
    """Records the case's operator and calls backward; its outputs."""
    with mx.autograd.record(train_mode=case.train):
        outs = _golden.call_case(case, arrays)
    mx.autograd.backward(outs, heads_of(case, outs))
    return outs


def recorded(case: Case, dtype: str) -> dict[str, np.ndarray]:
    """Outputs, gradients and auxiliary states of a case by the tape."""
    arrays = arrays_of(case, dtype)
    names = case.compared(dtype)
    for name in names:
        arrays[name].attach_grad()
    outs = run_recorded(case, arrays)
    return results_of(outs, {n: arrays[n].grad for n in names}, states_of(case, arrays))


def executed(case: Case, dtype: str) -> dict[str, np.ndarray]:
    """The same by an executor."""
    op, p = _golden.parsed(case)
    arrays = arrays_of(case, dtype)
    states = states_of(case, arrays)
    node = Node(op, "op", {}, p, tuple([(Node(None, n, {}), 0) for n in arrays]))
    names = [n for n in case.compared(dtype) if n not in states]
    executor = Symbol([(node, i) for i in range(op.visible(p))]).bind(
        mx.cpu(),
        {n: x for n, x in arrays.items() if n not in states},
        {n: nd.zeros(arrays[n].shape, dtype=arrays[n].dtype) for n in names},
        aux_states=states,
    )
    outs = executor.forward(is_train=case.train)
    executor.backward(heads_of(case, outs))
    return results_of(outs, {n: executor.grad_dict[n] for n in names}, states)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtypes", ["main", pytest.param("others", marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_recorded_operator_gives_what_mxnet_and_an_executor_give(family, dtypes):
    answers, problems = _golden.answers(family), []
    for case, dtype in differentiated(family, dtypes):
        key, outputs = case.key(dtype), _golden.parsed(case)[0].outputs
        ours, theirs = recorded(case, dtype), executed(case, dtype)
        shown = [name for name in ours if name.startswith("out")]
        p = _golden.parsed(case)[1]
        result = _golden.Result(ours, list(outputs(p)[: len(shown)]))
        problems += _golden.compare(result, case, key, answers, answers.facts[key])
        problems += [
            f"{key}: {name} is not the executor's"
            for name, value in theirs.items()
            if ours[name].tobytes() != value.tobytes()
        ]
    assert problems == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_added(family):
    pairs = (pair for dtypes in ("main", "others") for pair in differentiated(family, dtypes))
    cases = [(c, d) for c, d in pairs if d == "float32"][:2]
    for case, dtype in cases:
        arrays, names = arrays_of(case, dtype), case.compared(dtype)
        for name in names:
            arrays[name].attach_grad("add")
            arrays[name].grad[:] = 0.5
        run_recorded(case, arrays)
        expected = recorded(case, dtype)
        for name in names:
            np.testing.assert_allclose(
                arrays[name].grad.asnumpy(), expected[f"grad:{name}"] + 0.5, rtol=1e-6, atol=1e-6
            )


@pytest.mark.parametrize("shape", [(2, 3), (1,)])
def test_an_array_that_a_call_reads_twice_is_found_by_identity(shape):
    first, second = nd.ones(shape), nd.ones(shape)
    for x in (first, second):
        x.attach_grad()
    with mx.autograd.record():
        joined = nd.stack(first, second, second)
    joined.backward()
    assert (first.grad.asnumpy() == 1).all()
    assert (second.grad.asnumpy() == 2).all()
