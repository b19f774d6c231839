"""Smoke tests, times and choices of form on a GPU or TPU, in one command of at most eight minutes.

python -m benchmarks.accelerator [--small] [--seconds 460] [--torch PYTHON]

1. Smoke tests: some golden cases of each family of operators; inference and gradients of networks,
   beside functions written by hand with JAX; a training by ``Module.fit``, on all devices too;
   loops over recorded calls, beside the same on a CPU.
2. The programs lowered for the platform (on a CPU: for CUDA): numbers of convolutions, products,
   transposes and loops, and the libraries that they call by name. No form that is meant for CPUs
   may be there.
3. Choices of form that depend on the platform, both forms timed: a line says WRONG where the one
   that is taken on this platform is slower than the other by more than a tenth.
4. Networks, float32 and bfloat16, beside those functions and beside PyTorch (float32) where a
   Python is named that has it: other / ours, above 1 executorkit is faster; memory of the device.
   In bfloat16 ours has float32 parameters and gradients, and casts inside the program; the
   hand-written functions have all in bfloat16.

Each part has a share of the time; what does not begin within it is named at the end. What still
runs when all of the time is over is stopped, and the lines until then are printed. ``--small``
takes small sizes. Without an accelerator everything runs on the CPU.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
from jax import export as jax_export

import executorkit as mx
from executorkit.display import text_table
from executorkit.executor import PrecompileSpec, bound_avals

from ._assumptions import Assumption, assumptions
from ._exported import export
from ._handwritten import functions
from ._measure import Ours
from ._networks import Network, network
from ._smoke import networks, one_line, operators, recorded_loops, trainings
from ._timing import time_in_pairs
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
#: Operations of StableHLO that call a library by name, and the targets that every platform has.
CALLS = re.compile(r"custom_call @(\w+)")
COMMON_TARGETS = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "ApproxTopK"}
#: Ratio below which a choice of form is called wrong.
WRONG = 0.9
#: Ends of the parts, as a fraction of the time.
OPERATORS_END, SMOKE_END, PROGRAMS_END, FORMS_END, NETWORKS_END = 0.2, 0.3, 0.4, 0.55, 0.9


def contexts() -> list[mx.Context]:
    """The devices of the default platform."""
    context = {"cpu": mx.cpu, "tpu": mx.tpu}.get(jax.devices()[0].platform, mx.gpu)
    return [context(number) for number in range(jax.local_device_count())]


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


def _guarded(name: str, width: int, rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows, and one that tells of an error, after which there are no more."""
    try:
        yield from rows
    except Exception as error:  # a line of the table: the other lines are worth their time
        yield [name, f"FAILS: {one_line(error)}", *[""] * (width - 2)]


def check_forms(platform: str, in_time: Callable[[str], bool]) -> Iterator[list[str]]:
    """A line per network and mode, always with the small sizes."""
    for name, _, sizes in NETWORKS[:5]:
        for train in (False, True):
            mode = "training" if train else "inference"
            if in_time(f"program of {name}, {mode}"):
                row = _forms(name, mode, sizes, platform)
                yield from _guarded(name, 7, row)


def _forms(name: str, mode: str, sizes: tuple[int, int], platform: str) -> Iterator[list[str]]:
    text = lowered(network(name, *sizes), platform, mode == "training")
    operations = "convolution", "dot_general", "transpose", "while"
    counts = [str(len(re.findall(rf"stablehlo\.{o}\b", text))) for o in operations]
    yield [name, mode, *counts, ", ".join(sorted(library_calls(text))) or "none"]


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
        with mx.program.options(compute_dtype=None if dtype == "float32" else dtype):
            side = Ours(net)
        arrays = side.arrays if dtype == "float32" else _bfloat16(net, side.arrays)
        calls = side.forward, side.step
        by_hand: tuple[Any, Any] = functions(name)
        for mode, ours, theirs in zip(("forward", "step"), calls, by_hand, strict=True):
            title = "inference" if mode == "forward" else "training"
            if not in_time(f"{name} in {dtype}, {title}"):
                continue
            yield [
                f"{name}, {sizes[0]} of {sizes[1]}", dtype, title,
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
    pairs = max(1, min(30, int(2 / max(1e-3, timed(lambda: jax.block_until_ready(ours()))))))
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
    for assumption in assumptions(small):
        if in_time(assumption.name):
            yield from _guarded(assumption.name, 6, _assumption_row(assumption))


def _assumption_row(assumption: Assumption) -> Iterator[list[str]]:
    on_cpu = jax.devices()[0].platform == "cpu"
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
        "the CPU's" if on_cpu else "plain", f"{gain:.2f}", "holds" if gain >= WRONG else "WRONG",
    ]  # fmt: skip


