"""Runs the notebooks from top to bottom and compares their printed text with the committed one.

    python -m tests.notebooks                    all notebooks, as CI does
    python -m tests.notebooks 03 06              notebooks whose names begin with these numbers
    python -m tests.notebooks --write 03         stores the new outputs

An error in a cell fails, and so does text on the error stream, a path of this machine, or text
that differs from the committed one by more than a rounding error. Times are not compared, nor are
pictures, nor cells with the tag ``varies`` (which show trained numbers, or XLA's form of a
program): those only have to run.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
#: Maximum size of a notebook with its outputs, in bytes.
LARGEST = 300_000
#: Maximum time of a cell, in seconds.
LONGEST = 180
#: Largest relative difference of two numbers; whole numbers have to be equal.
TOLERANCE = 0.02

Cell = dict[str, Any]
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)")
_TIME = re.compile(r"-?\d[\d,.]*(?:e[+-]?\d+)?(?= ?(?:s|ms|µs|us|ns|min|seconds)\b)")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_FOREIGN = re.compile(r"/home/|/root/|/Users/|/tmp/|site-packages|0x[0-9a-f]{6,}|<script")


def read(path: Path) -> dict[str, Any]:
    """A notebook as it is stored."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Stores a notebook, without metadata that differs between machines or runs."""
    for cell in notebook["cells"]:
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k == "tags"}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook["metadata"] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def execute(path: Path) -> dict[str, Any]:
    """A notebook with the outputs of a new run, in its own folder.

    Raises ``nbclient.exceptions.CellExecutionError`` if a cell does.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    options = {"timeout": LONGEST, "kernel_name": "python3", "coalesce_streams": True}
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, resources=folder, **options).execute()
    return json.loads(nbformat.writes(notebook))


def faults(notebook: dict[str, Any]) -> Iterator[str]:
    """Faults of a notebook: errors, warnings, paths of a machine, cells not run in order."""
    if len(json.dumps(notebook, ensure_ascii=False).encode()) > LARGEST:
        yield f"more than {LARGEST:,} bytes"
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
        yield "its cells were not run from top to bottom"
    for number, cell in enumerate(code, start=1):
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                yield f"cell {number}: {output['ename']}: {output['evalue']}"
            if output.get("name") == "stderr":
                yield f"cell {number}: on the error stream: {_joined(output['text'])[:300]!r}"
            for kind, text in _texts(output):
                match = _FOREIGN.search(text)
                if match or str(ROOT) in text:
                    words = match.group() if match else str(ROOT)
                    yield f"cell {number}: {words!r} in its {kind}"


def differences(committed: dict[str, Any], fresh: dict[str, Any]) -> Iterator[str]:
    """Differences between the texts of two runs."""
    pairs = zip(_code(committed), _code(fresh), strict=True)
    for number, (old, new) in enumerate(pairs, start=1):
        if "varies" in old["metadata"].get("tags", ()):
            continue
        a, b = plain(old), plain(new)
        if not alike(a, b):
            lines = difflib.unified_diff(a.splitlines(), b.splitlines(), "committed", "now", n=0)
            yield f"cell {number}:\n" + "\n".join(f"    {line.rstrip()}" for line in lines)


def alike(a: str, b: str) -> bool:
    """True if two texts have the same words, and numbers that are equal or nearly so.

    >>> alike("loss 0.1234 after 2.5 s", "loss  0.1235 after 31 s"), alike("10 rows", "11 rows")
    (True, False)
    """
    (words_a, numbers_a), (words_b, numbers_b) = _divided(a), _divided(b)
    return words_a == words_b and all(map(_near, numbers_a, numbers_b))


def plain(cell: Cell) -> str:
    """The output of a cell as plain text."""
    texts = (text for output in cell["outputs"] for kind, text in _texts(output) if kind != "html")
    return "\n".join(texts)


def _divided(text: str) -> tuple[str, list[str]]:
    """The words, without what depends on the width of numbers, and the numbers."""
    text = _TIME.sub("#", re.sub("[▁▂▃▄▅▆▇█]+", "", text))
    words = re.sub(r"-{2,}", "--", _NUMBER.sub("#", text))
    return " ".join(words.split()), _NUMBER.findall(text)


def _near(a: str, b: str) -> bool:
    if a == b:
        return True
    x, y = (float(number.replace(",", "")) for number in (a, b))
    if "." not in a + b and "e" not in a + b:
        return False
    return abs(x - y) <= TOLERANCE * max(abs(x), abs(y)) or max(abs(x), abs(y)) < 1e-6


def _texts(output: Cell) -> Iterator[tuple[str, str]]:
    if output["output_type"] == "stream":
        yield "text", _joined(output["text"])
    for kind, content in output.get("data", {}).items():
        if kind in ("text/plain", "text/html"):
            yield kind.removeprefix("text/"), _joined(content)


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _code(notebook: dict[str, Any]) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def check(path: Path, store: bool) -> list[str]:
    """Runs one notebook; returns the faults of it and of its committed outputs."""
    from nbclient.exceptions import CellExecutionError

    committed = read(path)
    try:
        fresh = execute(path)
    except CellExecutionError as error:
        return [_COLOUR.sub("", str(error))]
    problems = list(faults(fresh))
    if store:
        write(path, fresh)
        return problems
    problems += [f"committed: {fault}" for fault in faults(committed)]
    return problems + list(differences(committed, fresh))


def _prepare(folder: str) -> None:
    """The environment of the kernels: CPU, a cache of compiled programs, a new profile."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["EXECUTORKIT_CACHE_DIR"] = ""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    os.environ["IPYTHONDIR"] = folder
    import matplotlib.font_manager  # noqa: F401 - the first import lists the fonts, and prints that


def main(arguments: list[str] | None = None) -> int:
    """Checks the notebooks; returns 0 if none has a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", help="first characters of file names; default: all")
    parser.add_argument("--write", action="store_true", help="store the new outputs")
    options = parser.parse_args(arguments)
    chosen = [p for p in NOTEBOOKS if not options.names or p.name.startswith(tuple(options.names))]
    failed = 0

    def timed(path: Path) -> tuple[list[str], float]:
        start = time.perf_counter()
        return check(path, options.write), time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        _prepare(folder)
        for path, (problems, seconds) in zip(chosen, pool.map(timed, chosen), strict=True):
            print(
                f"{path.name}: {'; '.join(problems) or 'as committed'} ({seconds:.0f} s)",
                flush=True,
            )
            failed += bool(problems)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
