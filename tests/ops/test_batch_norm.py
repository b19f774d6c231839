"""Batch normalisation: gradients that are exactly zero."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import executorkit as mx


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
