"""A machine that runs programs on the naive tape, and says what is not defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .naive_tape import Leaf, Node, Tape, Value
from .program_language import (
    CALLS,
    COPIED,
    SGD,
    STATES,
    TWO_AXES,
    VIEWS,
    Machine,
    RefusedError,
    Statement,
    UndefinedError,
    fixed_number,
)  # fmt: skip

#: Largest magnitudes of values and gradients in a program.
LIMITS = {"value": 40.0, "gradient": 400.0}


class Handle:
    """An array of the naive machine: memory that views share, and a place in the graph."""

    def __init__(self, memory: np.ndarray, origin: Any = None, null: bool = False) -> None:
        self.memory, self.origin = memory, origin
        #: Whether it is marked 'null', or was recorded from arrays of which one is.
        self.null = null
        #: Whether it is a recorded gradient that depends on nothing: a constant, or in the graph.
        self.vague = False
        #: Its place in MXNet's graph though no gradient flows to it.
        self.constant: Constant | None = None

    @property
    def is_constant(self) -> bool:
        """Whether MXNet's graph knows it as a constant."""
        return self.constant is not None and not self.constant.forgotten


class Constant:
    """An unmarked array that took part in a recorded call: MXNet keeps it until the graph is used
    up, and refuses what needs it then."""

    def __init__(self, parts: list[Constant]) -> None:
        self.parts, self.forgotten = parts, False

    def all(self) -> Iterator[Constant]:
        """The constant, and those that it was computed from."""
        yield self
        for part in self.parts:
            yield from part.all()


class Saved(NamedTuple):
    """What MXNet keeps of a call: arrays in memory with what they held, and constants."""

    node: Node
    memory: list[tuple[np.ndarray, np.ndarray]]
    constants: list[Constant]


