"""``coverage``: the operators of symbol files that are served, before anything is loaded or run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._files import HEAD, SYMBOL, naming, open_to_read, read_bytes, recognise
from ..errors import FileAccessError, MXNetError
from ..symbol import Coverage, coverage


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "coverage",
        help="which operators of symbol files are served",
        description="Says for every operator of symbol files whether it is served, and if not, "
        "missing operators and their nodes; of several files, the last line is the total. The "
        "exit status is 0 if all is served, else 1.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE|DIR",
        type=Path,
        help="symbol files, and folders that are searched for them",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    alone = len(options.files) == 1 and not options.files[0].is_dir()
    named = {path: _coverage(path) for path in options.files if not path.is_dir()}
    complete = total = unreadable = 0
    for path in _files(options.files):
        try:
            report = named.get(path) or _coverage(path)
        except MXNetError as error:
            print(f"{error}\n")  # it begins with the path
            total += 1
            unreadable += 1
            continue
        total += 1
        complete += report.complete
        print(f"{path}: {_verdict(report)}")
        if alone or not report.complete:
            print(f"{report}\n")
    if not alone:
        broken = f"; {unreadable} cannot be read" if unreadable else ""
        print(f"{complete} of {total} files are served whole{broken}")
    return 0 if complete == total else 1


def _coverage(path: Path) -> Coverage:
    with naming(path):
        return coverage(read_bytes(path, SYMBOL))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        symbols = [file for file in sorted(path.rglob("*.json")) if _may_be_symbol(file)]
        if not symbols:
            problem = "this folder has no symbol file"
            raise FileAccessError(str(path), problem, hint="names end in .json")
        yield from symbols


def _may_be_symbol(path: Path) -> bool:
    if path.name.endswith("-symbol.json"):
        return path.is_file()
    if not path.is_file():
        return False
    with open_to_read(path) as file:
        return recognise(file.peek(HEAD)[:HEAD]) is SYMBOL


def _verdict(report: Coverage) -> str:
    operators = {row.operator for row in report.rows}
    missing = {row.operator for row in report.missing}
    if not missing:
        return f"all {len(operators)} operators are served"
    return f"{len(missing)} of {len(operators)} operators are not served"
