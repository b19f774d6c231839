"""Inference of shapes and element types: deduced forward and backward until nothing changes.

Operators state how inputs follow from each other; output shapes come from the function itself under
``jax.eval_shape``, cached, unless the operator states them. An unknown dimension is replaced by two
different sizes: output dimensions that stay equal are known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import jax

from .._support.annotations import Raw
from ..errors import MXNetError, ShapeError, explain
from ..jax_internals import in_x64
from ..jaxprs import ForAnySizes, SymbolicSizes, is_symbolic, size_kinds
from ..ops import OpDef, Params
from ..ops.schema.attrs import Shape, dtype_name, make_attr
from ..ops.schema.inference import (
    Facts,
    ShapeFacts,
    TypeFacts,
    is_fully_known,
    merge_shapes,
    shape_text,
)
from ..ops.schema.traits import CUTS_AXES
from ..ops.tracing import is_known
from ._graph import Graph, GraphStep, memoize, signature_of

#: Pairs of sizes put in place of unknown dimensions: divisible by the usual divisors of sizes; and
#: small ones, for operators that refuse sizes above a known one.
_PROBES = ((5040, 10080), (1, 2))
_OUTPUTS: dict[Hashable, Any] = {}
#: The same, and the shapes of graphs, as functions of sizes, by all that they depend on but sizes.
_GENERAL: dict[Hashable, ForAnySizes[Callable[..., Any]]] = {}
_GENERAL_GRAPHS: dict[Hashable, ForAnySizes[Callable[..., Any]]] = {}
_OUTPUTS_LIMIT = 16384
#: Results by the graph's signature and known facts of its variables: a graph composed again is
#: not inferred again.
_RESULTS: dict[Hashable, InferenceResult] = {}
_RESULTS_LIMIT = 256
#: Types for which an operator's own rule of output shapes is taken: functions may refuse others.
_FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
SHAPE_TEXT = make_attr("__shape__", Shape, ())

#: Facts of arguments, outputs and auxiliary states: shapes or dtype names.
FactLists = tuple[list[Any], list[Any], list[Any]]


@dataclass(frozen=True, slots=True)
class InferenceResult:
    """Shape (or None) and dtype name (or None) of every argument, output and auxiliary state, in
    the graph's order; ``values`` are the shapes of all values."""

    arg_shapes: tuple[Shape | None, ...]
    out_shapes: tuple[Shape | None, ...]
    aux_shapes: tuple[Shape | None, ...]
    arg_dtypes: tuple[str | None, ...]
    out_dtypes: tuple[str | None, ...]
    aux_dtypes: tuple[str | None, ...]
    values: tuple[Shape | None, ...]

    @property
    def complete(self) -> bool:
        return all(map(is_fully_known, (*self.arg_shapes, *self.out_shapes, *self.aux_shapes)))


def infer(
    graph: Graph,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dtypes: Mapping[str, str] | None = None,
    bound: bool = False,
    default_dtype: str | None = None,
) -> InferenceResult:
    """Infers shapes and dtypes from those given by variable name (others are ignored). An empty
    dtype leaves a variable open that declares one. ``bound``: they come from arrays, which messages
    then name. ``default_dtype``: the dtype of variables that are left open. A contradiction raises
    :class:`ShapeError` or :class:`DTypeError`."""
    given_shapes = {n: tuple(max(int(d), 0) for d in s) for n, s in (shapes or {}).items()}
    key = (
        tuple(sorted(given_shapes.items())),
        (*sorted((dtypes or {}).items()), *((default_dtype,) if default_dtype else ())),
    )
    memoized = graph.memo.get(key)
    if memoized is not None:
        return memoized
    values, types = _initial_shapes(graph, given_shapes), _initial_dtypes(graph, dtypes or {})
    shared_key = None
    # Results of a user's Python may differ between equal graphs.
    if not (graph.has_effects or any(step.node.subgraphs for step in graph.steps)):
        shared_key = (signature_of(graph), tuple(values), tuple(types), default_dtype)
    inferred = None if shared_key is None else _RESULTS.get(shared_key)
    if inferred is None:
        known = _KnownFacts(given_shapes, dtypes or {}, bound, shared_key is not None)
        inferred = _inferred(graph, values, types, known, default_dtype)
        if shared_key is not None:
            memoize(_RESULTS, shared_key, inferred, _RESULTS_LIMIT)
    names = (*graph.arg_names, *graph.aux_names)
    all_dtypes = (*inferred.arg_dtypes, *inferred.aux_dtypes, *inferred.out_dtypes)
    if inferred.complete and None not in all_dtypes and len(set(names)) == len(names):
        # Binding follows, with arrays of exactly these shapes and types.
        shaped = zip(names, (*inferred.arg_shapes, *inferred.aux_shapes), strict=True)
        typed = zip(names, (*inferred.arg_dtypes, *inferred.aux_dtypes), strict=True)
        memoize(graph.memo, (tuple(sorted(shaped)), tuple(sorted(typed))), inferred)
    return memoize(graph.memo, key, inferred)


