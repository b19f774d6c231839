"""Gradients of gradients, against JAX's of the operators' functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import executorkit as mx
from executorkit import nd
from executorkit.jaxpr_interpreter import plan
from tests._tools import golden as _golden
from tests.golden.cases._case import Case

from .test_operators import array, arrays_of, heads_of, states_of

#: Operators whose second derivatives JAX takes long to trace. RNN is another, which is tested.
SLOW = {"ROIPooling", "SpatialTransformer", "BilinearSampler", "prod", "CTCLoss"}
SLOW |= {f"_contrib_{name}" for name in ("DeformablePSROIPooling", "Proposal", "MultiProposal")}
SLOW |= {f"_contrib_{name}" for name in ("BilinearResize2D", "ROIAlign")}
#: Operators of a family that are tested, at most, and those that are tested in any case.
PER_FAMILY = 2
NETWORKS = {"BatchNorm", "LayerNorm", "Pooling", "SoftmaxOutput", "batch_dot", "softmax", "take"}


def sample() -> dict[str, list[Case]]:
    """Cases of operators with floating outputs and inputs, one for each, by family."""
    cases: dict[str, list[Case]] = {}
    seen = set(SLOW)
    for family, case, dtype in _golden.questions():
        if dtype != "float32" or case.op in seen or not case.compared(dtype):
            continue
        seen.add(case.op)
        chosen = cases.setdefault(family, [])
        outs = _golden.answers(family).facts[case.key(dtype)]["arrays"]
        if (len(chosen) < PER_FAMILY or case.op in NETWORKS) and "float" in outs["out0"][1]:
            chosen.append(case)
    return {family: chosen for family, chosen in cases.items() if chosen}


CASES = sample()


def is_floating(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def second_order(case: Case) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The gradients of the sum of an operator's gradients, times numbers: the tape's and JAX's."""
    op, p = _golden.parsed(case)
    arrays = arrays_of(case, "float32")
    names = [n for n in case.compared("float32") if n not in states_of(case, arrays)]
    draw = np.random.RandomState(1).standard_normal
    factors = [draw(arrays[n].shape).astype(arrays[n].dtype) for n in names]
    inputs = {n: jnp.asarray(x) for n, x in case.arrays("float32").items()}

    variables = [arrays[n] for n in names]
    for x in variables:
        x.attach_grad()
    with mx.autograd.record(train_mode=case.train):
        outs = _golden.call_case(case, arrays)
        outs, heads = zip(
            *[(x, h) for x, h in zip(outs, heads_of(case, outs), strict=True) if is_floating(x)],
            strict=True,
        )
        grads = mx.autograd.grad(outs, variables, heads, create_graph=True)
        products = [(g * array(f)).sum() for g, f in zip(grads, factors, strict=True)]
    mx.autograd.backward(products)

    def outputs(*xs: Any) -> list[Any]:
        full = {**inputs, **dict(zip(names, xs, strict=True))}
        key = jax.random.key(0)
        results = op.apply(p, [*full.values()], key=key, train=case.train)[: op.visible(p)]
        return [x for x in results if is_floating(x)]

    def product(*xs: Any) -> Any:
        grads = jax.vjp(outputs, *xs)[1]([jnp.asarray(h.asnumpy()) for h in heads])
        return sum(jnp.vdot(g, f) for g, f in zip(grads, factors, strict=True))

    with jax.enable_x64(True):
        values = [np.asarray(inputs[n]) for n in names]
        planned = plan(jax.make_jaxpr(jax.grad(product, tuple(range(len(names)))))(*values))
        assert planned.uncovered == ()
        theirs = planned.run(values)
    return [x.grad.asnumpy() for x in variables], [np.asarray(x) for x in theirs]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("family", CASES)
def test_second_order(family):
    problems = []
    for case in CASES[family]:
        for ours, theirs in zip(*second_order(case), strict=True):
            fault = _golden.difference(ours, theirs, 1e-4, 1e-4)
            problems += [f"{case.name}: {fault}"] if fault else []
    assert problems == []


def derivatives(function: Callable[[Any], Any], x: np.ndarray, order: int) -> list[np.ndarray]:
    """The derivatives of a sum of element-wise functions, the first to that of an order."""
    variable = array(x)
    variable.attach_grad()
    found = []
    with mx.autograd.record():
        y = function(variable)
        for _ in range(order):
            (y,) = mx.autograd.grad(y, [variable], create_graph=True)
            found.append(y)
    return [y.asnumpy() for y in found]


FUNCTIONS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: x * x * x * x, lambda x: x**4),
    (nd.log, jnp.log),
    (nd.sin, jnp.sin),
    (nd.tanh, jnp.tanh),
    (nd.sigmoid, jax.nn.sigmoid),
    (lambda x: nd.softmax(x.reshape((1, -1))), jax.nn.softmax),
    (lambda x: nd.exp(x[1:] * x[:-1]), lambda x: jnp.exp(x[1:] * x[:-1])),
    (lambda x: nd.sqrt(x).astype("float64") * 2, lambda x: jnp.sqrt(x) * 2),
]


@pytest.mark.parametrize(("ours", "theirs"), FUNCTIONS)
def test_third_order(ours, theirs):
    x = np.array([0.5, 1.25, 2.0], "float64")
    expected, function = [], theirs
    with jax.enable_x64(True):
        for _ in range(3):
            function = jax.grad(lambda x, f=function: jnp.sum(f(x)))
            expected.append(np.asarray(function(jnp.asarray(x))))
    for a, b in zip(derivatives(ours, x, 3), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def layer(x: Any, w: Any, b: Any) -> Any:
    return nd.Convolution(x, w, b, kernel=(2, 2), num_filter=2)


def sum_of_squares(gradients: Callable[..., Any], *xs: Any) -> Any:
    return sum(jnp.sum(g * g) for g in gradients(*xs))


def test_third_order_of_a_convolution_with_softmax():
    shapes = (1, 1, 3, 3), (2, 1, 2, 2), (2,)
    values = [np.random.standard_normal(s) for s in shapes]
    arrays = [array(v) for v in values]
    for x in arrays:
        x.attach_grad()

    def theirs(*xs: Any) -> Any:
        patches = jax.lax.conv(xs[0], xs[1], (1, 1), "VALID") + xs[2][:, None, None]
        return jnp.sum(jax.nn.softmax(patches.reshape(2, 4), axis=1)[:, 0])

    expected: Callable[..., Any] = theirs
    with mx.autograd.record():
        y = nd.softmax(layer(*arrays).reshape((2, 4)), axis=1)[:, 0].sum()
        for _ in range(3):
            grads = mx.autograd.grad(y, arrays, create_graph=True)
            y = nd.add_n(*[(g * g).sum() for g in grads])
    with jax.enable_x64(True):
        for _ in range(3):
            gradient = jax.grad(expected, (0, 1, 2))
            expected = partial(sum_of_squares, gradient)
        np.testing.assert_allclose(y.asnumpy(), expected(*values), rtol=1e-6)


def test_head_gradients_are_constants():
    """As in MXNet: gradients of gradients do not go on to what a head gradient is."""
    x, h = array(np.array([1.0, 2.0])), array(np.array([3.0, 4.0]))
    x.attach_grad()
    h.attach_grad()
    with mx.autograd.record():
        y = x * x * x
        (g,) = mx.autograd.grad(y, [x], [h], create_graph=True)
    g.backward()
    assert x.grad.asnumpy().tolist() == [18.0, 48.0]
    assert h.grad.asnumpy().tolist() == [0.0, 0.0]
