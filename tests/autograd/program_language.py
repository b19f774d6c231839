"""The language of programs made by chance: statements, their lines, and a machine for ``mx``.

A program is a tree of statements; each is a line of MXNet's Python, and names what the naive tape
computes instead. It imports NumPy only, so that MXNet's Python reads it too.
"""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .naive_tape import Value

#: Arguments of the optimizer that programs update with.
SGD = {"learning_rate": 0.05, "momentum": 0.9}


class Statement(NamedTuple):
    """A line, or a block with the lines in it."""

    uid: int
    kind: str
    args: tuple[Any, ...] = ()
    body: tuple[Statement, ...] = ()


class Program(NamedTuple):
    """The seed of a program's numbers, and its statements."""

    seed: int
    statements: tuple[Statement, ...]


class RefusedError(Exception):
    """MXNet raises MXNetError here."""


class UndefinedError(Exception):
    """A statement of which the result is not defined, or differs from MXNet's on purpose."""


class Call(NamedTuple):
    """An operator: its line, and what the naive tape calls. ``{0}`` are inputs."""

    line: str
    run: Callable[..., list[Value]]


def _one(op: str, **attrs: Any) -> Callable[..., list[Value]]:
    return lambda call, params, *inputs: call(op, attrs, *inputs)


def _fully_connected(call: Any, params: Any, x: Value, w: Value, b: Value) -> list[Value]:
    if b.numbers.shape != w.numbers.shape[:1]:
        raise ValueError("a bias for each row is expected")
    (product,) = call("dot", {}, x, call("transpose", {}, w)[0])
    return call("add", {}, product, b)


def _mean(call: Any, params: Any, x: Value) -> list[Value]:
    return call("scale", {"by": 1 / x.numbers.size}, call("sum", {"axis": None}, x)[0])


def _add_n(call: Any, params: Any, *inputs: Value) -> list[Value]:
    total = inputs[0]
    if len({v.numbers.shape for v in inputs}) > 1:
        raise ValueError("one shape is expected")
    for v in inputs[1:]:
        (total,) = call("add", {}, total, v)
    return [total]


def _stack(call: Any, params: Any, *inputs: Value) -> list[Value]:
    shape = (1, *inputs[0].numbers.shape)
    return call("concat", {"axis": 0}, *(call("reshape", {"shape": shape}, v)[0] for v in inputs))


def _batch_norm(call: Any, params: Any, *inputs: Value) -> list[Value]:
    if any(v.numbers.shape != inputs[0].numbers.shape[1:] for v in inputs[1:]):
        raise ValueError("a number for each column is expected")
    return call("batch_norm", {"eps": STATES["eps"]}, *inputs)


def _column(call: Any, params: Any, x: Value) -> list[Value]:
    if x.numbers.shape[1] < 2:
        raise ValueError("there is no second column")
    return call("index", {"index": (slice(None), slice(1, 2))}, x)


CALLS: dict[str, Call] = {
    "tanh": Call("nd.tanh({0})", _one("tanh")),
    "sigmoid": Call("nd.sigmoid({0})", _one("sigmoid")),
    "sin": Call("nd.sin({0})", _one("sin")),
    "cos": Call("nd.cos({0})", _one("cos")),
    "square": Call("nd.square({0})", _one("square")),
    "power": Call("{0} ** 2", _one("square")),
    "softmax": Call("nd.softmax({0})", _one("softmax")),
    "negative": Call("-{0}", _one("scale", by=-1)),
    "copy": Call("{0}.copy()", _one("copy")),
    "block": Call("nd.BlockGrad({0})", _one("block")),
    "times": Call("{0} * {number}", lambda call, p, x: call("scale", {"by": p["number"]}, x)),
    "plus": Call("{0} + {number}", lambda call, p, x: call("shift", {"by": p["number"]}, x)),
    "add": Call("{0} + {1}", _one("add")),
    "subtract": Call("{0} - {1}", _one("subtract")),
    "multiply": Call("{0} * {1}", _one("multiply")),
    "add_n": Call("nd.add_n({0}, {1}, {2})", _add_n),
    "dot": Call("nd.dot({0}, {1})", _one("dot")),
    "fully_connected": Call(
        "nd.FullyConnected({0}, {1}, {2}, num_hidden={1}.shape[0])", _fully_connected
    ),
    "sum": Call("{0}.sum()", _one("sum", axis=None)),
    "sum_rows": Call("{0}.sum(axis=0)", _one("sum", axis=0)),
    "mean": Call("{0}.mean()", _mean),
    "transpose": Call("{0}.T", _one("transpose")),
    "concat": Call("nd.concat({0}, {1}, dim=0)", _one("concat", axis=0)),
    "stack": Call("nd.stack({0}, {1})", _stack),
    "batch_norm": Call(
        "nd.BatchNorm({0}, {1}, {2}, {3}, {4}, fix_gamma=False, momentum=0.5, eps=0.1)",
        _batch_norm,
    ),
    "split": Call("nd.split({0}, num_outputs=3, axis=1)", _one("split", parts=3, axis=1)),
    "take": Call("{0}[[1, 0, 1]]", _one("index", index=[1, 0, 1])),
    "column": Call("{0}[:, 1:2]", _column),
    "steps": Call("{0}[::2]", _one("index", index=slice(None, None, 2))),
    # Views of memory.
    "part": Call("{0}[0:2]", _one("index", index=slice(0, 2))),
    "row": Call("{0}[1]", _one("index", index=1)),
    "flat": Call("{0}.reshape((-1,))", _one("reshape", shape=(-1,))),
    "detach": Call("{0}.detach()", _one("copy")),
}  # fmt: skip
STATES = {"momentum": 0.5, "eps": 0.1}
#: Least numbers of rows of which these indices are no view.
COPIED = {"column": 2, "steps": 3}
TWO_AXES = ("row", "column", "transpose", "split", "sum_rows", "dot", "fully_connected")
VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "part": lambda x: x[0:2],
    "row": lambda x: x[1],
    "flat": lambda x: x.reshape(-1),
    "detach": lambda x: x[...],
}
SCOPES = {
    "record": "ag.record()", "record(False)": "ag.record(False)", "pause": "ag.pause()",
    "predict_mode": "ag.predict_mode()", "train_mode": "ag.train_mode()",
}  # fmt: skip
BLOCKS = {*SCOPES, "loop", "even", "odd", "thread"}