class _KnownFacts(NamedTuple):
    shapes: Mapping[str, Shape]
    dtypes: Mapping[str, str]
    bound: bool
    for_any_sizes: bool


def _inferred(
    graph: Graph,
    values: list[Shape | None],
    types: list[str | None],
    known: _KnownFacts,
    default_dtype: str | None,
) -> InferenceResult:
    key = tuple(types), default_dtype
    settled = graph.memo.get(key)
    if settled is None:
        types = _settle(graph, types, _TypeVisitor(), known.dtypes, known.bound)
        if default_dtype is not None and any(types[i] is None for _, i in graph.variables):
            for _, i in graph.variables:
                types[i] = types[i] or default_dtype
            types = _settle(graph, types, _TypeVisitor(), known.dtypes, True)
        settled = memoize(graph.memo, key, types)
    types = settled
    values = _settled_shapes(graph, values, types, known)
    return InferenceResult(
        arg_shapes=tuple(values[i] for i in graph.arg_values),
        out_shapes=tuple(values[i] for i in graph.heads),
        aux_shapes=tuple(values[i] for i in graph.aux_values),
        arg_dtypes=tuple(types[i] for i in graph.arg_values),
        out_dtypes=tuple(types[i] for i in graph.heads),
        aux_dtypes=tuple(types[i] for i in graph.aux_values),
        values=tuple(values),
    )


def _settled_shapes(
    graph: Graph, values: list[Any], types: Sequence[str | None], known: _KnownFacts
) -> list[Any]:
    def settle(values: list[Any]) -> list[Any]:
        return _settle(graph, values, _ShapeVisitor(types), known.shapes, known.bound)

    sizes = tuple([size for shape in values if shape is not None for size in shape])
    if 0 in sizes or not known.for_any_sizes:
        return settle(values)
    ranks = tuple([shape if shape is None else len(shape) for shape in values])

    def make(symbolic: SymbolicSizes) -> Callable[..., Any]:
        rest = iter(symbolic.sizes)
        settled = settle([r if r is None else (*islice(rest, r),) for r in ranks])
        if not all(map(is_fully_known, settled)):
            raise NotImplementedError("shapes that do not follow from the given ones")
        return symbolic.function(settled)

    kind = signature_of(graph), ranks, size_kinds(sizes), tuple(types)
    table = _GENERAL_GRAPHS
    general = table.get(kind) or memoize(table, kind, ForAnySizes(), _RESULTS_LIMIT)
    return _at_any_sizes(general, sizes, make, lambda: settle(values))


def _at_any_sizes(
    general: ForAnySizes[Callable[..., Any]],
    sizes: tuple[int, ...],
    make: Callable[[SymbolicSizes], Any],
    compute: Callable[[], Any],
) -> Any:
    """Calls what ``make`` has made for symbols with their values; ``compute`` for first sizes."""
    known = general.find(sizes, make)
    if known is not None:
        return known[0](*known[1])
    results = compute()
    general.note(sizes)
    return results


def reported_output_shapes(graph: Graph, inferred: InferenceResult) -> list[Shape | None]:
    """Returns the output shapes, with None for shapes that MXNet knows only at run time."""
    dynamic = graph.dynamic_values
    shapes = zip(graph.heads, inferred.out_shapes, strict=True)
    return [None if i in dynamic else shape for i, shape in shapes]


def graph_types(graph: Graph, dtypes: Mapping[str, str]) -> FactLists:
    types = value_dtypes(graph, dtypes)
    arguments, outputs, states = (
        [types[i] for i in ids] for ids in (graph.arg_values, graph.heads, graph.aux_values)
    )
    return arguments, outputs, states


