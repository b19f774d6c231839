"""Smoke tests, times and choices of form on a GPU or TPU, in one command of at most eight minutes.

python -m benchmarks.accelerator [--small] [--seconds 360] [--torch PYTHON]

1. Smoke tests: networks' inference and gradients agree with functions written by hand with JAX.
2. The programs lowered for the platform (on a CPU: for CUDA): numbers of convolutions, transposes
   and loops, and the libraries that they call by name. No form that is meant for CPUs may be there.
3. Choices of form that depend on the platform, both forms timed: a line says WRONG where the one
   that is taken on this platform is slower than the other by more than a tenth.
4. Networks, float32 and bfloat16, beside those functions and beside PyTorch (float32) where a
   Python is named that has it: other / ours, above 1 executorkit is faster; memory of the device.

``--small`` takes small sizes and runs on a CPU too. Lines that the time does not suffice for are
named at the end.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from jax import export as jax_export

import executorkit as mx
from executorkit._cli._timing import time_in_pairs
from executorkit.display import text_table
from executorkit.executor import PrecompileSpec, bound_avals

from ._assumptions import assumptions
from ._exported import export
from ._handwritten import functions
from ._measure import Ours, check
from ._networks import Network, network
from ._workers import Worker, timed

#: Networks: name, batch, size; and the same for ``--small``.
NETWORKS = (
    ("mlp", (64, 28), (8, 28)),
    ("lenet", (256, 28), (4, 28)),
    ("lstm", (32, 60), (4, 5)),
    ("resnet50", (64, 224), (1, 64)),
    ("mobilenet", (64, 224), (1, 64)),
    ("vgg16", (32, 224), (1, 32)),
    ("inception_v3", (32, 299), (1, 139)),
)
#: Networks of the smoke tests, always with their small sizes.
SMOKE = ("mlp", "lenet", "lstm", "resnet50")
#: Operations of StableHLO that call a library by name, and the targets that every platform has.
CALLS = re.compile(r"custom_call @(\w+)")
COMMON_TARGETS = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "ApproxTopK"}
#: Ratio below which a choice of form is called wrong.
WRONG = 0.9


def context() -> mx.Context:
    """The first device of the default platform."""
    platform = jax.devices()[0].platform
    return {"cpu": mx.cpu, "tpu": mx.tpu}.get(platform, mx.gpu)()


def lowered(net: Network, platform: str, train: bool) -> str:
    """The program of a network for a platform (``cuda``, ``tpu``, ``cpu``), as StableHLO: what an
    executor runs where that is the default one."""
    backend = "gpu" if platform == "cuda" else platform
    with patch.object(jax, "default_backend", lambda: backend):
        if not train:
            function = net.build(mx).to_jax()
            executor = net.filled(mx, net.build(mx))
            args = {n: a.jax for n, a in executor.arg_dict.items()}
            states = {n: a.jax for n, a in executor.aux_dict.items()}
            fed = {n: args.pop(n).shape for n in net.shapes if n in args}
            prepared = function.prepare(args, states, inputs=fed)
            arrays = {n: jnp.zeros(shape) for n, shape in fed.items()}
            run = jax.jit(lambda prepared, arrays: prepared(arrays))
            return jax_export.export(run, platforms=[platform])(prepared, arrays).mlir_module()
        executor = net.bind(mx, net.build(mx))
        function: Any
        ((function, avals),) = PrecompileSpec(True).calls(executor, *bound_avals(executor))
        with jax.enable_x64(True):
            # What the function itself traces is for this process's devices alone.
            traced = jax.jit(function.function).trace(*avals)
            return traced.lower(lowering_platforms=(platform,)).as_text()


def library_calls(text: str) -> set[str]:
    """The libraries that a program calls by name, but for those that every platform has."""
    return set(CALLS.findall(text)) - COMMON_TARGETS


def check_forms(platform: str) -> Iterator[list[str]]:
    """A line per network and mode, always with the small sizes."""
    for name, _, sizes in NETWORKS[:5]:
        net = network(name, *sizes)
        for train in (False, True):
            text = lowered(net, platform, train)
            yield [
                name, "training" if train else "inference",
                str(text.count("stablehlo.convolution")),
                str(text.count("stablehlo.transpose")), str(text.count("stablehlo.while")),
                ", ".join(sorted(library_calls(text))) or "none",
            ]  # fmt: skip


def _by_hand(name: str) -> tuple[Any, Any]:
    return functions(name)


def smoke() -> Iterator[list[str]]:
    """Inference and gradients of small networks, compared with the hand-written ones."""
    sizes = {name: small for name, _, small in NETWORKS}
    for name in SMOKE:
        side = Ours(network(name, *sizes[name]))
        infer, step = _by_hand(name)
        start = time.perf_counter()
        check(np.asarray(side.forward()), infer(*side.arrays), f"{name}: outputs")
        side.step()
        for n, expected in step(*side.arrays)[1].items():
            check(side.executor.grad_dict[n].asnumpy(), expected, f"{name}: {n}")
        devices = {str(a.jax.device) for a in side.executor.outputs}
        yield [name, "agrees", ", ".join(devices), f"{time.perf_counter() - start:.1f} s"]


def _bfloat16(net: Network, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments of a hand-written function with parameters and data in bfloat16."""
    parameters, states, inputs = arrays
    half = partial(jax.tree.map, lambda x: x.astype(jnp.bfloat16))
    data = {n: x if n in net.words else half(x) for n, x in inputs.items()}
    return half(parameters), half(states), data