def _listed(names: Any) -> str:
    return f"[{', '.join(map(str, names))}]"


def _marked(s: Statement) -> str:
    name, shape, req = s.args
    return f"{name} = nd.array(feed({s.uid}, {shape})); {name}.attach_grad({req!r})"


def _called(s: Statement) -> str:
    op, inputs, outputs, fed = s.args
    line = CALLS[op].line.format(*inputs, number=f"number({s.uid})" if fed else fixed_number(s.uid))
    return f"{', '.join(outputs)} = {line}"


def _backward(s: Statement) -> str:
    heads, gradients, retain = s.args
    kept = ", retain_graph=True" if retain else ""
    if len(heads) == 1:
        return f"{heads[0]}.backward({gradients[0] or ''}{kept if gradients[0] else kept[2:]})"
    return f"ag.backward({_listed(heads)}, {_listed(gradients)}{kept})"


def _grad(s: Statement) -> str:
    heads, gradients, variables, outputs, kept = s.args
    return (
        f"{_listed(outputs)} = ag.grad({_listed(heads)}, {_listed(variables)}, "
        f"{_listed(gradients)}{kept and f', {kept}=True'})"
    )


#: Lines of statements that are not blocks, by kind.
LINES: dict[str, Callable[[Statement], str]] = {
    "leaf": _marked,
    "constant": lambda s: f"{s.args[0]} = nd.array(feed({s.uid}, {s.args[1]}))",
    "states": lambda s: f"{s.args[0]} = nd.zeros({s.args[2]}); {s.args[1]} = nd.ones({s.args[2]})",
    "mark": lambda s: f"{s.args[0]}.attach_grad({s.args[1]!r})",
    "call": _called,
    "out": lambda s: f"nd.{s.args[0]}({s.args[1]}, out={s.args[2]})",
    "gradient": lambda s: f"{s.args[0]} = {s.args[1]}.grad",
    "fill": lambda s: f"{s.args[0]}[:] = number({s.uid})",
    "fill row": lambda s: f"{s.args[0]}[0] = number({s.uid})",
    "write": lambda s: f"{s.args[0]}[:] = {s.args[1]}",
    "write numpy": lambda s: f"{s.args[0]}[:] = feed({s.uid}, {s.args[0]}.shape)",
    "add number": lambda s: f"{s.args[0]} += number({s.uid})",
    "add array": lambda s: f"{s.args[0]} += {s.args[1]}",
    "descend": lambda s: f"{s.args[0]}[:] = {s.args[0]} - 0.1 * {s.args[0]}.grad",
    "descend in place": lambda s: f"{s.args[0]} -= 0.1 * {s.args[0]}.grad",
    "zero gradient": lambda s: f"{s.args[0]}.grad[:] = 0",
    "update": lambda s: f"update({s.args[0]!r}, {s.args[0]}.grad, {s.args[0]})",
    "backward": _backward,
    "grad": _grad,
    "read": lambda s: f"seen({s.args[0]})",
    "read gradient": lambda s: f"seen({s.args[0]}.grad)",
    "fresh": lambda s: f"seen({s.args[0]}._fresh_grad)",
    "wait": lambda s: f"{s.args[0]}.wait_to_read()",
    "wait for all": lambda s: "nd.waitall()",
    "delete": lambda s: f"del {s.args[0]}",
    "collect": lambda s: "gc.collect()",
    "wrong": lambda s: f"nd.dot({s.args[0]}, nd.ones((7, 7)))",
}