def resolve_open_shapes(graph: Graph, values: Sequence[Shape | None]) -> dict[int, Params]:
    """Completes the attributes, by step, of operators with an open shape, such as (0, 200)."""
    resolved: dict[int, Params] = {}
    for step in graph.steps:
        op, p = step.op, step.params
        shape = values[step.first_output]
        if op.open_shape(p) is not None and is_fully_known(shape):
            resolved[step.index] = op.with_shape(p, shape)
    return resolved


def _initial_shapes(graph: Graph, given_shapes: Mapping[str, Shape]) -> list[Shape | None]:
    values: list[Shape | None] = [None] * graph.n_values
    for node, i in graph.variables:
        values[i] = given_shapes.get(node.name)
        text = node.attrs.get("__shape__")
        if text:
            declared = tuple(max(d, 0) for d in SHAPE_TEXT.read(node.name, text)) or None
            try:
                values[i] = merge_shapes(values[i], declared)
            except ValueError:
                # The caller's shape wins over the variable's declaration.
                continue
    return values


def value_dtypes(graph: Graph, dtypes: Mapping[str, str]) -> list[str | None]:
    return _settle(graph, _initial_dtypes(graph, dtypes), _TypeVisitor(), dtypes, False)


def _initial_dtypes(graph: Graph, dtypes: Mapping[str, str]) -> list[str | None]:
    values: list[str | None] = [None] * graph.n_values
    for node, i in graph.variables:
        declared = node.attrs.get("__dtype__", "")
        if node.name in dtypes:
            values[i] = dtypes[node.name] or None
        elif declared not in ("", "None", "-1"):
            values[i] = dtype_name(int(declared) if declared.isdigit() else declared)
    return values


def _settle(
    graph: Graph,
    values: list[Raw],
    visit: _TypeVisitor,
    given_facts: Mapping[str, Any],
    bound: bool,
) -> list[Raw]:
    todo = list(graph.steps)
    is_forward = True
    # Repeated layers, such as the steps of a recurrent network, are visited once.
    visited: dict[Hashable, tuple[Facts, bool]] = {}
    while todo:
        changed = False
        unsettled = []
        for step in todo if is_forward else reversed(todo):
            last = step.first_output + step.n_outputs
            key = (
                step.op,
                step.params.key,
                tuple([values[i] for i in step.inputs]),
                tuple(values[step.first_output : last]),
                visit.context(step),
            )
            try:
                if key not in visited or step.node.subgraphs:
                    visited[key] = visit(step, values)
                facts, settled = visited[key]
            except MXNetError as error:
                _fail(graph, step, error, given_facts, bound)
            except Exception as error:
                inputs = [values[i] for i in step.inputs]
                problem = f"its inputs do not fit: {_describe(step, inputs)}"
                because = str(error).strip().partition("\n")[0]
                _fail(graph, step, ShapeError(problem, because=because), given_facts, bound)
            for k, name in enumerate(step.names):
                changed |= _store(values, step.inputs[k], facts[name])
            for k in range(step.n_outputs):
                changed |= _store(values, step.first_output + k, facts[f"out{k}"])
            if not settled:
                unsettled.append(step)
        if not changed and not is_forward:
            break
        todo = unsettled if is_forward else unsettled[::-1]
        is_forward = not is_forward
    return values


def _store(values: list[Raw], i: int, fact: Any) -> bool:
    if fact == values[i]:
        return False
    values[i] = fact
    return True


def _facts(kind: type[Facts], step: GraphStep, values: list[Raw]) -> Any:
    facts = {name: values[i] for name, i in zip(step.names, step.inputs, strict=True)}
    for k in range(step.n_outputs):
        facts[f"out{k}"] = values[step.first_output + k]
    return kind(step.op.name, facts)


class _TypeVisitor:
    def context(self, step: GraphStep) -> Hashable:
        return None

    def __call__(self, step: GraphStep, values: list[Raw]) -> tuple[Facts, bool]:
        facts = _facts(TypeFacts, step, values)
        step.op.infer_type(facts, step.params)
        return facts, None not in facts.values()


