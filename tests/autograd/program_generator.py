"""Makes programs by chance, of statements that fit to what the names hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .naive_machine import Handle, NaiveMachine
from .naive_tape import Leaf
from .program_language import CALLS, VIEWS, Program, Statement, UndefinedError

SHAPES = ((2, 3), (2, 3), (3,), (1, 3), (3, 2), (2,))


class Generator:
    """Makes a program, statement by statement; a naive machine knows what the names hold."""

    def __init__(self, seed: int, strict: bool = False) -> None:
        self.random = random.Random(seed)
        self.machine = NaiveMachine(seed, strict)
        self.uid = 0

    def program(self) -> Program:
        """A program; the machine knows of each statement how it came out the first time."""
        body: list[Statement] = []
        for shape in ((2, 3), (3,), self.random.choice(SHAPES))[: self.random.randint(1, 3)]:
            req = self.random.choice(("write", "write", "write", "add", "add", "null"))
            self.emit(body, "leaf", f"w{len(body)}", shape, req)
        if self.random.random() < 0.5:
            self.emit(body, "constant", "c", self.random.choice(SHAPES))
        if self.random.random() < 0.2:
            self.emit(body, "states", "s_mean", "s_var", (3,))
        for _ in range(self.random.randint(3, 9)):
            self.choice(
                (4, self.record), (2, self.training_loop), (3, self.step), (1, self.loop),
                (3, self.differentiate), (0.3, self.thread),
            )(body)  # fmt: skip
        return Program(self.machine.seed, tuple(body))

    def choice(self, *weighted: tuple[float, Callable[[list[Statement]], None]]) -> Any:
        """One of several functions by weight."""
        return self.random.choices([f for _, f in weighted], [w for w, _ in weighted])[0]

    def new(self, kind: str, *args: Any, body: tuple[Statement, ...] = ()) -> Statement:
        """A statement with a number of its own."""
        self.uid += 1
        return Statement(self.uid, kind, args, body)

    def emit(self, body: list[Statement], kind: str, *args: Any) -> None:
        """Adds a statement if it is defined."""
        s = self.new(kind, *args)
        try:
            self.machine.run((s,))
        except UndefinedError:
            return
        body.append(s)

    # Blocks.

    def record(self, body: list[Statement]) -> None:
        self.scope(body, self.random.choices(("record", "record(False)"), (9, 1))[0])

    def scope(self, body: list[Statement], kind: str) -> None:
        inner: list[Statement] = []
        before = self.machine.enter(kind)
        for _ in range(self.random.randint(1, 7)):
            self.step(inner)
        self.machine.recording, self.machine.training = before
        body.append(self.new(kind, body=tuple(inner)))

    def repeat(self, body: list[Statement], make: Callable[[list[Statement]], None]) -> None:
        inner: list[Statement] = []
        make(inner)
        times = self.random.choice((2, 3, 5, 12))
        try:
            for _ in range(times - 1):
                self.machine.run(tuple(inner))
        except UndefinedError:
            pass
        body.append(self.new("loop", times, body=tuple(inner)))

    def loop(self, body: list[Statement]) -> None:
        def make(inner: list[Statement]) -> None:
            for _ in range(self.random.randint(2, 5)):
                self.choice((3, self.record), (2, self.step), (2, self.differentiate))(inner)

        self.repeat(body, make)

    def training_loop(self, body: list[Statement]) -> None:
        """New data, recorded calls, backward, updates; and some of all else in between."""

        def make(inner: list[Statement]) -> None:
            self.emit(inner, "constant", "x", self.random.choice(SHAPES))
            for _ in range(self.random.choice((1, 1, 2))):
                self.record(inner)
                self.disturb(inner)
                self.differentiate(inner)
                self.disturb(inner)
            for name in self.leaves():
                kind = self.random.choice(("descend", "descend in place", "update", "update"))
                self.emit(inner, kind, name)
            self.disturb(inner)

        self.repeat(body, make)

    def disturb(self, body: list[Statement]) -> None:
        if self.random.random() < 0.35:
            self.step(body)
        if self.random.random() < 0.15:
            inner: list[Statement] = []
            kind = self.random.choice(("even", "odd"))
            for _ in range(self.random.randint(1, 3)):
                self.choice((2, self.step), (1, self.record))(inner)
            body.append(self.new(kind, body=tuple(inner)))

    def thread(self, body: list[Statement]) -> None:
        inner: list[Statement] = []
        before = self.machine.recording, self.machine.training
        self.machine.recording = self.machine.training = False
        for _ in range(self.random.randint(1, 3)):
            self.choice((2, self.record), (1, self.step), (1, self.differentiate))(inner)
        self.machine.recording, self.machine.training = before
        body.append(self.new("thread", body=tuple(inner)))

    # Names.

    def names(self, accept: Callable[[Handle], bool] = lambda h: True) -> list[str]:
        """Arrays that a statement may take, late ones first."""
        return [
            n for n, h in reversed(self.machine.names.items())
            if not n.startswith("s_") and accept(h)
        ]  # fmt: skip

    def leaves(self) -> list[str]:
        return self.names(lambda h: isinstance(h.origin, Leaf))

    def recorded(self) -> list[str]:
        return self.names(lambda h: isinstance(h.origin, tuple))

    def pick(self, names: list[str]) -> str:
        """One of some names, rather a late one."""
        return names[min(int(self.random.expovariate(0.4)), len(names) - 1)]

    def target(self) -> str:
        """A name for a result: a new one, or one that is bound again."""
        if self.random.random() < 0.3:
            names = [n for n in self.names() if not n.startswith(("w", "x"))]
            if names:
                return self.random.choice(names)
        return f"v{self.uid}"

    # Lines.

    def step(self, body: list[Statement]) -> None:
        """A statement that fits to where it stands."""
        if not self.names():
            return
        inside = self.machine.recording
        depth = 0.25 if inside else 0
        self.choice(
            (12 if inside else 3, self.call), (2 if inside else 0.7, self.view),
            (1.2, self.read), (0.5, self.out), (0.7 if inside else 2, self.write),
            (0.4, self.mark), (0.6, self.manage), (0.3, self.wrong),
            (0.4 if inside else 2, self.differentiate), (0.5, self.use_gradient),
            (depth, lambda b: self.scope(b, "pause")),
            (depth, lambda b: self.scope(b, "predict_mode")),
            (0.05, lambda b: self.scope(b, "train_mode")),
        )(body)  # fmt: skip

    def call(self, body: list[Statement]) -> None:
        for _ in range(6):
            op = self.random.choice([op for op in CALLS if op not in VIEWS])
            name = self.pick(self.names())
            inputs = self.inputs(op, self.machine.names[name].memory.shape, name)
            if inputs is not None:
                first = self.target()
                outputs = (first, f"{first}b", f"{first}c") if op == "split" else (first,)
                self.emit(body, "call", op, inputs, outputs, self.random.random() < 0.4)
                return

    def inputs(self, op: str, shape: tuple[int, ...], name: str) -> tuple[str, ...] | None:
        """Names that an operator may take beside one of a shape, or None."""

        def other(accept: Callable[[tuple[int, ...]], bool]) -> str | None:
            names = self.names(lambda h: accept(h.memory.shape))
            return self.pick(names) if names else None

        same = {"add_n": 2, "stack": 1}.get(op)
        if op in ("add", "subtract", "multiply"):
            partner = other(lambda s: _broadcast(s, shape))
            others = [partner]
            if self.random.random() < 0.5:
                return None if partner is None else (partner, name)
        elif same:
            others = [other(lambda s: s == shape) for _ in range(same)]
        elif op == "concat":
            others = [other(lambda s: len(s) == len(shape) and s[1:] == shape[1:])]
        elif op == "dot":
            others = [other(lambda s: len(s) == len(shape) == 2 and s[0] == shape[1])]
        elif op == "fully_connected":
            weight = other(lambda s: len(s) == len(shape) == 2 and s[1] == shape[1])
            rows = self.machine.names[weight].memory.shape[0] if weight else 0
            others = [weight, other(lambda s: s == (rows,))]
        elif op == "batch_norm":
            if len(shape) != 2 or shape[0] < 2 or "s_mean" not in self.machine.names:
                return None
            others = [other(lambda s: s == shape[1:] == (3,)) for _ in range(2)]
            others += ["s_mean", "s_var"]
        else:
            fits = {
                "split": len(shape) == 2 and shape[1] == 3, "transpose": len(shape) == 2,
                "column": len(shape) == 2 and shape[1] > 1,
                "take": shape[0] > 1, "sum_rows": len(shape) > 1,
            }  # fmt: skip
            return (name,) if fits.get(op, True) else None
        return None if None in others else (name, *map(str, others))

    def view(self, body: list[Statement]) -> None:
        name = self.pick(self.names())
        shape = self.machine.names[name].memory.shape
        op = self.random.choice(("part", "row", "flat", "detach"))
        if op == "part" and shape[0] < 2:
            return
        if op == "row" and (len(shape) < 2 or shape[0] < 2):
            return
        self.emit(body, "call", op, (name,), (self.target(),), False)

    def read(self, body: list[Statement]) -> None:
        leaves = self.leaves()
        if leaves and self.random.random() < 0.4:
            kind = self.random.choice(("read gradient", "read gradient", "fresh"))
            self.emit(body, kind, self.pick(leaves))
            return
        names = [*self.names(), *(n for n in ("s_mean",) if n in self.machine.names)]
        self.emit(body, self.random.choice(("read", "read", "wait")), self.pick(names))

    def out(self, body: list[Statement]) -> None:
        name = self.pick(self.names())
        shape = self.machine.names[name].memory.shape
        if self.random.random() < 0.5:
            target = f"v{self.uid}"
            self.emit(body, "constant", target, shape)
        else:
            target = self.pick(self.names(lambda h: h.memory.shape == shape))
        if self.random.random() < 0.5:
            self.emit(body, "out", self.random.choice(("tanh", "sin")), name, target)
        else:
            self.emit(body, "write", target, name)

    def write(self, body: list[Statement]) -> None:
        name = self.pick(self.names())
        leaves = self.leaves()
        kind = self.random.choice(
            ("fill", "fill row", "write numpy", "add number", "add array", "write", "descend",
             "descend in place", "update", "zero gradient"),
        )  # fmt: skip
        if kind in ("descend", "descend in place", "update", "zero gradient"):
            if leaves:
                self.emit(body, kind, self.pick(leaves))
        elif kind in ("add array", "write"):
            shape = self.machine.names[name].memory.shape
            names = self.names(lambda h: h.memory.shape == shape)
            self.emit(body, kind, name, self.pick(names))
        else:
            self.emit(body, kind, name)

    def mark(self, body: list[Statement]) -> None:
        req = self.random.choice(("write", "write", "add", "null"))
        self.emit(body, "mark", self.pick(self.names()), req)

    def manage(self, body: list[Statement]) -> None:
        kind = self.random.choice(("delete", "delete", "collect", "wait for all"))
        self.emit(body, kind, *([self.pick(self.names())] if kind == "delete" else []))

    def wrong(self, body: list[Statement]) -> None:
        self.emit(body, "wrong", self.pick(self.names(lambda h: h.memory.size != 7)))

    def use_gradient(self, body: list[Statement]) -> None:
        leaves = self.leaves()
        if leaves:
            self.emit(body, "gradient", self.target(), self.pick(leaves))

    def differentiate(self, body: list[Statement]) -> None:
        """``backward`` or ``grad``; sometimes of what was not recorded."""
        names = self.recorded() or self.names()
        if not names:
            return
        if self.random.random() < 0.08:
            names = self.names()
        count = self.random.choices((1, 2, 3), (8, 2, 1))[0]
        heads = tuple(self.pick(names) for _ in range(count))
        gradients = tuple(self.head_gradient(h) for h in heads)
        leaves = self.leaves()
        if leaves and self.random.random() < 0.2:
            variables = tuple({self.pick(leaves): 0 for _ in range(self.random.randint(1, 2))})
            outputs = tuple(f"g{self.uid}_{i}" for i in range(len(variables)))
            kept = self.random.choices(("", "retain_graph", "create_graph"), (3, 3, 3))[0]
            self.emit(body, "grad", heads, gradients, variables, outputs, kept)
        else:
            self.emit(body, "backward", heads, gradients, self.random.random() < 0.3)

    def head_gradient(self, head: str) -> str | None:
        if self.random.random() < 0.75:
            return None
        shape = self.machine.names[head].memory.shape
        return self.pick(self.names(lambda h: h.memory.shape == shape))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether shapes broadcast as MXNet has it: of one length."""
    return len(a) == len(b) and all(m == n or 1 in (m, n) for m, n in zip(a, b, strict=True))
