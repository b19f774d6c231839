"""A network in PyTorch, eager and frozen, images channels-last: a worker of ``_workers``.

python -m benchmarks._torch FILE NETWORK BATCH SIZE

The environment variable ``BENCHMARKS_TORCH_DEVICE`` names another device than the CPU.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from ._exported import Call, Exported
from ._networks import network
from ._workers import serve

Tensor = Any
DEVICE = os.environ.get("BENCHMARKS_TORCH_DEVICE", "cpu")


def _convolution(c: Call, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    return F.conv2d(
        x, w, b, c.get("stride", (1, 1)), c.get("pad", (0, 0)), c.get("dilate", (1, 1)),
        c.get("num_group", 1),
    )  # fmt: skip


def _pooling(c: Call, x: Tensor) -> Tensor:
    if c.get("global_pool"):
        return x.mean((2, 3), keepdim=True) if c["pool_type"] == "avg" else x.amax((2, 3), True)
    kind = F.max_pool2d if c["pool_type"] == "max" else F.avg_pool2d
    ceil = c.get("pooling_convention") == "full"
    return kind(x, c["kernel"], c.get("stride", (1, 1)), c.get("pad", (0, 0)), ceil_mode=ceil)


def _dense(c: Call, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    return F.linear(x.flatten(1) if c.get("flatten", True) else x, w, b)


def _depth_to_space(c: Call, x: Tensor) -> Tensor:
    """MXNet's order of channels: rows and columns of a block come before channels."""
    n, channels, height, width = x.shape
    block = c["block_size"]
    x = x.reshape(n, block, block, channels // block**2, height, width)
    return x.permute(0, 3, 4, 1, 5, 2).reshape(n, -1, block * height, block * width)


def _reshape(c: Call, x: Tensor) -> Tensor:
    return x.reshape(c["shape"])


_ACTIVATIONS = {"relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}
_OPS: dict[str, Callable[..., Any]] = {
    "Activation": lambda c, x: _ACTIVATIONS[c["act_type"]](x),
    "Concat": lambda c, *xs: torch.cat(xs, c.get("dim", 1)),
    "Convolution": _convolution,
    "Dropout": lambda c, x: x,
    "Embedding": lambda c, x, w: F.embedding(x.long(), w),
    "Flatten": lambda c, x: x.flatten(1),
    "FullyConnected": _dense,
    "LeakyReLU": lambda c, x, slope: F.prelu(x, slope),
    "Pooling": _pooling,
    "Reshape": _reshape,
    "SliceChannel": lambda c, x: (
        x.unbind(c.get("axis", 1))
        if c.get("squeeze_axis")
        else x.chunk(c["num_outputs"], c.get("axis", 1))
    ),
    "_minus_scalar": lambda c, x: x - c["scalar"],
    "_mul_scalar": lambda c, x: x * c["scalar"],
    "clip": lambda c, x: x.clamp(float(c["a_min"]), float(c["a_max"])),
    "depth_to_space": _depth_to_space,
    "elemwise_add": lambda c, a, b: a + b,
    "elemwise_mul": lambda c, a, b: a * b,
    "transpose": lambda c, x: x.t(),
}
_OPS |= {"_Plus": _OPS["elemwise_add"], "_plus": _OPS["elemwise_add"]}
_OPS |= {"_mul": _OPS["elemwise_mul"], "_Mul": _OPS["elemwise_mul"]}


def _computed(result: Tensor) -> Tensor:
    """The result, once the device has computed everything."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return result


def _frozen(
    infer: Callable[[dict[str, Tensor]], Tensor], values: dict[str, Tensor]
) -> Callable[[Tensor], Tensor]:
    """Inference of ``data`` as a trace with all other values frozen into it, called twice so that
    it is optimised."""
    constants = {n: v.detach() for n, v in values.items()}

    class Inference(torch.nn.Module):
        def forward(self, data: Tensor) -> Tensor:
            return infer({**constants, "data": data})

    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(Inference().eval(), values["data"], check_trace=False)
        module = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
        for _ in range(2):
            module(values["data"])
    return module


def main(path: str, name: str, batch: str, size: str) -> None:
    start = time.perf_counter()
    net = network(name, int(batch), int(size))
    exported = Exported(path, net)
    values = {
        n: torch.from_numpy(v)
        .to(DEVICE)
        .contiguous(memory_format=torch.channels_last if v.ndim == 4 else torch.contiguous_format)
        for n, v in exported.values.items()
    }
    states = {n for n in values if n.endswith(("moving_mean", "moving_var"))}
    parameters = [v for n, v in values.items() if n not in exported.inputs and n not in states]
    for value in parameters:
        value.requires_grad_()
    calls = list(exported.calls())

    def run(train: bool, values: dict[str, Tensor] = values) -> tuple[Tensor, Tensor]:
        results: dict[int, Any] = {i: (values[n],) for i, n in exported.variables.items()}
        for c in calls:
            inputs = [results[i][k] for i, k in c.inputs]
            if c.op == "SoftmaxOutput":
                labels = inputs[1].long() if train else None
                loss = F.cross_entropy(inputs[0], labels, reduction="sum") if train else None
                return torch.softmax(inputs[0].detach(), 1), loss
            if c.op == "BatchNorm":
                x, gamma, beta, mean, var = inputs
                gamma = None if c.get("fix_gamma", True) else gamma
                momentum = 1 - c.get("momentum", 0.9)
                out = F.batch_norm(x, mean, var, gamma, beta, train, momentum, c.get("eps", 1e-3))
            else:
                out = _OPS[c.op](c, *inputs)
            results[c.number] = out if isinstance(out, tuple | list) else (out,)
        i, k = exported.head
        return results[i][k], None

    def forward() -> Tensor:
        with torch.inference_mode():
            return _computed(run(False)[0])

    def step() -> Tensor:
        for value in parameters:
            value.grad = None
        out, loss = run(True)
        loss.backward()
        return _computed(out)

    def forward_frozen() -> Tensor:
        with torch.inference_mode():
            return _computed(frozen(values["data"]))

    modes: dict[str, Callable[[], Any]] = {
        "forward": forward, "read": lambda: forward().cpu().numpy(), "step": step,
    }  # fmt: skip
    if not parameters or not net.trained:
        del modes["step"]
    if "data" in values:
        frozen = _frozen(lambda values: run(False, values)[0], values)
        modes["frozen"] = forward_frozen
    serve(modes, time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
