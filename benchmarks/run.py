"""All networks in one run, beside hand-written JAX and beside other libraries.

python -m benchmarks.run [--quick] [--parts PART ...] [--only NAMES] [--save FILE]
                         [--mxnet PYTHON] [--torch PYTHON] [--onnx PYTHON]
python -m benchmarks.run --roofline NETWORK [--quick]

Parts: ``networks`` (inference and training), ``inference`` (one and four pictures at a time, as of
bench_inference) and ``cold`` (first calls, new shapes and small scripts, as of bench_cold).

Each option of a library names a Python that has it. Calls alternate, and a ratio is the median of
other / ours over the pairs: above 1, executorkit is faster. ``--save`` adds the results to a JSON
file, which may have those of earlier runs for other networks; tables and a plot (SVG, beside the
file) show all results of the file. ``--roofline`` shows the nodes of one network's training step
instead: operations, bytes and seconds beside the machine's limit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import executorkit as mx

from . import bench_cold, bench_inference
from ._exported import export
from ._handwritten import FORWARD, functions, jitted
from ._measure import Ours, check
from ._networks import Network, network
from ._oracle import DISK_CACHE
from ._report import markdown_table, report
from ._roofline import roofline
from ._timing import alternate
from ._workers import PAUSE, Worker, checksum, timed, wake

#: Modules of the workers, by library.
WORKERS = {"mxnet": "_oracle", "torch": "_torch", "onnx": "_onnx"}
Row = dict[str, Any]
#: Rows of a part, more and more complete, with their key in the results.
Results = Iterator[tuple[str, list[Row]]]
#: Networks of the part ``inference`` with ``--quick``.
QUICK_INFERENCE = ("squeezenet", "super_resolution", "text_line")


@dataclass(frozen=True)
class Work:
    """A network, its batch and its size (pixels of a side, or steps); ``small`` for ``--quick``.

    Deep networks need several small pictures: where BatchNorm's statistics are of few numbers,
    rounding flips the sign of a ReLU's input, and gradients differ by a tenth.
    """

    title: str
    name: str
    batch: int
    size: int
    small: tuple[int, int]

    def network(self, quick: bool) -> Network:
        return network(self.name, *self.sizes(quick))

    def sizes(self, quick: bool) -> tuple[int, int]:
        return self.small if quick else (self.batch, self.size)


WORKS = (
    Work("2 * a + b, two elements", "add", 1, 2, (1, 2)),
    Work("MLP, 64 rows", "mlp", 64, 28, (8, 28)),
    Work("LeNet, 32 of 28x28", "lenet", 32, 28, (4, 28)),
    Work("ResNet-50, 4 of 224x224", "resnet50", 4, 224, (4, 64)),
    Work("Inception-v3, 4 of 299x299", "inception_v3", 4, 299, (4, 139)),
    Work("VGG-16, 4 of 224x224", "vgg16", 4, 224, (1, 32)),
    Work("MobileNet, 4 of 224x224", "mobilenet", 4, 224, (1, 64)),
    Work("LSTM, 2 layers, 10 steps, 32 rows", "lstm", 32, 10, (4, 5)),
    Work("LSTM, 2 layers, 60 steps, 32 rows", "lstm", 32, 60, (4, 8)),
    Work("SSD-300 training, 2 images", "ssd_train", 2, 300, (1, 300)),
    Work("SSD-300 detection, 2 images", "ssd_detect", 2, 300, (1, 300)),
)


class Comparison:
    """One network and all implementations that are compared."""

    def __init__(self, work: Work, quick: bool, pythons: Mapping[str, str], budget: float) -> None:
        self.work, self.quick, self.budget = work, quick, budget
        self.pythons = pythons
        self.net = work.network(quick)
        self.ours = Ours(self.net)
        #: Checksum of inference with the states that training has not changed yet.
        self.checksum = checksum(self.ours.read())
        self.sizes = tuple(map(str, work.sizes(quick)))

    def rows(self) -> Iterator[list[Row]]:
        """The results so far, for inference, reading and training, more and more complete."""
        infer, step = functions(self.work.name)
        modes: dict[str, tuple[Callable[[], Any], Callable[..., Any] | None]] = {}
        if self.work.name != "ssd_train":
            modes["forward"] = (self.ours.forward, infer)
        if self.work.name == "add":
            modes["read"] = (self.ours.read, infer)
        if self.net.trained:
            modes["step"] = (self.ours.step, step)
        rows = {mode: self._beside_jax(mode, *both) for mode, both in modes.items()}
        yield list(rows.values())
        with tempfile.TemporaryDirectory() as folder:
            for library, python in self.pythons.items():
                self._beside(library, python, Path(folder), modes, rows)
                yield list(rows.values())
        if "step" in rows:
            self._memory(rows["step"], step)
            self._starts(rows["step"])
        yield list(rows.values())

    def _beside_jax(self, mode: str, ours: Callable[[], Any], theirs: Any) -> Row:
        arrays = self.ours.arrays

        def by_hand() -> Any:
            return jax.block_until_ready(theirs(*arrays))

        if mode == "read":
            run: Callable[[], Any] = lambda: np.asarray(theirs(*arrays))  # noqa: E731
        else:
            run = by_hand
        ours()
        if mode == "step":
            for n, expected in by_hand()[1].items():
                check(self.ours.executor.grad_dict[n].asnumpy(), expected, n)
        else:
            check(np.asarray(ours()), by_hand(), "outputs")
        row = {"network": self.work.title, "mode": mode}
        row |= self._pairs("jax", ours, lambda calls: timed(run, calls))
        if self.work.name == "lstm":
            infer, step = jitted(FORWARD["lstm_scan"])
            scan = step if mode == "step" else infer
            row |= self._pairs(
                "scan",
                ours,
                lambda calls: timed(lambda: jax.block_until_ready(scan(*arrays)), calls),
            )
        return row

    def _pairs(
        self,
        other: str,
        ours: Callable[[], Any],
        theirs: Callable[[int], float],
        pause: float = 0.0,
    ) -> dict[str, float]:
        """Milliseconds of both, and the median ratio of the pairs that fit into the budget.

        ``pause`` is the time in seconds to wait after theirs: threads of other libraries (OpenMP's)
        look for work for a while, on processors that the next measurement needs. Where there are
        pauses, a measurement begins with calls that do not count, else with one.
        """
        begin = wake if pause else lambda call: call()

        def run() -> Any:
            return jax.block_until_ready(ours())

        def seconds_of_ours(calls: int) -> float:
            begin(run)
            return timed(run, calls)

        def seconds_of_theirs(calls: int) -> float:
            begin(lambda: theirs(1))
            result = theirs(calls)
            time.sleep(pause)
            return result

        each = seconds_of_ours(1), seconds_of_theirs(1)
        calls = max(1, min(1000, int(0.01 / max(each))))
        pairs = max(3, min(40, int(self.budget / ((calls + 1) * sum(each) + 2 * pause))))
        times = alternate(lambda: seconds_of_ours(calls), lambda: seconds_of_theirs(calls), pairs)
        return {"ours": times.ours * 1e3, f"{other}_ms": times.theirs * 1e3, other: times.ratio}

    def _beside(
        self, library: str, python: str, folder: Path, modes: Mapping[str, Any],
        rows: dict[str, Row],
    ) -> None:  # fmt: skip
        """Adds a library's columns; leaves them empty where it cannot run the network."""
        if library != "mxnet" and self.work.name.startswith("ssd"):
            return
        first = "mxnet" if library == "mxnet" else str(export(mx, self.net, folder))
        module = f"benchmarks.{WORKERS[library]}"
        worker = Worker(python, module, first, self.work.name, *self.sizes)
        if self.work.name != "ssd_train":
            theirs = worker.first["checksum"]
            if not abs(self.checksum - theirs) <= 0.05 * max(1, abs(theirs)):
                raise RuntimeError(
                    f"{self.work.title}: {library} computes {theirs}, not {self.checksum}"
                )
        for mode, (ours, _) in modes.items():
            if mode in worker.first:
                times = self._pairs(library, ours, partial(worker.seconds, mode), PAUSE)
                rows[mode] |= {**times, "ours": rows[mode]["ours"]}
        if library == "mxnet" and "step" in worker.first:
            rows["step"]["mxnet_memory"] = worker.ask("memory")
        worker.end()

    def _starts(self, row: Row) -> None:
        """Bind and first training call of fresh processes: ours without and with the disk cache of
        an earlier process, and MXNet's."""

        def start(python: str, package: str, **env: str) -> float:
            arguments = (package, self.work.name, *self.sizes, "step")
            worker = Worker(python, "benchmarks._oracle", *arguments, env=env)
            row.setdefault(f"{package}_memory", worker.ask("memory"))
            worker.end()
            return worker.first["bind"] + worker.first["step"]

        row["cold"] = start(sys.executable, "executorkit")
        with tempfile.TemporaryDirectory() as directory:
            start(sys.executable, "executorkit", **{DISK_CACHE: directory})
            row["cached"] = start(sys.executable, "executorkit", **{DISK_CACHE: directory})
        if "mxnet" in self.pythons:
            row["mxnet_cold"] = start(self.pythons["mxnet"], "mxnet")

    def _memory(self, row: Row, step: Any) -> None:
        """Peak memory of the training step by XLA's analysis: ours and the hand-written one's."""
        ours = self.ours.executor.program.memory()
        theirs = step.lower(*self.ours.arrays).compile().memory_analysis()
        row["peak"] = None if ours is None else ours["peak"]
        row["jax_peak"] = (
            theirs.argument_size_in_bytes + theirs.output_size_in_bytes
            + theirs.temp_size_in_bytes - theirs.alias_size_in_bytes
        )  # fmt: skip


def machine() -> str:
    """Cores and kind of processor, and versions."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        pass
    device = jax.devices()[0]
    kind = "" if device.platform == "cpu" else f", {device.device_kind}"
    return f"{os.cpu_count()} cores of {model}{kind}; JAX {jax.__version__}, float32"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small networks, few calls")
    parser.add_argument("--only", default="", help="networks, by name, with commas between")
    parser.add_argument("--budget", type=float, help="seconds for each comparison")
    parser.add_argument("--save", type=Path, help="file for the results")
    for library in WORKERS:
        parser.add_argument(f"--{library}", metavar="PYTHON", help=f"a Python that has {library}")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--roofline", metavar="NETWORK", help="only this network's nodes, by name")
    options = parser.parse_args()
    if options.roofline:
        work = next((w for w in WORKS if options.roofline in (w.name, f"{w.name}{w.size}")), None)
        if work is None:
            names = ", ".join(dict.fromkeys(w.name for w in WORKS))
            parser.error(f"--roofline: {options.roofline!r}, expected one of {names}")
        print(f"{work.title}\n{roofline(work.network(options.quick))}")
        return
    pythons = {k: v for k in WORKERS if (v := getattr(options, k))}
    budget = options.budget or (0.5 if options.quick else 6.0)
    results: dict[str, Any] = {"rows": [], "inference": [], "cold": []}
    if options.save and options.save.exists():
        results |= json.loads(options.save.read_text())
    results["machine"] = machine() + ("; small networks (--quick)" if options.quick else "")
    for part in options.parts:
        for key, rows in PARTS[part](options, pythons, budget, results):
            results[key] = rows
            if options.save:
                options.save.write_text(json.dumps(results, indent=1))
    text, drawing = report(results)
    print(text)
    for bench in (bench_inference, bench_cold):
        rows = results[bench.__name__.rpartition("_")[2]]
        if rows:
            print(f"\n{markdown_table(*bench.table(rows))}")
    if options.save:
        options.save.with_suffix(".svg").write_text(drawing)


def _networks(
    options: argparse.Namespace, pythons: Mapping[str, str], budget: float,
    results: Mapping[str, Any],
) -> Results:  # fmt: skip
    selected = options.only.split(",") if options.only else []
    for work in WORKS:
        if selected and not {work.name, f"{work.name}{work.size}"} & set(selected):
            continue
        print(work.title, file=sys.stderr, flush=True)
        titles = [w.title for w in WORKS]
        other_rows = [r for r in results["rows"] if r["network"] != work.title]
        for new in Comparison(work, options.quick, pythons, budget).rows():
            rows = sorted([*other_rows, *new], key=lambda r: titles.index(r["network"]))
            yield "rows", rows
        for row in new:
            print(f"  {row}", file=sys.stderr, flush=True)
        jax.clear_caches()


def _inference(
    options: argparse.Namespace, pythons: Mapping[str, str], budget: float,
    results: Mapping[str, Any],
) -> Results:  # fmt: skip
    names = options.only.split(",") if options.only else list(bench_inference.NETWORKS)
    if options.quick:
        names = [n for n in names if n in QUICK_INFERENCE]
    names = [n for n in names if n in bench_inference.NETWORKS]
    batches = (1,) if options.quick else (1, 4)
    earlier = results["inference"]
    for rows in bench_inference.measure(names, batches, pythons, 2 * budget, earlier):
        yield "inference", rows


def _cold(
    options: argparse.Namespace, pythons: Mapping[str, str], budget: float,
    results: Mapping[str, Any],
) -> Results:  # fmt: skip
    if options.only:
        return
    repeats, only = (1, "new shape") if options.quick else (3, "")
    mxnet = pythons.get("mxnet")
    for rows in bench_cold.lines(only, repeats, 20, mxnet, results["cold"]):
        yield "cold", rows


#: Parts by name.
PARTS: dict[str, Callable[..., Results]] = {
    "networks": _networks, "inference": _inference, "cold": _cold,
}  # fmt: skip


if __name__ == "__main__":
    main()
