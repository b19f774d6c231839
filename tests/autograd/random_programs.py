"""Programs made by chance, run by ``mx`` and by a tape that computes at once, and compared.

    python -m tests.autograd.random_programs FIRST COUNT

compares the programs of many seeds and prints those that differ, made as short as they can be.
Apart from that it imports NumPy only: ``tests/golden/autograd_programs.py`` asks MXNet the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .naive_machine import NaiveMachine
from .program_generator import Generator
from .program_language import Program, RealMachine, Statement, UndefinedError, source

#: Relative to the largest magnitude of an array (or 1) that results may differ.
TOLERANCE = 5e-5


def run_naive(program: Program, strict: bool = False) -> list[tuple[int, Any]]:
    """What the naive tape sees in a program."""
    machine = NaiveMachine(program.seed, strict)
    machine.run(program.statements)
    machine.finish()
    return machine.log


def run_real(program: Program, mx: Any) -> list[tuple[int, Any]]:
    """What ``mx`` sees in a program."""
    machine = RealMachine(program.seed, mx)
    machine.run(program.statements)
    machine.finish()
    return machine.log


class Difference(NamedTuple):
    """A statement of which two machines saw different outcomes; -1 and -2 are the last reads."""

    uid: int
    ours: Any
    naive: Any

    def __str__(self) -> str:
        return f"statement {self.uid}: {self.ours}, the naive tape says {self.naive}"

    @property
    def kind(self) -> tuple[str, str]:
        """The kinds of both outcomes: shorter programs should differ in the same way."""
        a, b = (o.partition(":")[0] if isinstance(o, str) else "value" for o in self[1:])
        return a, b


def first_difference(ours: list[Any], naive: list[Any]) -> Difference | None:
    """The first place at which two logs differ, or None."""
    for (uid, a), (other, b) in zip(ours, naive, strict=False):
        if uid != other or not _agree(a, b):
            return Difference(other, a, b)
    if len(ours) == len(naive):
        return None
    return Difference(-3, f"{len(ours)} outcomes", f"{len(naive)} outcomes")


def _agree(a: Any, b: Any) -> bool:
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(map(_agree, a, b))
    if isinstance(b, np.ndarray):
        if not isinstance(a, np.ndarray) or a.shape != b.shape:
            return False
        return bool(np.all(np.abs(a - b) <= TOLERANCE * max(1.0, np.abs(b).max(initial=0))))
    return type(a) is type(b) and bool(a == b)


def _without(statements: tuple[Statement, ...], uid: int) -> tuple[Statement, ...]:
    """Statements without one, wherever it stands."""
    return tuple(s._replace(body=_without(s.body, uid)) for s in statements if s.uid != uid)


def _defined(program: Program, strict: bool) -> Program:
    """A program without the statements that are not defined."""
    while True:
        try:
            run_naive(program, strict)
        except UndefinedError as error:
            program = program._replace(statements=_without(program.statements, error.args[0]))
        else:
            return program


def generate(seed: int, strict: bool = False) -> Program:
    """The program of a seed; ``strict``: one of which MXNet's result is defined too."""
    return _defined(Generator(seed, strict).program(), strict)


def _simpler(program: Program) -> Iterator[Program]:
    """Programs with one statement less, with a block's lines in its place, or shorter loops."""

    def versions(statements: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
        for i, s in enumerate(statements):
            before, after = statements[:i], statements[i + 1 :]
            yield before + after
            if s.body:
                yield before + s.body + after
                for body in versions(s.body):
                    yield (*before, s._replace(body=body), *after)
            if s.kind == "loop" and s.args[0] > 1:
                yield (*before, s._replace(args=(s.args[0] - 1,)), *after)
            if s.kind == "backward" and len(s.args[0]) > 1:
                for k in range(len(s.args[0])):
                    heads, gradients = (a[:k] + a[k + 1 :] for a in s.args[:2])
                    yield (*before, s._replace(args=(heads, gradients, s.args[2])), *after)

    return (program._replace(statements=v) for v in versions(program.statements))


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that still fails, of which nothing can be left out."""
    while True:
        for simpler in _simpler(program):
            if fails(simpler):
                program = simpler
                break
        else:
            return program


def check(program: Program, mx: Any, strict: bool = False) -> Difference | None:
    """The first difference between ``mx`` and the naive tape in a program, or None."""
    try:
        naive = run_naive(program, strict)
    except UndefinedError:
        return None
    return first_difference(run_real(program, mx), naive)


def report(program: Program, mx: Any, strict: bool = False) -> str:
    """A failing program, made as short as it can be, and in what it differs."""
    difference = check(program, mx, strict)
    assert difference is not None, "it does not fail"

    def fails(simpler: Program) -> bool:
        other = check(simpler, mx, strict)
        return other is not None and other.kind == difference.kind

    short = shrink(program, fails)
    return f"seed {program.seed}\n{source(short)}\n{check(short, mx, strict)}"


def main(first: int, count: int) -> None:
    """Compares the programs of some seeds."""
    import executorkit as mx

    differing = 0
    for seed in range(first, first + count):
        program = generate(seed)
        if check(program, mx) is not None:
            differing += 1
            print(report(program, mx), flush=True)
    print(f"{count} programs, {differing} differ")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
