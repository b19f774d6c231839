"""Why functions were compiled: what was new in the arguments of each trace.

How a program differs from the nearest other one: why a graph did not find one that was there.

What a program tells about itself: costs, memory, text, and why it was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from ..display import Fold, Line, Part, Table, View, Viewed, many, scaled
from ..errors import MXNetError, explain
from ..lowering import Graph
from ._analysis import Analysis
from ._jit import MAX_TRACES, InstrumentedJit, TraceRecord
from ._node_cost import Cost, cost_of

if TYPE_CHECKING:
    from ._program import Program


_MAX_CHANGES = 4

#: Says what stands at a path in the arguments: ``args['data']``.
ArgumentNamer = Callable[[Sequence[Any]], str]


@dataclass(frozen=True, slots=True)
class Trace:
    """One compilation: of which function, what it took, and why it was needed. Or the loading of
    what an earlier process has compiled and kept.

    changes
        the fields of the signature that differ from the nearest earlier one, such as
        ``args['data']: shape (32, 10) -> (64, 10)``; empty for a function's first trace.
    why
        the same in words.
    loaded
        whether the program was loaded.
    """

    function: str
    seconds: float
    changes: tuple[str, ...]
    why: str
    loaded: bool = False


class History(Viewed, Sequence[Trace]):
    """The compilations of a program, function by function; printed, a table of them."""

    def __init__(self, traces: Sequence[Trace], origin: str = "") -> None:
        self.traces = tuple(traces)
        self.origin = origin

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, index: Any) -> Any:
        return self.traces[index]

    def parts(self) -> list[Part]:
        """The table, and where the program comes from."""
        rows = [[t.function, f"{t.seconds:.2f}", t.why] for t in self.traces]
        parts: list[Part] = [Line(self.origin)] if self.origin else []
        return [*parts, Table(["function", "seconds", "compiled because"], rows, {1})]

    def _as_view(self) -> View:
        return View(many(len(self.traces), "compilation"), self.parts())

    def __repr__(self) -> str:
        return self._as_view().text()


def explain_traces(
    name: str, trace_log: Sequence[TraceRecord], namer: ArgumentNamer
) -> list[Trace]:
    """Each of a function's traces, compared with the nearest earlier one."""
    found = []
    fields = [_fields(one.avals, namer) for one in trace_log]
    for i, one in enumerate(trace_log):
        earlier = [argument_differences(old, fields[i]) for old in fields[:i]]
        if not earlier:
            why = "it was called, or compiled, first"
            found.append(_trace(name, one, (), why))
            continue
        changes = tuple(min(reversed(earlier), key=len))
        why = "; ".join(changes[:_MAX_CHANGES])
        if len(changes) > _MAX_CHANGES:
            why += f"; ... {len(changes) - _MAX_CHANGES} more"
        if not changes:
            why = "the same arguments again: what was compiled had been dropped"
        found.append(_trace(name, one, changes, why))
    return found


def _trace(name: str, one: TraceRecord, changes: tuple[str, ...], why: str) -> Trace:
    why += " (loaded: an earlier process had kept it)" if one.loaded else ""
    return Trace(name, one.seconds, changes, why, one.loaded)


ArgumentFacts = tuple[tuple[int, ...], str, str] | None