class _ShapeVisitor(_TypeVisitor):
    def __init__(self, types: Sequence[str | None]) -> None:
        self.types = types

    def context(self, step: GraphStep) -> Hashable:
        return tuple([self.types[i] for i in step.inputs])

    def __call__(self, step: GraphStep, values: list[Raw]) -> tuple[Facts, bool]:
        op, p = step.op, step.params
        facts = _facts(ShapeFacts, step, values)
        if op.infer_shape is not None:
            op.infer_shape(facts, p)
        inputs = tuple(facts[name] for name in step.names)
        open_shape = op.open_shape(p)
        if open_shape is not None:
            facts.set("out0", open_shape or None)
            return facts, is_fully_known(facts["out0"])
        if None in inputs:
            return facts, False
        dtypes = tuple(self.types[i] or "float32" for i in step.inputs)
        if all(0 not in shape for shape in inputs):
            for k, shape in enumerate(output_shapes(op, p, inputs, dtypes)[: step.n_outputs]):
                name = f"out{k}"
                if facts[name] is None:
                    facts[name] = shape
                elif facts[name] != shape:
                    facts.set(name, shape, because=f"that is what {_describe(step, inputs)} gives")
            return facts, True
        for k, shape in enumerate(_partial_output_shapes(op, p, inputs, dtypes)):
            if k < step.n_outputs:
                facts.set(f"out{k}", shape)
        return facts, False


def output_shapes(
    op: OpDef, p: Params, shapes: tuple[Shape, ...], dtypes: tuple[str, ...]
) -> tuple[Shape, ...]:
    if op.output_shapes is not None and all(dtype in _FLOATING for dtype in dtypes):
        stated = op.output_shapes(p, shapes)
        if stated is not None:
            return stated
    return tuple(r.shape for r in _results(op, p, shapes, dtypes))


def call_results(
    op: OpDef, p: Params, inputs: Sequence[tuple[Shape, Any]]
) -> list[tuple[Shape, Any]]:
    """Returns shapes and dtypes of outputs, then of new states. An error is the operator's own."""
    shapes, dtypes = tuple([s for s, _ in inputs]), tuple([d.name for _, d in inputs])
    if op.output_shapes is not None and all(d in _FLOATING for d in dtypes):
        stated = op.output_shapes(p, shapes) if all(0 not in s for s in shapes) else None
        if stated is not None:
            facts = TypeFacts(op.name, dict(zip(op.inputs(p), dtypes, strict=True)))
            facts.update({f"out{k}": None for k in range(len(stated))})
            op.infer_type(facts, p)
            types = [facts[f"out{k}"] for k in range(len(stated))]
            if None not in types:
                return [(s, jax.numpy.dtype(t)) for s, t in zip(stated, types, strict=True)]
    return [(r.shape, r.dtype) for r in _results(op, p, shapes, dtypes)]


def _results(op: OpDef, p: Params, shapes: tuple[Shape, ...], dtypes: tuple[str, ...]) -> Any:
    key = (op, p.key, shapes, dtypes)
    cached = _OUTPUTS.get(key)
    if cached is not None:
        return cached
    sizes = tuple([size for shape in shapes for size in shape])
    if is_symbolic(sizes):
        return _traced_results(op, p, shapes, dtypes)
    kind = op, p.key, tuple(map(len, shapes)), size_kinds(sizes), dtypes

    def compute() -> Any:
        return memoize(_OUTPUTS, key, _traced_results(op, p, shapes, dtypes), _OUTPUTS_LIMIT)

    def make(symbolic: SymbolicSizes) -> Callable[..., Any]:
        rest = iter(symbolic.sizes)
        arrays = tuple([(*islice(rest, len(shape)),) for shape in shapes])
        results = _traced_results(op, p, arrays, dtypes)
        at, types = symbolic.function([r.shape for r in results]), [r.dtype for r in results]
        return lambda *values: list(map(jax.ShapeDtypeStruct, at(*values), types))

    general = _GENERAL.get(kind) or memoize(_GENERAL, kind, ForAnySizes(), _OUTPUTS_LIMIT)
    return _at_any_sizes(general, sizes, make, compute)


@in_x64
def _traced_results(op: OpDef, p: Params, shapes: Any, dtypes: tuple[str, ...]) -> Any:
    arrays = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
    prng = jax.eval_shape(lambda: jax.random.key(0)) if op.key_name else None
    return jax.eval_shape(lambda k, *xs: op.apply(p, xs, key=k, train=True), prng, *arrays)


