"""Batch normalisation: gradients that are exactly zero, and that depend on no earlier trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.ops.nn import moments


def largest_gradients(norm: str) -> dict[str, float]:
    """The largest gradient of each argument, of a batch of one behind a dense layer."""
    x = mx.sym.Convolution(mx.sym.var("data"), num_filter=8, kernel=(3, 3), name="conv")
    x = mx.sym.LeakyReLU(x, act_type="prelu", name="prelu")
    x = mx.sym.FullyConnected(x, num_hidden=128, name="fc")
    options = {"key": "bn"} if norm == "SyncBatchNorm" else {}
    x = getattr(mx.sym.contrib if options else mx.sym, norm)(x, name="bn", **options)
    x = mx.sym.broadcast_mul(x, mx.sym.var("factor", shape=(1, 128)))
    executor = mx.sym.sum(x * x + x).simple_bind(mx.cpu(), data=(1, 3, 12, 12))
    random = np.random.RandomState(3)
    for array in executor.arg_arrays:
        array[:] = random.normal(size=array.shape)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(1)])
    return {name: float(abs(g.asnumpy()).max()) for name, g in executor.grad_dict.items()}


@pytest.mark.slow
def test_one_element_of_each_channel_gets_exactly_no_gradient():
    """In a process with XLA's optimisations, which the tests' quick compilation leaves out: it
    is the fused products that left a remainder."""
    norms = ["BatchNorm", "BatchNorm_v1", "SyncBatchNorm"]
    script = (
        "import json; from tests.ops.test_batch_norm import largest_gradients as f;"
        f"print(json.dumps([f(norm) for norm in {norms}]))"
    )
    environment = {**os.environ, "XLA_FLAGS": "", "EXECUTORKIT_INTERPRET": "0"}
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = json.loads(process.stdout)
    assert len(answers) == len(norms)
    for gradients in answers:
        assert gradients.pop("bn_beta") > 0
        assert gradients.pop("factor") > 0
        assert gradients == dict.fromkeys(gradients, 0)


def gradients_in_inference_mode(shape: tuple[int, ...], infers_first: bool) -> list[np.ndarray]:
    """Gradients by MXNet's formula for batch statistics, which is not the derivative."""
    function: Any = moments.moving_normalize
    function.clear_cache()
    head = mx.sym.square(mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False))
    loss = mx.sym.MakeLoss(head)
    if infers_first:
        loss.simple_bind(mx.cpu(), data=shape, grad_req="null").forward()[0].wait_to_read()
    executor = loss.simple_bind(mx.cpu(), data=shape)
    random = np.random.RandomState(4)
    for array in (*executor.arg_arrays, *executor.aux_arrays):
        array[:] = random.uniform(size=array.shape)
    executor.forward(is_train=False)
    executor.backward()
    return [g.asnumpy() for g in executor.grad_arrays]


@pytest.mark.usefixtures("fresh_programs")
def test_gradients_do_not_depend_on_an_inference_before():
    """JAX keeps traces of the function, those without its own derivative too."""
    expected = gradients_in_inference_mode((4, 3, 5, 5), infers_first=False)
    with mx.program.fresh_caches():
        results = gradients_in_inference_mode((4, 3, 5, 5), infers_first=True)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_backward_in_inference_mode_gives_the_derivative():
    """What was recorded in inference too, as in MXNet: ``train_mode`` of backward decides."""
    random = np.random.RandomState(5)
    x, head = (mx.nd.array(random.normal(size=(2, 3, 4))) for _ in range(2))
    gamma, beta, mean, var = (mx.nd.array(random.uniform(0.5, 2, 3)) for _ in range(4))
    x.attach_grad()
    derivative = head.asnumpy() * (gamma / (var + 1e-3).sqrt()).reshape((1, 3, 1)).asnumpy()
    for train_mode in (True, False):
        with mx.autograd.record(train_mode=False):
            y = mx.nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False)
        y.backward(head, train_mode=train_mode)
        assert np.allclose(x.grad.asnumpy(), derivative, 1e-5) is not train_mode