def source(program: Program) -> str:
    """A program as Python. ``feed(i, shape)`` and ``number(i)`` draw numbers of their own."""
    return "\n".join(_lines(program.statements, ""))


def _lines(statements: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for s in statements:
        if s.kind not in BLOCKS:
            yield indent + LINES[s.kind](s)
            continue
        if s.kind in SCOPES:
            yield f"{indent}with {SCOPES[s.kind]}:"
        elif s.kind == "loop":
            yield f"{indent}for _ in range({s.args[0]}):"
        elif s.kind == "thread":
            yield f"{indent}with own_thread():"
        else:
            yield f"{indent}if turn({s.uid}) % 2 == {int(s.kind == 'odd')}:"
        yield from _lines(s.body, indent + "    ") if s.body else [indent + "    pass"]


def fixed_number(uid: int) -> float:
    """A number of a statement that is the same each time."""
    return (0.5, -1.5, 0.25, 2.0)[uid % 4]


class Machine:
    """Walks through a program; what it sees is in ``log``: (statement, outcome)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.log: list[tuple[int, Any]] = []
        self._turns: Counter[int] = Counter()

    def run(self, statements: tuple[Statement, ...]) -> None:
        """Executes statements one after the other; a block as often as it says."""
        for s in statements:
            self._turns[s.uid] += 1
            if s.kind not in BLOCKS:
                self.log.append((s.uid, self.execute(s)))
            elif s.kind in SCOPES:
                self.in_scope(s)
            elif s.kind == "loop":
                for _ in range(s.args[0]):
                    self.run(s.body)
            elif s.kind == "thread":
                self.in_thread(s)
            elif (self._turns[s.uid] % 2 == 1) == (s.kind == "odd"):
                self.run(s.body)

    def feed(self, uid: int, shape: tuple[int, ...]) -> np.ndarray:
        """Normal numbers of a statement, other ones each time."""
        draw = np.random.RandomState((self.seed * 1009 + uid * 101 + self._turns[uid]) % 2**32)
        return (draw.standard_normal(shape) * 0.7).astype("float32")

    def number(self, uid: int) -> float:
        """A number of a statement, another one each time."""
        return float(self.feed(uid, (1,))[0])

    def execute(self, s: Statement) -> Any:
        """The outcome of a line."""
        raise NotImplementedError

    def in_scope(self, s: Statement) -> None:
        """Executes a block in its scope."""
        raise NotImplementedError

    def in_thread(self, s: Statement) -> None:
        """Executes a block in a thread of its own."""
        raise NotImplementedError


class RealMachine(Machine):
    """Runs a program's lines under ``mx``."""

    def __init__(self, seed: int, mx: Any) -> None:
        super().__init__(seed)
        self.mx = mx
        updater = mx.optimizer.get_updater(mx.optimizer.SGD(**SGD))
        self._seen: list[Any] = []
        self._null: set[str] = set()
        self.names: dict[str, Any] = {
            "nd": mx.nd, "ag": mx.autograd, "gc": gc, "feed": self.feed, "number": self.number,
            "update": lambda name, grad, weight: updater(f"{name}{weight.shape}", grad, weight),
            "seen": self._seen.append,
        }  # fmt: skip
        self._own = {*self.names, "__builtins__"}

    def execute(self, s: Statement) -> Any:
        if s.kind in ("leaf", "mark"):
            (self._null.add if s.args[-1] == "null" else self._null.discard)(s.args[0])
        try:
            exec(LINES[s.kind](s), self.names)
        except NameError:
            return "unbound"
        except self.mx.base.MXNetError:
            return "MXNetError"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return _plain(self._seen.pop()) if self._seen else None

    def in_scope(self, s: Statement) -> None:
        with eval(SCOPES[s.kind], self.names):
            self.run(s.body)

    def in_thread(self, s: Statement) -> None:
        thread = threading.Thread(target=self.run, args=(s.body,))
        thread.start()
        thread.join()

    def finish(self) -> None:
        """Reads all that is left; of marks 'null', gradients are left out."""
        try:
            self.mx.nd.waitall()
            for name in sorted({*self.names} - self._own):
                array = self.names[name]
                self.log.append((-1, [name, _plain(array)]))
                if array.grad is not None and name not in self._null:
                    self.log.append((-2, [name, _plain(array.grad), bool(array._fresh_grad)]))
        except Exception as error:
            self.log.append((-3, f"{type(error).__name__}: {error}"))


def _plain(seen: Any) -> Any:
    """What a line saw: numbers, or a flag."""
    if hasattr(seen, "asnumpy"):
        return np.asarray(seen.asnumpy(), "float64")
    return seen if seen is None else bool(seen)