class _Table:
    """The rows of the part that runs at present, and the names of what was left out."""

    def __init__(self, seconds: float) -> None:
        self._start, self._seconds = time.perf_counter(), seconds
        self._end = seconds
        self._header: list[str] = []
        self._rows: list[list[str]] = []
        self.left_out: list[str] = []
        self.running = ""

    def in_time(self, name: str) -> bool:
        """True if something may begin: not after the end of its part."""
        if time.perf_counter() - self._start < self._end:
            self.running = name
            return True
        self.left_out.append(name)
        return False

    def run(self, title: str, header: list[str], end: float, rows: Iterator[list[str]]) -> None:
        """Prints the rows of a part, which should end at this fraction of the time; an error ends
        the part."""
        print(f"{title}\n")
        self._header, self._end = header, end * self._seconds
        try:
            for row in rows:
                self._rows.append(row)
        except Exception as error:  # the other parts are worth their time
            traceback.print_exc()
            self._rows.append([self.running, f"FAILS: {one_line(error)}", *[""] * len(header[2:])])
        self.show()

    def show(self) -> None:
        """Prints the rows so far."""
        print(text_table(self._header, self._rows), flush=True)
        print()
        self._rows = []


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--seconds", type=float, default=460.0, help="for all of it")
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has PyTorch")
    options = parser.parse_args()
    if options.torch:  # both libraries need memory of the device
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    devices = jax.devices()
    kind = f"{devices[0].device_kind} ({devices[0].platform})"
    print(f"{len(devices)} x {kind}, JAX {jax.__version__}\n")
    if devices[0].platform == "cpu":
        print("No accelerator: JAX sees nothing but CPUs, so that all of this runs on them.\n")
    table = _Table(options.seconds)
    thread = Thread(target=_run, args=(options, table), daemon=True)
    thread.start()
    thread.join(options.seconds)
    if thread.is_alive():
        table.show()
        print(f"Stopped after {options.seconds:.0f} s, in {table.running}")
    if table.left_out:
        print(f"Not in time: {', '.join(table.left_out)}")
    sys.stdout.flush()
    if thread.is_alive():
        os._exit(1)  # a compilation cannot be interrupted


def _run(options: argparse.Namespace, table: _Table) -> None:
    devices = contexts()
    # On CPUs first calls would be interpreted.
    with devices[0], mx.program.options(interpret=False):
        _run_parts(options, table, devices)


def _run_parts(options: argparse.Namespace, table: _Table, devices: list[mx.Context]) -> None:
    in_time = table.in_time
    header = ["test", "result", "time"]
    small = itertools.chain(trainings(devices, in_time), operators(in_time))
    table.run("Trainings and operators", header, OPERATORS_END, small)
    small = itertools.chain(networks(in_time), recorded_loops(devices[0], in_time))
    table.run("Small networks and recorded loops", header, SMOKE_END, small)
    platform = jax.devices()[0].platform
    platform = "cuda" if platform in ("cpu", "gpu") else platform
    table.run(
        f"Programs for {platform}",
        ["network", "mode", "convolutions", "products", "transposes", "loops", "libraries called"],
        PROGRAMS_END, check_forms(platform, in_time),
    )  # fmt: skip
    header = ["assumption", "CPU's form", "plain form", "taken", "other / taken", ""]
    rows = check_assumptions(options.small, in_time)
    table.run("Choices of form", header, FORMS_END, rows)
    rows = (
        row
        for name, full, small in NETWORKS
        if in_time(name)
        for row in _guarded(
            name, 8, rows_of(name, small if options.small else full, options.torch, in_time)
        )
    )
    header = ["network", "dtype", "mode", "ours", "by hand / ours", "PyTorch / ours",
              "peak by XLA", "device's peak so far"]  # fmt: skip
    table.run("Networks", header, NETWORKS_END, rows)


if __name__ == "__main__":
    main()