def _fields(avals: tuple[Any, ...], namer: ArgumentNamer) -> dict[str, ArgumentFacts]:
    """Shape, dtype and devices of every argument, by name; None for those that are left out."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(avals, is_leaf=lambda x: x is None)
    return {
        namer(path): None if x is None else (tuple(x.shape), str(x.dtype), _devices(x))
        for path, x in leaves
    }


def _devices(aval: Any) -> str:
    if aval.sharding is None:
        return "host"
    devices = sorted(aval.sharding.device_set, key=lambda d: d.id)
    names = ", ".join(f"{d.platform}:{d.id}" for d in devices[:8])
    return names + (f", ... {len(devices) - 8} more" if len(devices) > 8 else "")


def argument_differences(
    old: Mapping[str, ArgumentFacts], new: Mapping[str, ArgumentFacts]
) -> list[str]:
    """What differs between two signatures, field by field."""
    found = []
    for name in dict.fromkeys((*new, *old)):
        a, b = old.get(name), new.get(name)
        if a is None or b is None:
            if a is not b:
                found.append(f"{name}: {_words(a)} -> {_words(b)}")
            continue
        changed = [
            f"{what} {x} -> {y}"
            for what, x, y in zip(("shape", "dtype", "device"), a, b, strict=True)
            if x != y
        ]
        if changed:
            found.append(f"{name}: {', '.join(changed)}")
    return found


def _words(field: ArgumentFacts) -> str:
    return "none" if field is None else f"{field[1]} {field[0]}"


_MAX_LISTED_CHANGES = 4


def nearest_difference(program: Program, others: Iterable[Program]) -> str:
    """In words, the few differences to the nearest of ``others``; empty if none is near."""
    found = [program_differences(other, program) for other in others if other is not program]
    near = [changes for changes in found if changes and len(changes) <= _MAX_LISTED_CHANGES]
    if not near:
        return ""
    return "not shared with the nearest other program: " + "; ".join(min(near, key=len))


def program_differences(old: Program, new: Program) -> list[str] | None:
    """What differs between two programs of graphs with the same connections; None for others."""
    a, b = old.graph, new.graph
    if len(a.steps) != len(b.steps) or (a.arg_values, a.heads) != (b.arg_values, b.heads):
        return None
    changes = []
    for s, t in zip(a.steps, b.steps, strict=True):
        where = f"node {t.node.name!r} ({t.op.name})"
        if s.op is not t.op:
            changes.append(f"{where}: operator {s.op.name} -> {t.op.name}")
        elif s.inputs != t.inputs:
            changes.append(f"{where}: other inputs")
        elif s.params.key != t.params.key:
            changes += [
                f"{where}: {name} {s.params.get(name)!r} -> {t.params.get(name)!r}"
                for name in dict.fromkeys((*t.params, *s.params))
                if s.params.get(name) != t.params.get(name)
            ]
    changes += _requests(old, new)
    if old.options != new.options:
        changes.append(f"options {old.options} -> {new.options}")
    return changes


def _requests(old: Program, new: Program) -> list[str]:
    def request(program: Program, i: int) -> Any:
        if i not in program.argnums:
            return "null"
        return "add" if program.accumulate[program.argnums.index(i)] else "write"

    changed = [
        f"{name!r} {request(old, i)} -> {request(new, i)}"
        for i, name in enumerate(new.graph.arg_names)
        if request(old, i) != request(new, i)
    ]
    if len(changed) > _MAX_LISTED_CHANGES:
        changed[2:] = [f"... {len(changed) - 2} more"]
    return [f"grad_req of {', '.join(changed)}"] if changed else []


#: What the arguments of the jitted functions are.
_STEP = ("donated", "args", "aux", "key", "heads", "old", "keys", "numbers")
_PARAMETERS = {"backward": ("residuals", "heads", "old"), "step": _STEP}
_DEFAULT = ("args", "aux", "key", "heads", "old")
_COMPLETENESS = ("infer", "infer_train", "forward", "forward_train", "forward_backward",
                 "forward_backward_train", "step")  # fmt: skip


class Explaining(Viewed):
    """Questions to a program. None of them runs it."""

    graph: Graph
    argnums: tuple[int, ...]
    accumulate: tuple[bool, ...]
    variants: dict[Any, Any]

    if TYPE_CHECKING:

        @property
        def functions(self) -> tuple[InstrumentedJit, ...]: ...

    @property
    def _all_functions(self) -> list[InstrumentedJit]:
        """Those of this program, and those of its other forms: fused steps, mapped programs."""
        mapped = (v for v in self.variants.values() if not isinstance(v, InstrumentedJit))
        return [*self.functions, *(f for variant in mapped for f in variant.functions)]

    def _compiled(self, function: str | None, where: str) -> InstrumentedJit | None:
        """The function of a name, or the most complete one, of those that have been compiled."""
        there = {f.name: f for f in reversed(self._all_functions) if f.avals is not None}
        if function is None:
            return next((there[n] for n in reversed(_COMPLETENESS) if n in there), None)
        if function not in there:
            raise MXNetError(
                explain(
                    f"program.{where}",
                    f"no function {function!r} has been compiled",
                    hint=f"one of: {', '.join(sorted(there))}" if there else "run it first",
                )
            )
        return there[function]

    def _required(self, function: str | None, where: str) -> InstrumentedJit:
        found = self._compiled(function, where)
        if found is None:
            hint = "run the executor, or call executor.compile()"
            raise MXNetError(explain(f"program.{where}", "nothing has been compiled", hint=hint))
        return found

    def analyse(self) -> Analysis:
        """What XLA says of the most complete function that has been compiled so far."""
        found = self._compiled(None, "analyse")
        if found is None or found.avals is None:
            return Analysis.unknown()
        return Analysis.of(found.name, found.compile(*found.avals))

    def memory(self) -> dict[str, int] | None:
        """Bytes of arguments, outputs and temporaries, or None where the backend has no answer."""
        return self.analyse().memory

    def flops(self) -> float | None:
        """Floating-point operations of one run as XLA counts them, or None where it has no answer.

        On CPUs XLA leaves out the products that it hands to a library; :meth:`cost` has them.
        """
        return self.analyse().flops

    def hlo(self, function: str | None = None, optimized: bool = True) -> str:
        """The text of a compiled function: XLA's HLO, with node names as ``op_name``.

        function
            ``infer``, ``infer_train``, ``forward_train``, ``backward``,
            ``forward_backward_train``, ``step``, ...; by default the most complete one that has
            been compiled.
        optimized
            after XLA's passes, as it runs; otherwise before them, in StableHLO.

        Raises MXNetError if it has not been compiled yet.
        """
        found = self._required(function, "hlo")
        assert found.avals is not None
        if optimized:
            return found.compile(*found.avals).as_text() or ""
        return found.lowered(*found.avals).as_text()

    def cost(self, function: str | None = None) -> Cost:
        """Operations and bytes of every node, forwards and backwards; printed, a table.

        They are counted on the traced program, not by XLA, which tells totals only: two operations
        for each product of a dot or a convolution, one for each element that another operation
        computes, none for what only moves elements. Bytes are those that every operation reads and
        writes by itself, so that a fused program moves fewer. Names are those of the graph after
        its passes, of the executor that was bound first; ``(between nodes)`` are sums of gradients
        and updates. Of a program that is mapped over devices it is the cost on each of them.

        Raises MXNetError if the function has not been compiled yet.
        """
        return self._cost(function, self.graph)

    def _cost(self, function: str | None, graph: Graph) -> Cost:
        """The cost under the names of an equal graph."""
        found = self._required(function, "cost")
        assert found.avals is not None
        devices = getattr(found, "devices", ())
        title = f"{found.name} on each of {len(devices)} devices" if devices else found.name
        names = [(s.node.name or s.op.name, s.op.name) for s in self.graph.steps]
        cost = cost_of(title, found.jaxpr(*found.avals), dict(names))
        if graph is not self.graph:
            own = {n: s.node.name for (n, _), s in zip(names, graph.steps, strict=True)}
            for node in cost:
                node.name = own.get(node.name, node.name)
        return cost

    def explain(self) -> History:
        """Why each function was compiled: which fields of its arguments' signature were new.

        Each of the latest traces of a function is compared with the nearest earlier one, as in
        ``args['data']: shape (32, 10) -> (64, 10)``. Names are those of the executor that was bound
        first; executors of equal graphs share the program.
        """
        found = []
        for function in self._all_functions:
            devices = getattr(function, "devices", ())
            name = function.name + (f" on {len(devices)} devices" if devices else "")
            found += explain_traces(name, tuple(function.trace_log), self._namer(function.name))
        return History(found, self._origin())

    def _origin(self) -> str:
        from ._program_cache import (
            cached_programs,  # which holds programs, and so stands above this
        )

        program: Program = self  # type: ignore[assignment]
        return nearest_difference(program, cached_programs())

    def _namer(self, function: str) -> ArgumentNamer:
        parameters = _PARAMETERS.get(function, _DEFAULT)
        arguments = self.graph.arg_names
        names = {
            "args": arguments,
            "aux": self.graph.aux_names,
            "heads": self.graph.output_names,
            "old": [
                arguments[i]
                for i, accumulate in zip(self.argnums, self.accumulate, strict=True)
                if accumulate
            ],
        }

        def name(path: Sequence[Any]) -> str:
            first, rest = path[0].idx, path[1:]
            what = parameters[first] if first < len(parameters) else f"argument {first}"
            known = names.get(what, ())
            if len(rest) == 1 and rest[0].idx < len(known):
                return f"{what}[{known[rest[0].idx]!r}]"
            return what + "".join(str(key) for key in rest)

        return name

    def _as_view(self) -> View:
        functions = [f for f in self._all_functions if f.traces]
        traces, seconds = (sum(getattr(f, w) for f in functions) for w in ("traces", "seconds"))
        title = f"Program of {many(len(self.graph.steps), 'operator')}: "
        return View(f"{title}{many(traces, 'compilation')} in {seconds:.2f} s", self.parts())

    def parts(self) -> list[Part]:
        """What views of this program consist of."""
        analysis = self.analyse()
        if analysis.function is None:
            return [Line("nothing has been compiled yet")]
        memory = analysis.memory or {}
        row = [
            analysis.function, scaled(analysis.flops, "FLOPs"),
            scaled(analysis.bytes_moved, "B", 1024), scaled(memory.get("peak"), "B", 1024),
            scaled(memory.get("temporaries"), "B", 1024),
        ]  # fmt: skip
        header = ["function", "FLOPs by XLA", "bytes moved", "peak memory", "temporaries"]
        why = Fold("compilations", self.explain().parts())
        return [Table(header, [row], {1, 2, 3, 4}), why]