def rows_of(
    name: str, sizes: tuple[int, int], python: str | None, in_time: Callable[[str], bool]
) -> Iterator[list[str]]:
    """Lines of one network: both dtypes, inference and training."""
    net = network(name, *sizes)
    worker = None
    if python:
        with tempfile.TemporaryDirectory() as folder:
            path = export(mx, net, Path(folder))
            platform = jax.devices()[0].platform
            env = {"BENCHMARKS_TORCH_DEVICE": "cuda" if platform == "gpu" else platform}
            arguments = str(path), name, *map(str, sizes)
            worker = Worker(python, "benchmarks._torch", *arguments, env=env)
    for dtype in ("float32", "bfloat16"):
        if not in_time(f"{name} in {dtype}"):
            continue
        with mx.program.options(compute_dtype=None if dtype == "float32" else dtype):
            side = Ours(net)
        arrays = side.arrays if dtype == "float32" else _bfloat16(net, side.arrays)
        for mode, ours, theirs in zip(
            ("forward", "step"), (side.forward, side.step), _by_hand(name), strict=True
        ):
            yield [
                f"{name}, {sizes[0]} of {sizes[1]}", dtype,
                "inference" if mode == "forward" else "training",
                *_times(mode, ours, partial(theirs, *arrays), worker, dtype),
                _memory(side.executor), _peak(),
            ]  # fmt: skip
    if worker:
        worker.end()


def _times(
    mode: str, ours: Callable[[], Any], theirs: Callable[[], Any], worker: Worker | None,
    dtype: str,
) -> list[str]:  # fmt: skip
    """Milliseconds of a call of ours, and the ratios of hand-written JAX and of PyTorch."""
    for call in (ours, theirs):
        for _ in range(3):
            jax.block_until_ready(call())
    pairs = max(5, min(30, int(2 / max(1e-3, timed(lambda: jax.block_until_ready(ours()))))))
    times = time_in_pairs(ours, theirs, pairs)
    torch = ""
    if worker and dtype == "float32":
        torch = f"{min(worker.seconds(mode) for _ in range(7)) / times.ours:.2f}"
    return [f"{times.ours * 1e3:,.2f} ms", f"{times.ratio:.2f}", torch]


def _memory(executor: mx.Executor) -> str:
    analysis = executor.program.memory()
    return "" if analysis is None else f"{analysis['peak'] / 2**20:,.0f} MiB"


def _peak() -> str:
    """Peak of the device's memory since the process began, where it says so."""
    statistics = jax.devices()[0].memory_stats() or {}
    peak = statistics.get("peak_bytes_in_use")
    return "" if peak is None else f"{peak / 2**20:,.0f} MiB"


def check_assumptions(small: bool, in_time: Callable[[str], bool]) -> Iterator[list[str]]:
    """A line per choice: the CPU's form, the plain one, and whether this platform's is right."""
    on_cpu = jax.devices()[0].platform == "cpu"
    for assumption in assumptions(small):
        if not in_time(assumption.name):
            continue
        calls = []
        for function, arrays in (assumption.cpu, assumption.plain):
            run = jax.jit(function)
            calls.append(lambda run=run, arrays=arrays: jax.block_until_ready(run(*arrays)))
            for _ in range(3):
                calls[-1]()
        times = time_in_pairs(calls[0], calls[1], 15)
        gain = times.ratio if on_cpu else 1 / times.ratio
        yield [
            assumption.name, f"{times.ours * 1e3:.3f} ms", f"{times.theirs * 1e3:.3f} ms",
            "the CPU's" if on_cpu else "plain", f"{gain:.2f}",
            "holds" if gain >= WRONG else "WRONG",
        ]  # fmt: skip


class _Deadline:
    """Names what does not begin before a time, counted from now in seconds."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds
        self.left_out: list[str] = []

    def __call__(self, name: str) -> bool:
        if time.perf_counter() < self._end:
            return True
        self.left_out.append(name)
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small sizes, for a CPU")
    parser.add_argument("--seconds", type=float, default=360.0, help="after which nothing begins")
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has PyTorch")
    options = parser.parse_args()
    in_time = _Deadline(options.seconds)
    device = jax.devices()[0]
    print(f"{device.device_kind} ({device.platform}), JAX {jax.__version__}\n")
    with context():
        _run(options, in_time)
    if in_time.left_out:
        print(f"\nNot in time: {', '.join(in_time.left_out)}")


def _run(options: argparse.Namespace, in_time: _Deadline) -> None:
    device = jax.devices()[0]
    _print("Smoke tests", ["network", "inference and gradients", "device", "time"], smoke())
    platform = "cuda" if device.platform in ("cpu", "gpu") else device.platform
    _print(
        f"Programs for {platform}",
        ["network", "mode", "convolutions", "transposes", "loops", "libraries called"],
        check_forms(platform),
    )
    header = ["assumption", "CPU's form", "plain form", "taken", "other / taken", ""]
    _print("Choices of form", header, check_assumptions(options.small, in_time))
    rows = (
        row
        for name, full, small in NETWORKS
        if in_time(name)
        for row in rows_of(name, small if options.small else full, options.torch, in_time)
    )
    header = ["network", "dtype", "mode", "ours", "by hand / ours", "PyTorch / ours",
              "peak by XLA", "device's peak"]  # fmt: skip
    _print("Networks", header, rows)


def _print(title: str, header: list[str], rows: Iterator[list[str]]) -> None:
    print(f"{title}\n")
    print(text_table(header, list(rows)), flush=True)
    print()


if __name__ == "__main__":
    main()
