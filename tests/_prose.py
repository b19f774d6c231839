"""Patterns of prose that the package avoids, counted for each package.

``python -m tests._prose [PACKAGE ...]`` prints the places; with ``--write`` alone it writes their
counts to ``tests/prose_counts.json``, of which ``tests/test_docstrings.py`` asserts that they fall.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests import _architecture as architecture
from tests._architecture import Finding, Module

COUNTS = Path(__file__).parent / "prose_counts.json"
#: Patterns in docstrings, comments and messages, and the form to prefer.
WORDS = {
    "pronoun chains": re.compile(
        r"\b(that|those) of\b|\bthose that\b|\bof what\b|\bwhat (it|is)\b"
    ),
    "negated nouns": re.compile(r"\b(is|are|was|were) no\b(?! longer)"),
    "agentless subjects": re.compile(r"\b(nobody|somebody|someone|whoever|anybody)\b", re.I),
    "old words": re.compile(r"\banew\b|\bby chance\b|\border of chance\b"),
}
NO_VERB = "functions without a verb"
HELPERS = "docstrings of short private helpers"
#: Maximum lines of code of a private helper whose name is documentation enough.
SHORT = 4
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_DESCRIBED = ("property", "setter", "deleter", "register", "overload")


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    texts = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
    return {t.split(".")[-1] for t in texts}


def _opens_with_a_verb(text: str) -> bool:
    """True for a third person singular ("Returns"), which is how a function's docstring opens."""
    first = re.split(r"[\s,.:;]", text.strip(), maxsplit=1)[0]
    return bool(re.fullmatch(r"[A-Z][a-z]*(-[a-z]+)?s", first)) and first not in {
        "As", "Arrays", "Axis", "Bias", "Others", "This", "Its", "Loss", "Names", "Numbers",
        "Results", "Rows", "Shapes", "Sums", "Thus", "Values",
    }  # fmt: skip


def _texts(m: Module) -> Iterator[tuple[int, str]]:
    """(line, text) of the lines of docstrings, comments and strings with several words."""
    strings: set[int] = set()
    for node in m.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(m.source.splitlines(), 1):
        if number in strings:
            yield number, line
        elif "#" in line:
            yield number, line[line.index("#") :]


def findings_of(m: Module) -> Iterator[tuple[str, Finding]]:
    """(pattern, place) for every place of a file."""
    for number, line in _texts(m):
        for pattern, expression in WORDS.items():
            for match in expression.finditer(line):
                yield pattern, Finding(m.file, number, f"{match[0]!r} in {line.strip()!r}")
    for node in m.nodes:
        if not isinstance(node, _FUNCTIONS):
            continue
        text = ast.get_docstring(node)
        if text is None:
            continue
        place = Finding(m.file, node.lineno, f"{node.name}: {text.splitlines()[0]!r}")
        if not (_decorators(node) & {*_DESCRIBED} or _opens_with_a_verb(text)):
            yield NO_VERB, place
        private = node.name.startswith("_") and not node.name.startswith("__")
        if private and len(node.body) > 1:
            first, last = node.body[1], node.body[-1]
            if (last.end_lineno or last.lineno) - first.lineno < SHORT:
                yield HELPERS, place


def findings() -> Iterator[tuple[str, str, Finding]]:
    """(package, pattern, place) for every place of the package; operators are formulas first."""
    for m in architecture.modules().values():
        package = m.package if m.is_package or m.name.count(".") > 1 else architecture.PACKAGE
        for pattern, place in findings_of(m):
            if not (package == "ops" and pattern == NO_VERB):
                yield package, pattern, place


def counts() -> dict[str, dict[str, int]]:
    """The number of places of each pattern by package."""
    numbers = Counter((package, pattern) for package, pattern, _ in findings())
    packages = sorted({package for package, _ in numbers})
    return {
        p: {pattern: n for (q, pattern), n in sorted(numbers.items()) if p == q} for p in packages
    }


def write_counts() -> None:
    """Writes the present counts, which are the bounds from now on."""
    COUNTS.write_text(json.dumps(counts(), indent=1) + "\n")


def main(arguments: list[str]) -> None:
    """Prints the places of the given packages, or writes the counts."""
    if arguments == ["--write"]:
        write_counts()
        return
    for package, pattern, place in findings():
        if not arguments or package in arguments:
            print(f"{place.file}:{place.line}: {pattern}: {place.text}")


if __name__ == "__main__":
    main(sys.argv[1:])
