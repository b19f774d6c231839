"""``coverage``: the operators of symbol files that are served, before anything is loaded or run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .._files import SYMBOL, read_bytes
from ..symbol import coverage


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command with its arguments."""
    parser = commands.add_parser(
        "coverage",
        help="which operators of symbol files are served",
        description="Says for every operator of symbol files whether it is served, and if not, "
        "what is missing and at which nodes. The exit status is 0 if all is served, else 1.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE-symbol.json", type=Path)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints a report per file; returns 0 if all operators of all files are served."""
    reports = [(path, coverage(read_bytes(path, SYMBOL))) for path in options.files]
    for path, report in reports:
        print(f"{path}: {_verdict(report)}\n{report}\n")
    complete = sum(report.complete for _, report in reports)
    if len(reports) > 1:
        print(f"{complete} of {len(reports)} files are served whole")
    return 0 if complete == len(reports) else 1


def _verdict(report: Any) -> str:
    operators = {row.operator for row in report.rows}
    missing = {row.operator for row in report.missing}
    if not missing:
        return f"all {len(operators)} operators are served"
    return f"{len(missing)} of {len(operators)} operators are not served"
