"""Parameters on several contexts: interrupted changes, programs of a step, what runs apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import gluon
from tests._interrupts import Interrupter

TWO = [mx.cpu(0), mx.cpu(1)]


def _parameter() -> gluon.Parameter:
    parameter = gluon.Parameter("w", shape=(2,))
    mx.random.seed(1)
    parameter.initialize(ctx=TWO)
    for grad in parameter.list_grad():
        grad[:] = 3
    return parameter


def _seen(parameter: gluon.Parameter) -> list[Any]:
    """What a change of a parameter may change."""
    grads = [] if parameter.grad_req == "null" else parameter.list_grad()
    arrays = parameter.list_data()
    return [
        [x.asnumpy().tolist() for x in (*arrays, *grads)],
        [None if x.grad is None else x.grad.asnumpy().tolist() for x in arrays],
        [parameter.grad_req, parameter.shape, np.dtype(parameter.dtype).name],
        [x.dtype for x in (*arrays, *grads)],
        [str(c) for c in parameter.list_ctx()],
    ]


CHANGES: dict[str, Callable[[gluon.Parameter], object]] = {
    "set_data": lambda p: p.set_data(mx.nd.array([5, 6])),
    "zero_grad": lambda p: p.zero_grad(),
    "grad_req": lambda p: setattr(p, "grad_req", "add"),
    "no gradient": lambda p: setattr(p, "grad_req", "null"),
    "reset_ctx": lambda p: p.reset_ctx([mx.cpu(1), mx.cpu(2)]),
    "cast": lambda p: p.cast("float16"),
    "initialize": lambda p: p.initialize(ctx=TWO, force_reinit=True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_interrupt_changes_all_contexts_or_none(name):
    change = CHANGES[name]
    change(_parameter())
    before, after = _parameter(), _parameter()
    first = _seen(before)
    change(after)
    last, drawn = _seen(after), mx.nd.random.uniform(shape=(3,)).asnumpy().tolist()
    raised, at = 0, 1
    while True:
        parameter = _parameter()
        interrupter = Interrupter(at)
        if not interrupter.run(lambda: change(parameter)):  # noqa: B023
            break
        raised, at = raised + 1, at + 1 + at // 12
        seen = _seen(parameter)
        assert seen in (first, last), interrupter.place
        if seen == first != last:
            change(parameter)
            assert _seen(parameter) == last
            assert mx.nd.random.uniform(shape=(3,)).asnumpy().tolist() == drawn
    assert raised > 10
