"""CTC beyond the golden answers: Warp-CTC's head, real sizes, one alignment by hand."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import ops


def _bound(symbol, **arrays):
    executor = symbol.bind(
        mx.cpu(),
        {name: mx.nd.array(a, dtype=a.dtype) for name, a in arrays.items()},
        {"data": mx.nd.zeros(arrays["data"].shape)},
        {"data": "write"},
    )
    return executor, executor.forward(is_train=True)[0].asnumpy()


def _gradient(executor):
    (gradient,) = (g for g in executor.grad_arrays if g is not None)
    return gradient.asnumpy()


def test_loss_is_the_sum_over_all_alignments():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(4, 1, 3)).astype("f4")
    p = np.exp(data[:, 0]) / np.exp(data[:, 0]).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        if [k for k, _ in itertools.groupby(path) if k] == [1, 2]:
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    loss = mx.nd.ctc_loss(mx.nd.array(data), mx.nd.array([[1, 2, 0]]))
    np.testing.assert_allclose(loss.asnumpy(), [-np.log(total)], rtol=1e-5)


def test_fractions_are_rounded_away_from_zero():
    """As MXNet 1.9.1 rounds them."""
    data = mx.nd.array(np.random.default_rng(0).normal(size=(6, 2, 5)))
    lengths = [mx.nd.array(n) for n in ([4.5, 5.4], [1.5, 1.6])]
    rounded = [mx.nd.array(n) for n in ([5, 5], [2, 2])]

    def loss(label, counts) -> np.ndarray:
        arrays: list[Any] = [data, mx.nd.array(label), *counts]
        options: dict[str, Any] = {"use_data_lengths": True, "use_label_lengths": True}
        return mx.nd.ctc_loss(*arrays, **options).asnumpy()

    expected = loss([[1, 3], [1, 4]], rounded)
    np.testing.assert_array_equal(loss([[1.4, 2.5], [0.5, 3.5]], lengths), expected)


def test_warp_ctc_has_the_gradient_of_the_loss():
    steps, batch, classes = 6, 3, 5
    data = np.random.default_rng(1).normal(size=(steps, batch, classes)).astype("f4")
    label = np.array([[1, 2, 2], [0, 4, 0], [3, 0, 1]])
    packed = np.array([[1, 2, 2], [4, 0, 0], [3, 1, 0]], "f4")
    variables = mx.sym.Variable("data"), mx.sym.Variable("label")

    executor, _ = _bound(mx.sym.ctc_loss(*variables), data=data, label=packed)
    executor.backward(mx.nd.ones((batch,)))
    expected = _gradient(executor)

    warp = mx.sym.WarpCTC(*variables, label_length=3, input_length=steps)
    executor, out = _bound(
        warp, data=data.reshape(-1, classes), label=label.ravel().astype("int32")
    )
    executor.backward()
    softmax = np.exp(data) / np.exp(data).sum(-1, keepdims=True)
    np.testing.assert_allclose(out, softmax.reshape(-1, classes), rtol=1e-5)
    gradient = _gradient(executor).reshape(data.shape)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_warp_ctc_infers_its_label():
    warp = mx.sym.WarpCTC(mx.sym.Variable("data"), label_length=4, input_length=30, name="ctc")
    shapes, outs, _ = warp.infer_shape(data=(60, 11))
    assert (shapes, outs) == ([(60, 11), (8,)], [(60, 11)])
    assert warp.infer_type(data="float32")[0] == [np.float32, np.int32]


def test_a_label_that_does_not_fit_has_no_gradient():
    data = np.random.default_rng(2).normal(size=(2, 1, 3)).astype("f4")
    variables = mx.sym.Variable("data"), mx.sym.Variable("label")
    label = np.array([[1, 1]], "f4")
    executor, loss = _bound(mx.sym.ctc_loss(*variables), data=data, label=label)
    executor.backward(mx.nd.ones((1,)))
    np.testing.assert_array_equal(loss, [0])
    np.testing.assert_array_equal(_gradient(executor), np.zeros_like(data))


@pytest.mark.parametrize("wanted", ["loss", "gradient"])
def test_program_does_not_grow_with_steps_and_labels(wanted):
    op = ops.lookup("CTCLoss")
    assert op is not None

    def loss(data, label):
        return op.apply(op.parse({}), [data, label])[0].sum()

    def lines(steps, labels):
        shapes = (steps, 4, 30), (4, labels)
        arrays = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]
        run = loss if wanted == "loss" else jax.grad(loss)
        with jax.enable_x64(True):
            return len(jax.jit(run).lower(*arrays).as_text().splitlines())

    assert lines(200, 60) == lines(20, 5)
