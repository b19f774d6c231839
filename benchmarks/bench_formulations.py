"""Gain of each algorithm of a layer over the one that JAX and XLA take by themselves.

python -m benchmarks.bench_formulations [--pairs 7] [--only PART_OF_A_NAME]

One row per choice that lowering makes: the time of the layer as executorkit lowers it, that of the
plain form, and the median of their ratios (plain / ours; above 1, the choice pays on this machine).
Forward and gradients of all inputs together, float32.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import executorkit as mx
from executorkit.display import text_table

from ._timing import PairedTimes, time_in_pairs

Shapes = dict[str, tuple[int, ...]]


class Choice(NamedTuple):
    """A layer, the plain form of it, and the shapes that both take (the first is the data's)."""

    name: str
    symbol: Any
    plain: Callable[..., jax.Array]
    shapes: Shapes


def _plain_conv(
    stride: int = 1, pad: int = 0, groups: int = 1
) -> Callable[[jax.Array, jax.Array], jax.Array]:
    def conv(data: jax.Array, weight: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(
            data, weight, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups
        )

    return conv


def _conv(
    name: str, images: int, channels: int, filters: int, size: int, kernel: int, stride: int = 1,
    groups: int = 1, padded: bool = True,
) -> Choice:  # fmt: skip
    pad = kernel // 2 if padded else 0
    symbol = mx.sym.Convolution(
        mx.sym.Variable("data"), mx.sym.Variable("weight"), kernel=(kernel, kernel),
        num_group=groups, stride=(stride, stride), pad=(pad, pad), num_filter=filters,
        no_bias=True,
    )  # fmt: skip
    title = (
        f"{name}: {images} x {channels} x {size} x {size}, {filters} filters of {kernel} x {kernel}"
    )
    if stride > 1:
        title += f", every {stride}nd position"
    if not padded:
        title += ", no padding"
    shapes = {
        "data": (images, channels, size, size),
        "weight": (filters, channels // groups, kernel, kernel),
    }
    return Choice(title, symbol, _plain_conv(stride, pad, groups), shapes)


def _plain_block(data: jax.Array, *weights: jax.Array) -> jax.Array:
    """Three convolutions with normalisation and ReLU between them, added to their input."""
    x = data
    for i, weight in enumerate(weights):
        mean = x.mean((0, 2, 3), keepdims=True)
        var = ((x - mean) ** 2).mean((0, 2, 3), keepdims=True)
        x = jax.nn.relu((x - mean) * lax.rsqrt(var + 1e-3))
        x = _plain_conv(pad=i % 2)(x, weight)
    return x + data


def _block(images: int, channels: int, size: int) -> Choice:
    x = data = mx.sym.Variable("data")
    inner = channels // 4
    shapes: Shapes = {"data": (images, channels, size, size)}
    for i, (filters, kernel) in enumerate(((inner, 1), (inner, 3), (channels, 1))):
        x = mx.sym.Activation(mx.sym.BatchNorm(x, name=f"bn{i}"), act_type="relu")
        shapes[f"w{i}"] = (filters, channels if i == 0 else inner, kernel, kernel)
        x = mx.sym.Convolution(
            x, mx.sym.Variable(f"w{i}"), kernel=(kernel, kernel), pad=(i % 2, i % 2),
            num_filter=filters, no_bias=True,
        )  # fmt: skip
    name = f"region of convolutions: {images} x {channels} x {size} x {size}, a residual block"
    return Choice(name, x + data, _plain_block, shapes)


def _plain_pool(data: jax.Array) -> jax.Array:
    padding = [(0, 0), (0, 0), (1, 1), (1, 1)]
    return lax.reduce_window(data, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), padding)


def _pool(images: int, channels: int, size: int) -> Choice:
    symbol = mx.sym.Pooling(
        mx.sym.Variable("data"), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"
    )
    name = f"maximum pooling: {images} x {channels} x {size} x {size}, 3 x 3, every 2nd position"
    return Choice(name, symbol, _plain_pool, {"data": (images, channels, size, size)})


def _plain_norm(data: jax.Array) -> jax.Array:
    mean = data.mean((0, 2, 3), keepdims=True)
    var = ((data - mean) ** 2).mean((0, 2, 3), keepdims=True)
    return (data - mean) * lax.rsqrt(var + 1e-3)


def _norm(images: int, channels: int, size: int) -> Choice:
    name = f"BatchNorm: {images} x {channels} x {size} x {size}"
    symbol = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    return Choice(name, symbol, _plain_norm, {"data": (images, channels, size, size)})


CHOICES = (
    _block(4, 256, 56),
    _block(4, 1024, 14),
    _conv("product of matrices", 4, 256, 64, 56, 1),
    _conv("product of matrices", 4, 512, 128, 28, 1),
    _conv("weight gradient by tiles", 4, 64, 64, 56, 3),
    _conv("weight gradient by tiles", 4, 512, 512, 7, 3),
    _conv("weight gradient by tiles", 4, 3, 64, 224, 7, 2),
    _conv("weight gradient by tiles", 1, 64, 64, 300, 3),
    _conv("weight gradient by tiles", 1, 128, 128, 150, 3),
    _conv("input gradient by shifted products", 32, 20, 50, 12, 5, padded=False),
    _conv("depthwise, shifted products", 4, 128, 128, 56, 3, groups=128),
    _conv("depthwise, shifted products", 4, 64, 64, 112, 3, 2, groups=64),
    _conv("a convolution per group", 4, 128, 128, 28, 3, groups=4),
    _conv("products per element", 4, 128, 128, 28, 3, groups=32),
    _pool(4, 64, 112),
    _norm(4, 64, 112),
)


def measure(choice: Choice, pairs: int) -> PairedTimes:
    """A training step of the layer's executor beside that of the plain form under ``jax.jit``."""
    random = np.random.default_rng(0)
    arrays = [random.normal(size=s).astype(np.float32) for s in choice.shapes.values()]
    executor = choice.symbol.simple_bind(mx.cpu(), **choice.shapes)
    for name, array in zip(choice.shapes, arrays, strict=True):
        executor.arg_dict[name][:] = array
    inputs = [executor.arg_dict[name].jax for name in choice.shapes]
    head = mx.nd.array(random.normal(size=executor.outputs[0].shape))

    @jax.jit
    def plain(head: jax.Array, *inputs: jax.Array) -> Any:
        out, vjp = jax.vjp(choice.plain, *inputs)
        return out, vjp(head)

    def ours() -> Any:
        executor.forward(is_train=True)
        executor.backward([head])
        return [executor.grad_dict[name].jax for name in choice.shapes]

    theirs = plain(head.jax, *inputs)[1]
    for name, actual, expected in zip(choice.shapes, ours(), theirs, strict=True):
        error = jnp.linalg.norm((actual - expected).ravel())
        if not error <= 1e-2 * jnp.linalg.norm(expected.ravel()):
            raise RuntimeError(f"{choice.name}: the gradients of {name} differ by {error}")
    return time_in_pairs(ours, lambda: plain(head.jax, *inputs), pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="number of calls of each")
    parser.add_argument("--only", default="", help="part of the names of the rows to measure")
    options = parser.parse_args()
    rows = []
    for choice in CHOICES:
        if options.only in choice.name:
            times = measure(choice, options.pairs)
            rows.append(
                [choice.name, f"{times.ours * 1e3:.1f} ms", f"{times.theirs * 1e3:.1f} ms",
                 f"{times.ratio:.2f}"]
            )  # fmt: skip
    print(text_table(["", "executorkit", "plain", "plain / ours"], rows, right={1, 2, 3}))


if __name__ == "__main__":
    main()
