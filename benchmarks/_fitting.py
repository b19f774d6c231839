"""The step that ``Module.fit`` makes with every batch, for either package.

As a program, with a network and a batch size, it is MXNet's side of a comparison (``serve``). It
imports neither jax nor executorkit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ._networks import Network, network
from ._workers import serve

RATE, MOMENTUM = 0.05, 0.9


def module_step(mx: Any, net: Network) -> tuple[Any, Any, Callable[[], None]]:
    """A module as ``fit`` leaves it before the first batch, its metric, and the step of a batch."""
    symbol = net.build(mx)
    labels = [n for n in net.shapes if n.endswith("label")]
    data = [n for n in net.shapes if n not in labels]
    module = mx.mod.Module(symbol, data_names=data, label_names=labels, context=mx.cpu())
    module.bind([(n, net.shapes[n]) for n in data], [(n, net.shapes[n]) for n in labels])
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(**net.shapes)[0], strict=True))
    params = {n: mx.nd.array(net.value(n, s)) for n, s in shapes.items() if n not in net.shapes}
    module.init_params(arg_params=params)
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": RATE, "momentum": MOMENTUM}
    )
    metric = mx.metric.create("acc")
    inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}
    batch = mx.io.DataBatch([inputs[n] for n in data], [inputs[n] for n in labels])

    def step() -> None:
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)

    return module, metric, step


def _serve_mxnet(name: str, batch: str) -> None:
    import mxnet as mx

    start = time.perf_counter()
    _, _, step = module_step(mx, network(name, int(batch), 28))
    mx.nd.waitall()
    bind = time.perf_counter() - start

    def waited() -> None:
        step()
        mx.nd.waitall()

    serve({"step": waited}, bind)


if __name__ == "__main__":
    _serve_mxnet(*sys.argv[1:])