class NaiveMachine(Machine):
    """Runs a program on the naive tape.

    strict
        whether also that is undefined of which only MXNet's result is not what it should be.
    """

    def __init__(self, seed: int, strict: bool = False) -> None:
        super().__init__(seed)
        self.names: dict[str, Handle] = {}
        self.tape = Tape()
        self.recording = self.training = False
        self.strict = strict
        self._momentum: dict[str, np.ndarray] = {}
        #: In strict mode, by number of a call.
        self._saved: dict[int, Saved] = {}
        self._new_nodes: list[Node] = []

    def in_scope(self, s: Statement) -> None:
        before = self.enter(s.kind)
        self.run(s.body)
        self.recording, self.training = before

    def enter(self, kind: str) -> tuple[bool, bool]:
        """Sets the flags of a scope and returns the former ones."""
        before = self.recording, self.training
        self.recording = {"record": True, "record(False)": True, "pause": False}.get(
            kind, self.recording
        )
        self.training = kind in ("record", "train_mode")
        return before

    def in_thread(self, s: Statement) -> None:
        before = self.recording, self.training
        self.recording = self.training = False
        self.run(s.body)
        self.recording, self.training = before

    def execute(self, s: Statement) -> Any:
        try:
            return getattr(self, "_" + s.kind.replace(" ", "_"))(s, *s.args)
        except KeyError:
            return "unbound"
        except RefusedError:
            return "MXNetError"
        except UndefinedError as error:
            raise UndefinedError(s.uid, *error.args) from None

    def finish(self) -> None:
        """Reads all that is left."""
        for name in sorted(self.names):
            handle = self.names[name]
            self.log.append((-1, [name, handle.memory.copy()]))
            if isinstance(handle.origin, Leaf):
                leaf = handle.origin
                self.log.append((-2, [name, leaf.grad.copy(), leaf.fresh]))

    # What a handle is in the graph.

    def origin(self, handle: Handle) -> Any:
        """Where a handle's contents come from; None once that was used up."""
        origin = handle.origin
        return None if isinstance(origin, tuple) and origin[0].used_up else origin

    def value(self, handle: Handle) -> Value:
        """The contents of a handle now."""
        return Value(handle.memory.copy(), self.origin(handle))

    def leaf(self, name: str) -> Leaf:
        """The mark of an array; without one there is nothing to ask for."""
        origin = self.names[name].origin
        if not isinstance(origin, Leaf):
            raise UndefinedError("not marked")
        return origin

    def _tape_call(self, op: str, attrs: dict[str, Any], *inputs: Value) -> list[Value]:
        outputs = self.tape.call(op, attrs, inputs, self.recording)
        origin = outputs[0].origin
        if isinstance(origin, tuple):
            self._new_nodes.append(origin[0])
        return outputs

    def _results(self, op: str, inputs: tuple[str, ...], number: float) -> list[Handle]:
        """Handles of a call's outputs."""
        handles = [self.names[n] for n in inputs]
        self._new_nodes = []
        if self.strict and self.recording:
            self._refuse_wrong_gradients(op, handles)
        shape = handles[0].memory.shape
        if len(shape) < 1 + (op in TWO_AXES) or shape[0] < COPIED.get(op, 1):
            raise UndefinedError("no such part, or a view that is expected to be a copy")
        states = handles[3:] if op == "batch_norm" else []
        if any(self.origin(h) is not None for h in states):
            raise UndefinedError("states in the graph")
        try:
            values = [self.value(h) for h in handles]
            if states and self.training:
                del values[3:]
            outputs = CALLS[op].run(self._tape_call, {"number": number}, *values)
        except (ValueError, IndexError):
            raise UndefinedError("shapes do not fit") from None
        for v in outputs:
            _check_size(v.numbers, "value")
        if states and self.training and self._new_nodes:
            self._new_nodes[0].visited = lambda: _update_states(values[0], states[0], states[1])
        if op == "detach":
            outputs = [Value(outputs[0].numbers)]
        results = [Handle(v.numbers.copy(), v.origin) for v in outputs]
        if op in VIEWS:
            results[0].memory = VIEWS[op](handles[0].memory)
        if self.recording and op != "detach":
            self._note(handles, results)
        return results

    def _refuse_wrong_gradients(self, op: str, handles: list[Handle]) -> None:
        """Raises for what MXNet computes wrongly."""
        added = any(isinstance(h.origin, Leaf) and h.origin.req == "add" for h in handles)
        if op in ("mean", "copy") and added:
            raise UndefinedError("MXNet does not add the gradient of these operators")
        if op == "batch_norm" and not self.training:
            raise UndefinedError("MXNet's backward takes itself for training")
        if op == "fully_connected" and self.origin(handles[1]) is None:
            raise UndefinedError("without the weight's gradient MXNet does not write the bias's")

    def _note(self, inputs: list[Handle], outputs: list[Handle]) -> None:
        """Keeps what MXNet keeps of a recorded call."""
        null = any(h.null for h in inputs)
        in_graph = any(self.origin(h) is not None or h.is_constant or h.null for h in inputs)
        if in_graph:
            for h in inputs:
                if self.origin(h) is None and not h.is_constant:
                    h.constant = Constant([])
        constants = [h.constant for h in inputs if h.constant is not None and h.is_constant]
        for h in outputs:
            h.null = null
            h.vague = h.origin is None and any(i.vague for i in inputs)
            h.constant = Constant(constants) if in_graph and h.origin is None else None
        memory = [(h.memory, h.memory.copy()) for h in (*inputs, *outputs)]
        for node in self._new_nodes:
            self._saved[node.number] = Saved(node, memory, constants)

    def _is_broken(self, handle: Handle) -> bool:
        """Whether a part of the graph of a handle was used up, but not its end."""
        nodes, _ = self.tape.reached([self.value(handle)])
        return any(n.used_up for n in nodes)

    # Statements.

    def _leaf(self, s: Statement, name: str, shape: tuple[int, ...], req: str) -> None:
        self.names[name] = Handle(self.feed(s.uid, shape).astype("float64"))
        self._mark(s, name, req)

    def _constant(self, s: Statement, name: str, shape: tuple[int, ...]) -> None:
        self.names[name] = Handle(self.feed(s.uid, shape).astype("float64"))

    def _states(self, s: Statement, mean: str, var: str, shape: tuple[int, ...]) -> None:
        self.names.update({mean: Handle(np.zeros(shape)), var: Handle(np.ones(shape))})

    def _mark(self, s: Statement, name: str, req: str) -> None:
        handle = self.names[name]
        handle.origin = None if req == "null" else Leaf(handle.memory.shape, req)
        handle.null, handle.constant, handle.vague = req == "null", None, False

    def _call(self, s: Statement, op: str, inputs: Any, outputs: Any, fed: bool) -> None:
        number = self.number(s.uid) if fed else fixed_number(s.uid)
        results = self._results(op, inputs, number)
        self.names.update(zip(outputs, results, strict=True))

    def _out(self, s: Statement, op: str, source_name: str, target: str) -> None:
        self._store(self.names[target], op, source_name)

    def _write(self, s: Statement, name: str, source_name: str) -> None:
        self._store(self.names[name], "copy", source_name)

    def _store(self, target: Handle, op: str, source_name: str) -> None:
        """Writes a call's result; while recording the target takes its place in the graph."""
        self.names[source_name]
        self._refuse_writes(target)
        (result,) = self._results(op, (source_name,), 0)
        if result.memory.shape != target.memory.shape:
            raise UndefinedError("shapes differ")
        target.memory[...] = result.memory
        if self.recording:
            if result.null or result.vague or self._is_broken(result):
                raise UndefinedError("recorded from an array marked 'null'")
            target.constant = result.constant
            target.origin = result.origin or target.origin
            for node in self._new_nodes:
                self._saved[node.number].memory.append((target.memory, target.memory.copy()))

    def _refuse_writes(self, target: Handle) -> None:
        """Raises if a call may not write to an array that is in the graph."""
        if not self.recording:
            return
        if target.null or target.vague or self._is_broken(target):
            raise UndefinedError("marked 'null', or a graph of which a part was used up")
        if self.origin(target) is not None:
            if self.strict:
                raise UndefinedError("MXNet writes, and raises then")
            raise RefusedError
        if self.strict and target.is_constant:
            raise UndefinedError("MXNet refuses to write to constants that took part")

    def _fill(self, s: Statement, name: str) -> None:
        self._refuse_writes(self.names[name])
        self.names[name].memory[...] = self.number(s.uid)

    def _fill_row(self, s: Statement, name: str) -> None:
        self._refuse_writes(self.names[name])
        self.names[name].memory[0] = self.number(s.uid)

    def _write_numpy(self, s: Statement, name: str) -> None:
        if self.strict and self.recording:
            raise UndefinedError("MXNet copies at once, before what was recorded has run")
        memory = self.names[name].memory
        memory[...] = self.feed(s.uid, memory.shape)

    def _add_number(self, s: Statement, name: str) -> None:
        self._refuse_writes(self.names[name])
        memory = self.names[name].memory
        memory += self.number(s.uid)
        _check_size(memory, "value")

    def _add_array(self, s: Statement, name: str, other: str) -> None:
        target, source_ = self.names[name], self.names[other]
        self._refuse_writes(target)
        vague = source_.null or source_.vague or self._is_broken(source_)
        if self.recording and (self.origin(source_) is not None or vague):
            if self.strict or vague:
                raise UndefinedError("MXNet writes, and raises then")
            raise RefusedError
        if target.memory.shape != source_.memory.shape:
            raise UndefinedError("shapes differ")
        if self.strict and self.recording and source_.is_constant:
            raise UndefinedError("MXNet records calls of constants that took part")
        target.memory[...] = target.memory + source_.memory
        _check_size(target.memory, "value")

    def _descend(self, s: Statement, name: str) -> None:
        leaf = self.leaf(name)
        if self.recording:
            self._refuse_writes(self.names[name])
        memory = self.names[name].memory
        memory[...] = memory - 0.1 * leaf.grad
        _check_size(memory, "value")

    _descend_in_place = _descend

    def _zero_gradient(self, s: Statement, name: str) -> None:
        self._refuse_used_gradient(self.leaf(name))
        self.leaf(name).grad[...] = 0

    def _refuse_used_gradient(self, leaf: Leaf) -> None:
        """Gradient arrays that are in the graph themselves, by another handle on them."""
        if self.strict and self.recording:
            raise UndefinedError("each read of grad is a handle of its own")

    def _update(self, s: Statement, name: str) -> None:
        leaf, memory = self.leaf(name), self.names[name].memory
        if self.recording:
            self._refuse_writes(self.names[name])
        key = f"{name}{memory.shape}"
        momentum = self._momentum.get(key, np.zeros(memory.shape))
        momentum = SGD["momentum"] * momentum - SGD["learning_rate"] * leaf.grad
        self._momentum[key] = momentum
        memory += momentum
        _check_size(memory, "value")

    def _gradient(self, s: Statement, name: str, of: str) -> None:
        self.names[name] = Handle(self.leaf(of).grad)

    def _heads(self, heads: Any, gradients: Any) -> tuple[list[Value], list[Value]]:
        handles = [self.names[h] for h in heads]
        values = [self.value(h) for h in handles]
        ones = [
            Value(np.ones(v.numbers.shape) if g is None else self.names[g].memory.copy())
            for v, g in zip(values, gradients, strict=True)
        ]
        if any(v.numbers.shape != g.numbers.shape for v, g in zip(values, ones, strict=True)):
            raise UndefinedError("head gradients of other shapes")
        if any(h.vague for h in handles):
            raise UndefinedError("whether a gradient that is a constant is in the graph")
        strangers = [h for h, v in zip(handles, values, strict=True) if v.origin is None]
        origins = [v.origin if isinstance(v.origin, tuple) else id(v.origin) for v in values]
        if self.strict and len({*origins}) < len(origins):
            raise UndefinedError("of a head that is named twice, MXNet takes the last gradient")
        if strangers:
            if len(heads) > 1 and (self.strict or any(h.null for h in strangers)):
                raise UndefinedError("a head without a marked ancestor among others")
            raise RefusedError
        nodes, _ = self.tape.reached(values)
        if any(n.is_vague or any(b.used_up for b in n.base) for n in nodes):
            raise UndefinedError("which part of a gradient of a gradient is used up")
        if any(n.used_up for n in nodes):
            if any(n.second for n in nodes):
                raise UndefinedError("a gradient of a graph that was used up")
            self._check_leaves(values)
            raise RefusedError
        if self.strict:
            self._check_memory(nodes)
        return values, ones

    def _check_leaves(self, values: list[Value]) -> None:
        """A graph of which a part was used up is refused if nothing else is left of it."""
        stack, seen = [v.origin for v in values], set()
        while stack:
            origin = stack.pop()
            if isinstance(origin, Leaf):
                raise UndefinedError("MXNet differentiates what is left of a graph, or fails")
            if origin is not None and not origin[0].used_up and origin[0].number not in seen:
                seen.add(origin[0].number)
                stack += [v.origin for v in origin[0].inputs]

    def _check_memory(self, nodes: list[Node]) -> None:
        for saved in (self._saved[n.number] for n in nodes):
            if any(not np.array_equal(memory, copy) for memory, copy in saved.memory):
                raise UndefinedError("MXNet sees what was written after the call")
            if any(part.forgotten for c in saved.constants for part in c.all()):
                raise UndefinedError("MXNet forgets constants of a graph that was used up")

    def _backward(self, s: Statement, heads: Any, gradients: Any, retain: bool) -> None:
        values, ones = self._heads(heads, gradients)
        nodes, leaves = self.tape.reached(values)
        results = self.tape.gradients(values, ones)
        for leaf in leaves:
            gradient = results[id(leaf)].numbers
            _check_size(gradient, "gradient")
            leaf.grad[...] = gradient + (leaf.grad if leaf.req == "add" else 0)
            leaf.fresh = True
        if not retain:
            self._use_up(nodes)

    def _use_up(self, nodes: list[Node]) -> None:
        for node in nodes:
            node.used_up = True
            for base in node.base:
                base.is_vague = True
            for constant in self._saved[node.number].constants if not node.second else ():
                for part in constant.all():
                    part.forgotten = True

    def _grad(
        self, s: Statement, heads: Any, gradients: Any, variables: Any, outputs: Any, kept: str
    ) -> None:
        handles = [self.names[v] for v in variables]
        values, ones = self._heads(heads, gradients)
        if len({id(h.origin) for h in handles}) < len(handles):
            raise UndefinedError("a variable twice")
        nodes, leaves = self.tape.reached(values)
        reached = {id(leaf) for leaf in leaves}
        if any(not isinstance(h.origin, Leaf) or id(h.origin) not in reached for h in handles):
            raise RefusedError
        create = kept == "create_graph"
        if create and (self.strict or any(n.op == "batch_norm" for n in nodes)):
            raise UndefinedError("not differentiated twice")
        results = self.tape.gradients(values, ones, create, [h.origin for h in handles])
        for h, name in zip(handles, outputs, strict=True):
            v = results[id(h.origin)]
            _check_size(v.numbers, "gradient")
            self.names[name] = Handle(v.numbers.copy(), v.origin)
            self.names[name].vague = create and v.origin is None
            for node in self.tape.reached([v])[0] if create else ():
                if node.second:
                    node.base = nodes
        if not kept:
            self._use_up(nodes)

    def _read(self, s: Statement, name: str) -> np.ndarray:
        return self.names[name].memory.copy()

    def _read_gradient(self, s: Statement, name: str) -> np.ndarray:
        return self.leaf(name).grad.copy()

    def _fresh(self, s: Statement, name: str) -> bool:
        return self.leaf(name).fresh

    def _wait(self, s: Statement, name: str) -> None:
        self.names[name]

    def _wait_for_all(self, s: Statement) -> None:
        pass

    _collect = _wait_for_all

    def _delete(self, s: Statement, name: str) -> None:
        del self.names[name]

    def _wrong(self, s: Statement, name: str) -> None:
        self.names[name]
        raise RefusedError


def _update_states(x: Value, mean: Handle, var: Handle) -> None:
    """BatchNorm's statistics, which change in its backward pass."""
    m = STATES["momentum"]
    mean.memory[...] = m * mean.memory + (1 - m) * x.numbers.mean(0)
    var.memory[...] = m * var.memory + (1 - m) * x.numbers.var(0)


def _check_size(numbers: np.ndarray, what: str) -> None:
    if numbers.ndim > 4 or not np.all(np.abs(numbers) < LIMITS[what]):
        raise UndefinedError(f"a {what} is too large")
