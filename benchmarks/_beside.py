"""Measures single operators beside MXNet: the questions of ``_detection``, ``_regions`` and others.

A ratio above 1 means that ours is faster.
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import median

import jax

import executorkit as mx
from executorkit._cli._timing import seconds
from executorkit.display import text_table

from ._measure import ORACLE, Oracle
from ._operators import Question, call, questions, size


def main(family: str, what: str | None) -> None:
    """The command of a ``bench_<family>.py``: measures and prints a table."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--pairs", type=int, default=15, help="how many steady calls of each")
    parser.add_argument("--only", default="", help="a part of the names to measure")
    options = parser.parse_args()
    print(f"JAX {jax.__version__}, {os.cpu_count()} cores\n")
    oracle = Oracle("benchmarks._operators", family) if ORACLE in os.environ else None
    asked = [q for q in questions(mx, family) if options.only in q.name]
    header = ["", "first call", "steady", "MXNet", "MXNet / ours"]
    rows = []
    for number, question in enumerate(asked, start=1):
        rows.append(_row(question, oracle, options.pairs))
        print(f"{number}/{len(asked)} {' | '.join(rows[-1])}", file=sys.stderr, flush=True)
    print(text_table(header, rows, right={1, 2, 3, 4}))


def _row(question: Question, oracle: Oracle | None, pairs: int) -> list[str]:
    run = call(mx, question, lambda array: array.jax.block_until_ready())
    row = [question.name, f"{seconds(run) * 1e3:,.0f} ms"]
    if oracle is None:
        return [*row, f"{median(seconds(run) for _ in range(pairs)) * 1e3:,.1f} ms", "", ""]
    ours, its = size(run().asnumpy()), oracle.first[question.name]
    if not abs(ours - its) <= question.limit * its:
        raise RuntimeError(f"{question.name}: magnitudes of {ours}, MXNet's of {its}")
    times = oracle.time_in_pairs(question.name, run, pairs)
    return [*row, f"{times.ours * 1e3:,.1f} ms", f"{times.theirs * 1e3:,.1f} ms",
            f"{times.ratio:.2f}"]  # fmt: skip
