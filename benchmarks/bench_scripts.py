"""Whole example scripts in fresh processes, beside MXNet's.

python -m benchmarks.bench_scripts [--only TEXT] [--repeats N] [--save FILE]

The scripts are those of ``tests/golden/example_scripts`` and ``numpy_scripts``: short programs such
as users of MXNet write. Each line is measured without a cache (*cold*) and with the programs that
an earlier process left in ``EXECUTORKIT_CACHE_DIR`` (*second start*), and by MXNet where
``EXECUTORKIT_ORACLE_PYTHON`` names a Python that has it. Processes alternate; a line shows their
minima. A ratio is MXNet / ours: above 1, executorkit is faster; of the script alone, and with the
import of the package. Python should be allowed to keep the bytecode of modules.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from math import isnan, nan
from pathlib import Path
from statistics import median

from executorkit.display import text_table

from ._example_script import COLLECTIONS
from ._measure import ORACLE
from .bench_cold import CACHE, output

#: Seconds by column (``cold``, ``second``, ``mxnet``) and part (``import``, ``script``).
Row = dict[str, dict[str, float]]
_COLUMNS = {"cold": "cold", "second": "second start", "mxnet": "MXNet"}
#: The columns of a ratio, and whether imports count.
_RATIOS = [(column, with_import) for column in ("cold", "second") for with_import in (False, True)]


def titles(only: str) -> list[tuple[str, str]]:
    """The collections and names of scripts that contain a text."""
    return [
        (collection, script)
        for collection in COLLECTIONS
        for script in importlib.import_module(f"tests.golden.{collection}").SCRIPTS
        if only in f"{collection}: {script}"
    ]


def measure(collection: str, script: str, repeats: int, mxnet: str | None) -> Row:
    """Minima of a line."""
    runs: dict[str, list[dict[str, float]]] = {}

    def run(column: str, python: str, package: str, env: Mapping[str, str]) -> None:
        command = [python, "-m", "benchmarks._example_script", package, collection, script]
        seconds = json.loads(output(script, command, env))
        runs.setdefault(column, []).append(seconds)

    with tempfile.TemporaryDirectory() as directory:
        run("filling", sys.executable, "executorkit", {CACHE: directory})
        for _ in range(repeats):
            run("cold", sys.executable, "executorkit", {CACHE: ""})
            run("second", sys.executable, "executorkit", {CACHE: directory})
            if mxnet:
                run("mxnet", mxnet, "mxnet", {})
    return {
        column: {part: min(row[part] for row in rows) for part in rows[0]}
        for column, rows in runs.items()
    }


def table(rows: Mapping[str, Row]) -> list[list[str]]:
    """The cells of lines, from the smallest ratio to the largest."""
    cells = []
    for title in sorted(rows, key=lambda title: _ratio(rows[title], "cold", False)):
        row = rows[title]
        times = [f"{row[c]['script'] * 1e3:,.0f} ms" if c in row else "" for c in _COLUMNS]
        ratios = [_text(_ratio(row, *how)) for how in _RATIOS]
        cells.append([title, *times, *ratios])
    return cells


def summary(rows: Mapping[str, Row]) -> list[list[str]]:
    """The ratios of the sums of all scripts, their medians, and the smallest and largest ones."""
    every = list(rows.values())
    total: Row = {
        column: {part: sum(row[column][part] for row in every) for part in ("import", "script")}
        for column in every[0]
    }
    ratios = [sorted(_ratio(row, *how) for row in every) for how in _RATIOS]
    lines = {
        "all": [_ratio(total, *how) for how in _RATIOS],
        "median": [median(r) for r in ratios],
        "lowest": [r[0] for r in ratios],
        "highest": [r[-1] for r in ratios],
    }
    return [[title, *map(_text, values)] for title, values in lines.items()]


def _ratio(row: Row, column: str, with_import: bool) -> float:
    if "mxnet" not in row:
        return nan
    parts = ("import", "script") if with_import else ("script",)
    theirs, ours = (sum(row[c][part] for part in parts) for c in ("mxnet", column))
    return theirs / ours


def _text(ratio: float) -> str:
    return "" if isnan(ratio) else f"{ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="scripts whose title contains this")
    parser.add_argument("--repeats", type=int, default=3, help="number of processes of each")
    parser.add_argument("--save", type=Path, help="JSON file for the results, kept line by line")
    options = parser.parse_args()
    rows: dict[str, Row] = {}
    if options.save and options.save.exists():
        rows = json.loads(options.save.read_text())
    for collection, script in titles(options.only):
        title = f"{collection}: {script}"
        rows[title] = measure(collection, script, options.repeats, os.environ.get(ORACLE))
        print(title, rows[title], file=sys.stderr, flush=True)
        if options.save:
            options.save.write_text(json.dumps(rows, indent=1))
    ratios = [
        f"MXNet / {column}{', with imports' * with_import}" for column, with_import in _RATIOS
    ]
    header = ["script", *_COLUMNS.values(), *ratios]
    print(text_table(header, table(rows), right=set(range(1, len(header)))))
    print(text_table(["ratio", *ratios], summary(rows), right=set(range(1, len(ratios) + 1))))


if __name__ == "__main__":
    main()
