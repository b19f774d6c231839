"""Inference of pictures and text lines, one and several at a time, beside other libraries.

python -m benchmarks.bench_inference [--mxnet PYTHON] [--onnx PYTHON] [--torch PYTHON]
                                     [--batch N ...] [--only NAMES] [--seconds S] [--save FILE]

Each option of a library names a Python that has it. Ours runs as it is by default, and as a whole
program without prepared arrays. ONNX Runtime runs the model that ``executorkit.onnx`` writes,
PyTorch runs eager and as a frozen trace, channels last. Every call has new data. All of them
alternate in one run, a few calls of each at a time, of which the first do not count: threads wake
up, and weights that others displaced come back into the caches. Printed are the minima of ours, and
ratios of minima, other / ours: above 1, executorkit is faster. A library's column stays empty where
it cannot run a network.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax

import executorkit as mx
from executorkit.display import text_table

from ._exported import export
from ._networks import Network, network
from ._workers import PAUSE, Worker, checksum, timed, wake

#: Networks by name: title, and the side of their pictures in pixels (or the columns of a line).
NETWORKS: dict[str, tuple[str, int]] = {
    "resnet18": ("ResNet-18, 224", 224),
    "resnet50": ("ResNet-50, 224", 224),
    "resnet152": ("ResNet-152, 224", 224),
    "iresnet18": ("IResNet-18, 112", 112),
    "mobilenet": ("MobileNet, 224", 224),
    "mobilenet_v2": ("MobileNet v2, 224", 224),
    "squeezenet": ("SqueezeNet, 224", 224),
    "vgg16": ("VGG-16, 224", 224),
    "inception_v3": ("Inception-v3, 299", 299),
    "densenet121": ("DenseNet-121, 224", 224),
    "ssd_detect": ("SSD-300 detection", 300),
    "super_resolution": ("super-resolution, 112 to 224", 112),
    "text_line": ("text line, 32 x 256", 64),
}
#: Columns by key.
COLUMNS = {
    "whole": "not prepared", "mxnet": "MXNet", "onnx": "ONNX Runtime", "torch": "PyTorch eager",
    "frozen": "PyTorch frozen",
}  # fmt: skip
#: Networks that the workers of a library do not know.
LACKING = {"torch": ("ssd_detect", "text_line"), "onnx": ()}
#: Calls before the first measurement: enough for everything to be compiled and prepared.
WARM_CALLS = 50
#: Largest difference of checksums, relative to one or the larger of them.
TOLERANCE = 0.02
Row = dict[str, Any]


class _Ours:
    """Inference of a network by an executor; ``run`` computes to its end."""

    def __init__(self, net: Network, **options: Any) -> None:
        with mx.program.options(**options):
            self.executor = net.filled(mx, net.build(mx))
        self._data = {n: mx.nd.array(v) for n, v in net.inputs().items() if n == "data"}
        for _ in range(WARM_CALLS):
            self.run()

    def run(self) -> Any:
        self.executor.forward(is_train=False, **self._data)
        return jax.block_until_ready(self.executor.outputs[0].jax)


@dataclass
class _Others:
    """Workers of other libraries for one network, by library, and the columns that they measure."""

    workers: dict[str, Worker] = field(default_factory=dict)
    calls: dict[str, Callable[[], float]] = field(default_factory=dict)

    def start(self, library: str, python: str, module: str, *arguments: str) -> None:
        worker = Worker(python, f"benchmarks.{module}", *arguments)
        self.workers[library] = worker
        for mode, column in (("forward", library), ("frozen", "frozen")):
            if mode in worker.first:
                self.calls[column] = lambda mode=mode: worker.seconds(mode)

    def end(self) -> None:
        for worker in self.workers.values():
            worker.end()


def _others(
    name: str, net: Network, sizes: tuple[str, str], pythons: Mapping[str, str],
    parameters: Mapping[str, Any],
) -> _Others:  # fmt: skip
    """Starts the workers of a network, which read what is written for them into a folder."""
    others = _Others()
    with tempfile.TemporaryDirectory() as folder:
        for library, python in pythons.items():
            if name in LACKING.get(library, ()):
                continue
            if library == "mxnet":
                others.start(library, python, "_oracle", "mxnet", name, *sizes)
            elif library == "torch":
                path = export(mx, net, Path(folder))
                others.start(library, python, "_torch", str(path), name, *sizes)
            else:
                path = Path(folder) / "network.onnx"
                model = mx.onnx.to_onnx(
                    net.build(mx), parameters, {"data": net.shapes["data"]}, free=None
                )
                mx.onnx.save_model(model, str(path))
                others.start(library, python, "_onnx_model", str(path), name, *sizes)
    return others


def compare(name: str, batch: int, pythons: Mapping[str, str], seconds: float) -> Row:
    """Milliseconds of each column, and the bytes that were prepared."""
    title, size = NETWORKS[name]
    net = network(name, batch, size)
    ours, whole = _Ours(net), _Ours(net, prepare=False)
    executor = ours.executor
    parameters = {n: a for n, a in executor.arg_dict.items() if n not in net.shapes}
    others = _others(name, net, (str(batch), str(size)), pythons, parameters | executor.aux_dict)
    _check(title, checksum(ours.run()), checksum(whole.run()), others)
    calls = {"ours": lambda: timed(ours.run), "whole": lambda: timed(whole.run), **others.calls}
    best = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for column, call in calls.items():
            wake(call)
            best[column] = min(best[column], *(call() for _ in range(3)))
            if column in others.calls:
                time.sleep(PAUSE)
    others.end()
    times = {column: 1e3 * t for column, t in best.items()}
    return {
        "network": title, "batch": batch, **times, "prepared": executor.program.prepared_bytes,
    }  # fmt: skip


def _check(title: str, ours: float, whole: float, others: _Others) -> None:
    """Raises RuntimeError unless all have computed the same."""
    results = {"the whole program": whole}
    results |= {library: w.first["checksum"] for library, w in others.workers.items()}
    for who, theirs in results.items():
        if not abs(ours - theirs) <= TOLERANCE * max(1, abs(theirs)):
            raise RuntimeError(f"{title}: {who} computes {theirs}, not {ours}")


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """The results as a header and cells."""
    columns = [c for c in COLUMNS if any(c in r for r in rows)]
    header = ["inference", "batch", "ours", *(f"{COLUMNS[c]} / ours" for c in columns), "prepared"]
    cells = [
        [r["network"], str(r["batch"]), f"{r['ours']:,.2f} ms",
         *(f"{r[c] / r['ours']:.2f}" if c in r else "" for c in columns),
         f"{r['prepared'] / 2**20:,.0f} MiB"]
        for r in rows
    ]  # fmt: skip
    return header, cells


def measure(
    names: Iterable[str], batches: Iterable[int], pythons: Mapping[str, str], seconds: float,
    rows: list[Row],
) -> Iterator[list[Row]]:  # fmt: skip
    """The rows, ``rows`` of earlier runs among them, after each network that is measured."""
    results = {(r["network"], r["batch"]): r for r in rows}
    for batch in batches:
        for name in names:
            row = compare(name, batch, pythons, seconds)
            results[row["network"], batch] = row
            print(row, file=sys.stderr, flush=True)
            jax.clear_caches()
            yield list(results.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for library in ("mxnet", "onnx", "torch"):
        parser.add_argument(f"--{library}", metavar="PYTHON", help=f"a Python that has {library}")
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--only", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--seconds", type=float, default=15.0, help="for each network and batch")
    parser.add_argument("--save", type=Path, help="JSON file for the results, kept row by row")
    options = parser.parse_args()
    names = ("mxnet", "onnx", "torch")
    pythons = {k: v for k in names if (v := getattr(options, k))}
    rows: list[Row] = []
    if options.save and options.save.exists():
        rows = json.loads(options.save.read_text())
    earlier = rows
    for rows in measure(options.only, options.batch, pythons, options.seconds, earlier):
        if options.save:
            options.save.write_text(json.dumps(rows, indent=1))
    header, cells = table(rows)
    print(text_table(header, cells, right=set(range(1, len(header)))))


if __name__ == "__main__":
    main()