def _partial_output_shapes(
    op: OpDef, p: Params, shapes: tuple[Shape, ...], dtypes: tuple[str, ...]
) -> tuple[Shape, ...]:
    for filled in (_filled, _filled_in_turn):
        for sizes in _PROBES:
            try:
                probed = [output_shapes(op, p, filled(op, p, shapes, n), dtypes) for n in sizes]
            except Exception:  # any failure of a probe means: not known by it
                continue
            partial = tuple(
                tuple(a if a == b else 0 for a, b in zip(one, other, strict=True))
                for one, other in zip(*probed, strict=True)
                if len(one) == len(other)
            )
            if CUTS_AXES not in op.traits:
                return partial
            # From an axis of unknown length there may be fewer entries to cut.
            return tuple(tuple(d and n for d, n in zip(shapes[0], s, strict=True)) for s in partial)
    return ()


def _filled(op: OpDef, p: Params, shapes: tuple[Shape, ...], size: int) -> tuple[Shape, ...]:
    return tuple(tuple(d or size for d in s) for s in shapes)


def _filled_in_turn(
    op: OpDef, p: Params, shapes: tuple[Shape, ...], size: int
) -> tuple[Shape, ...]:
    names = op.inputs(p)
    facts = ShapeFacts(op.name, dict(zip(names, shapes, strict=True)))
    for name in names:
        facts[name] = tuple(d or size for d in facts[name])
        if op.infer_shape is not None:
            op.infer_shape(facts, p)
    return tuple(facts[name] for name in names)


def _describe(step: GraphStep, shapes: Sequence[Any]) -> str:
    pairs = zip(step.names, shapes, strict=True)
    return ", ".join(f"{n} {shape_text(s) if isinstance(s, tuple) else s}" for n, s in pairs)


def _fail(
    graph: Graph, step: GraphStep, error: Exception, given_facts: Mapping[str, Any], bound: bool
) -> NoReturn:
    problem, because, name = (*error.args, None, None)[:3]
    given_by = hint = None
    if name in step.names:
        child, _ = step.node.inputs[step.names.index(name)]
        expected = str(problem).rpartition("expected ")[2]
        if child.op is None and bound:
            kind = "aux_states" if child.name in graph.aux_names else "args"
            given_by = f"{kind}[{child.name!r}]"
            hint = f"an array of {expected}"
        elif child.op is None:
            if child.name in given_facts:
                given_by = f"argument {child.name!r}"
            hint = f"give {child.name!r} as {expected}, or leave it out to have it inferred"
            if "?" in expected:
                hint = f"another shape of {child.name!r}"
    raise type(error)(
        explain(
            f"node {step.node.name!r} ({step.op.name})",
            str(problem).removeprefix(f"{step.op.name}: "),
            because=because,
            given_by=given_by,
            hint=hint,
        )
    ) from error.__cause__


# -- from arrays, whose sizes may be symbolic ------------------------------------------------------

#: Large primes, which no other size of a network is a multiple of.
_PRIMES = (1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081, 1_000_099, 1_000_117, 1_000_121)


class StandInSizes:
    """Primes for symbolic sizes: multiples of a prime in results are multiples of the size."""

    def __init__(self, sizes: Iterable[Any]) -> None:
        distinct = dict.fromkeys(size for size in sizes if not is_known(size))
        self._number_of = dict(zip(distinct, _PRIMES, strict=False))

    def numbers(self, shape: Iterable[Any]) -> Shape:
        return tuple(s if is_known(s) else self._number_of.get(s, 0) for s in shape)

    def symbolic(self, inferred: InferenceResult) -> InferenceResult:
        shapes = {
            f.name: tuple(s if s is None else tuple(map(self._size, s)) for s in value)
            for f in fields(inferred)
            if not f.name.endswith("dtypes") and (value := getattr(inferred, f.name))
        }
        return replace(inferred, **shapes)

    def _size(self, number: int) -> Any:
        for size, prime in self._number_of.items():
            if number and number % prime == 0:
                return number // prime * size
        return number


def resolved_params(
    graph: Graph, args: Iterable[object], aux: Iterable[object]
) -> Mapping[int, Params]:
    if not graph.has_open_shapes:
        return {}
    return resolve_open_shapes(graph, inferred_from(graph, args, aux).values)


def inferred_from(graph: Graph, args: Iterable[Any], aux: Iterable[Any]) -> InferenceResult:
    arrays = dict(zip(graph.arg_names, args, strict=True))
    arrays.update(zip(graph.aux_names, aux, strict=True))
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if all(is_known(*shape) for shape in shapes.values()):
        return infer(graph, shapes)
    stand_ins = StandInSizes(size for shape in shapes.values() for size in shape)
    inferred = infer(graph, {name: stand_ins.numbers(shape) for name, shape in shapes.items()})
    return stand_ins.symbolic(inferred)
