"""Shapes, graphs and processes that are new, and small calls of known ones, beside MXNet's.

python -m benchmarks.bench_cold [--only TEXT] [--repeats N] [--save FILE]
python -m benchmarks.bench_cold --curves [--only TEXT] [--repeats N]

Each line is measured in fresh processes, libraries already imported: ours without a cache, ours
again with the programs that an earlier process left in ``EXECUTORKIT_CACHE_DIR``, and MXNet's where
``EXECUTORKIT_ORACLE_PYTHON`` names a Python that has it. Processes alternate; a line shows their
minima. A ratio is MXNet / ours: above 1, executorkit is faster. ``--curves`` shows the seconds
until the first, tenth and thirtieth result instead, and those of a call when nothing is compiled in
the background any more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from executorkit.display import text_table

from ._first_thirty import CURVES
from ._known_shapes import KNOWN_WORKS
from ._measure import ORACLE
from ._new_shapes import NEW_WORKS
from ._small_scripts import SCRIPTS
from ._workers import Worker

#: The environment variable of executorkit that names the directory of its disk cache.
CACHE = "EXECUTORKIT_CACHE_DIR"
#: First calls by title: network, batch, size and mode of a ``_oracle`` worker.
FIRST_CALLS: dict[str, tuple[str, int, int, str]] = {
    "first inference: ResNet-50": ("resnet50", 1, 224, "read"),
    "first inference: MobileNet v2": ("mobilenet_v2", 1, 224, "read"),
    "first inference: SqueezeNet": ("squeezenet", 1, 224, "read"),
    "first training step: MLP, 64 rows": ("mlp", 64, 28, "step"),
    "first training step: LeNet, 32 rows": ("lenet", 32, 28, "step"),
    "first training step: ResNet-50, 4 images": ("resnet50", 4, 224, "step"),
    "first training step: LSTM, 10 steps, 32 rows": ("lstm", 32, 10, "step"),
}
#: Environment of MXNet for lines that its library for CPUs refuses: "could not create a primitive
#: descriptor for a reorder primitive".
MXNET_ENVIRONMENT = {"script: generator and discriminator, 20 steps": {"MXNET_MKLDNN_ENABLED": "0"}}
#: Seconds of a line in a fresh process: ``measure(python, package, environment)``.
Measure = Callable[[str, str, Mapping[str, str]], float]
Row = dict[str, Any]


def first_call(title: str, python: str, package: str, env: Mapping[str, str]) -> float:
    """Seconds of bind, of filling the parameters and of the first call."""
    name, batch, size, mode = FIRST_CALLS[title]
    arguments = package, name, str(batch), str(size), mode
    worker = Worker(python, "benchmarks._oracle", *arguments, env=env)
    worker.end()
    return worker.first["bind"] + worker.first[mode]


def work(title: str, repetitions: int, python: str, package: str, env: Mapping[str, str]) -> float:
    """Seconds of a work of ``_new_shapes`` or ``_known_shapes``, or of a script."""
    command = [python, "-m", "benchmarks._cold_work", package, title, str(repetitions)]
    return float(output(title, command, env).split()[-1])


def curve(title: str, python: str, package: str, env: Mapping[str, str]) -> dict[str, float]:
    """Seconds until some results of a work of ``_first_thirty``, and of a later call."""
    command = [python, "-m", "benchmarks._first_thirty", package, title]
    return json.loads(output(title, command, env).splitlines()[-1])


def output(title: str, command: list[str], env: Mapping[str, str]) -> str:
    """Returns the standard output of a fresh process."""
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], env={**os.environ, **env}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{title}: {command[0]} failed\n{done.stderr[-2000:]}")
    return done.stdout


def measures(repetitions: int) -> dict[str, Measure]:
    """All lines of the table."""
    titles = [*NEW_WORKS, *KNOWN_WORKS, *SCRIPTS]
    return {t: partial(first_call, t) for t in FIRST_CALLS} | {
        t: partial(work, t, repetitions) for t in titles
    }


def measure(title: str, call: Measure, repeats: int, mxnet: str | None) -> Row:
    """Minima of a line: ours, ours with the disk cache of an earlier process, and MXNet's."""
    times: dict[str, list[float]] = {}

    def run(column: str, python: str, package: str, env: Mapping[str, str]) -> None:
        times.setdefault(column, []).append(call(python, package, env))

    ours = sys.executable, "executorkit"
    with tempfile.TemporaryDirectory() as directory:
        call(*ours, {CACHE: directory})
        for _ in range(repeats):
            run("ours", *ours, {CACHE: ""})
            run("cached", *ours, {CACHE: directory})
            if mxnet:
                run("mxnet", mxnet, "mxnet", MXNET_ENVIRONMENT.get(title, {}))
    return {"work": title, **{column: min(values) for column, values in times.items()}}


def curves(only: str, repeats: int, mxnet: str | None) -> list[list[str]]:
    """The table of :func:`curve`: times are minima, ratios those of cold starts and of second ones,
    which find the programs of an earlier process."""
    ours = sys.executable, "executorkit"
    cells = []
    for title in (t for t in CURVES if only in t):
        rows: dict[str, list[dict[str, float]]] = {"cold": [], "second": [], "mxnet": []}
        with tempfile.TemporaryDirectory() as directory:
            curve(title, *ours, {CACHE: directory})
            for _ in range(repeats):
                rows["cold"].append(curve(title, *ours, {CACHE: ""}))
                rows["second"].append(curve(title, *ours, {CACHE: directory}))
                if mxnet:
                    rows["mxnet"].append(curve(title, mxnet, "mxnet", {}))
        for result in rows["cold"][0]:
            cold, second, theirs = (
                min([row[result] for row in rows[column]], default=None) for column in rows
            )
            assert cold is not None
            assert second is not None
            cells.append(
                [title, result, *map(_duration, (cold, second, theirs)), _ratio(theirs, cold),
                 _ratio(theirs, second)]
            )  # fmt: skip
            print(cells[-1], file=sys.stderr, flush=True)
    return cells


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """The lines as a header and cells."""
    header = [
        "cold", "ours", "from disk cache", "MXNet", "MXNet / ours", "MXNet / from disk cache",
    ]  # fmt: skip
    cells = [
        [r["work"], *(_duration(r.get(k)) for k in ("ours", "cached", "mxnet")),
         *(_ratio(r.get("mxnet"), r[k]) for k in ("ours", "cached"))]
        for r in rows
    ]  # fmt: skip
    return header, cells


def lines(
    only: str, repeats: int, repetitions: int, mxnet: str | None, rows: list[Row]
) -> Iterator[list[Row]]:
    """The lines, ``rows`` of earlier runs among them, after each one that is measured."""
    results = {r["work"]: r for r in rows}
    for title, call in measures(repetitions).items():
        if only in title:
            results[title] = measure(title, call, repeats, mxnet)
            print(results[title], file=sys.stderr, flush=True)
            yield list(results.values())


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e6:,.1f} us" if seconds < 1e-4 else f"{seconds * 1e3:,.2f} ms"


def _ratio(theirs: float | None, ours: float) -> str:
    return "" if theirs is None else f"{theirs / ours:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="lines whose title contains this")
    parser.add_argument("--repeats", type=int, default=3, help="number of processes of each")
    parser.add_argument("--repetitions", type=int, default=20, help="new shapes per process")
    parser.add_argument("--save", type=Path, help="JSON file for the results, kept line by line")
    parser.add_argument("--curves", action="store_true", help="the first thirty calls")
    options = parser.parse_args()
    if options.curves:
        header = [
            "until the result", "number", "cold", "second start", "MXNet", "MXNet / cold",
            "MXNet / second",
        ]  # fmt: skip
        cells = curves(options.only, options.repeats, os.environ.get(ORACLE))
        print(text_table(header, cells, right={1, 2, 3, 4, 5, 6}))
        return
    rows: list[Row] = []
    if options.save and options.save.exists():
        rows = json.loads(options.save.read_text())
    mxnet = os.environ.get(ORACLE)
    earlier = rows
    for rows in lines(options.only, options.repeats, options.repetitions, mxnet, earlier):
        if options.save:
            options.save.write_text(json.dumps(rows, indent=1))
    print(text_table(*table(rows), right={1, 2, 3, 4, 5}))


if __name__ == "__main__":
    main()
