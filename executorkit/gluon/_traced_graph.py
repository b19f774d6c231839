"""The graph of a block: traced once with symbols, and run on arrays; nested inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import Any, NamedTuple

from .. import symbol
from .._support.shape_semantics import numpy_arrays
from ..context import Context
from ..errors import ArgumentValueError
from ..executor import CachedOp
from ..ndarray import NDArray
from ..symbol import Group, Symbol, Variable
from ._parameter import Parameter

#: The structure of one array, of None, of a symbol with n outputs (n), or of a list of these.
Structure = int | list[Any]
_LEAF, _NONE = 0, -1
_DATA, _CONTEXT = attrgetter("_data"), attrgetter("context")


def flatten(values: Any, kind: str) -> tuple[list[Any], Structure]:
    """Returns the leaves and structure of nested lists, or raises ValueError naming ``kind``."""
    if isinstance(values, NDArray):
        return [values], _LEAF
    if isinstance(values, Symbol):
        count = len(values.list_outputs())
        return [values], count if count > 1 else _LEAF
    if values is None:
        return [None], _NONE
    if isinstance(values, (list, tuple)):
        flat: list[Any] = []
        structure: list[Any] = []
        for value in values:
            part, inner = flatten(value, kind)
            flat += part
            structure.append(inner)
        return flat, structure
    problem = f"the {kind} has a {type(values).__name__}"
    because = f"each {kind} is an NDArray, a Symbol, None or a nested list of these"
    raise ArgumentValueError("HybridBlock", problem, because=because)


def regroup(flat: Sequence[Any], structure: Structure) -> tuple[Any, Sequence[Any]]:
    """Returns nested lists of flat values, and the remaining values."""
    if isinstance(structure, int):
        if structure == _LEAF:
            return flat[0], flat[1:]
        if structure == _NONE:
            return None, flat[1:] if flat and flat[0] is None else flat
        return list(flat[:structure]), flat[structure:]
    values = []
    for part in structure:
        value, flat = regroup(flat, part)
        values.append(value)
    return values, flat


def without_trailing_none(structure: Structure) -> Structure:
    if not isinstance(structure, list):
        return structure
    end = len(structure)
    while end and structure[end - 1] == _NONE:
        end -= 1
    return structure[:end]


class TracedGraph(NamedTuple):
    """A block's computation as a symbol, with the structures of its inputs and outputs. ``inputs``
    are the variables of inputs that are not None: ``data``, or ``data0``, ``data1``, ..."""

    inputs: list[Symbol]
    output: Symbol
    in_structure: Structure
    out_structure: Structure


def trace(block: Any, args: Sequence[Any]) -> TracedGraph:
    flat, in_structure = flatten(args, "input")
    names = iter(_input_names(sum(x is not None for x in flat)))
    symbols: list[Any] = [None if x is None else Variable(next(names)) for x in flat]
    if numpy_arrays() or any(getattr(x, "has_scalars", False) for x in flat):
        symbols = [x if x is None else x.as_np_ndarray() for x in symbols]
    grouped, _ = regroup(symbols, in_structure)
    parameters = {name: parameter.var() for name, parameter in block._reg_params.items()}
    with block.name_scope():
        results = block.hybrid_forward(symbol, *grouped, **parameters)
    outputs, out_structure = flatten(results, "output")
    heads = [x for x in outputs if x is not None]
    if not heads:
        problem = f"hybrid_forward of {type(block).__name__} returns no symbol"
        raise ArgumentValueError("HybridBlock", problem)
    output = heads[0] if len(heads) == 1 else Group(heads)
    return TracedGraph([x for x in symbols if x is not None], output, in_structure, out_structure)


def input_shapes(args: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the arrays among the inputs, by their names in the graph; none for
    inputs that cannot be traced."""
    try:
        inputs = [x for x in flatten(args, "input")[0] if x is not None]
    except ArgumentValueError:
        return {}
    named = zip(_input_names(len(inputs)), inputs, strict=True)
    return {name: x.shape for name, x in named if isinstance(x, NDArray)}


def _input_names(count: int) -> list[str]:
    return ["data"] if count == 1 else [f"data{i}" for i in range(count)]


def single_arrays(parameters: Sequence[Parameter], context: Context) -> list[NDArray] | None:
    """Returns the parameters' arrays, if each has one, which is in the context."""
    try:
        arrays: list[NDArray] = [x for (x,) in map(_DATA, parameters)]
    except (TypeError, ValueError):  # no contents yet, or several
        return None
    return arrays if all(map(is_, map(_CONTEXT, arrays), repeat(context))) else None


def has_own_data(parameters: Sequence[Parameter]) -> bool:
    """Tells whether the class of a parameter computes the array that calls see."""
    return any(type(p).data is not Parameter.data for p in parameters)


class CompiledGraph:
    def __init__(
        self, graph: TracedGraph, parameters: Mapping[str, Parameter], flags: Sequence[Any]
    ) -> None:
        names = graph.output.list_inputs()
        positions = {str(x.name): i for i, x in enumerate(graph.inputs)}
        unknown = [n for n in names if n not in positions and n not in parameters]
        if unknown:
            problem = f"Unknown input to HybridBlock: {', '.join(unknown)}"
            raise ArgumentValueError("HybridBlock", problem)
        _warn_of_unused(positions, parameters, set(names))
        self.graph = graph
        data = [i for i, n in enumerate(names) if n in positions]
        self.op = CachedOp(graph.output, [*flags, ("data_indices", data)])
        self.parameters = [parameters[n] for n in names if n not in positions]
        #: The positions of arguments among the graph's inputs, and among the arguments.
        self._places = [(i, positions[names[i]]) for i in data]
        self._has_own_data = has_own_data(self.parameters)
        self._expected = expected = without_trailing_none(graph.in_structure)
        is_flat = isinstance(expected, list) and all(part == _LEAF for part in expected)
        #: The number of arguments if each is an array, -1 if one is a list or None.
        self._n_arrays = len(expected) if isinstance(expected, list) and is_flat else -1
        self._returns_one = graph.out_structure == 0

    def __call__(self, args: Sequence[Any]) -> Any:
        is_plain = len(args) == self._n_arrays
        for x in args:
            is_plain = is_plain and isinstance(x, NDArray) and x.context is args[0].context
        if not is_plain:
            args = self._flat(args)
        context = args[0].context
        arrays = None if self._has_own_data else single_arrays(self.parameters, context)
        if arrays is None:
            arrays = [parameter.data(context) for parameter in self.parameters]
        for i, k in self._places:
            arrays.insert(i, args[k])
        results = self.op.call_checked(arrays) if arrays else [self.op()]
        if self._returns_one:
            return results[0]
        return regroup(results, self.graph.out_structure)[0]

    def _flat(self, args: Sequence[Any]) -> list[Any]:
        flat, structure = flatten(args, "input")
        if without_trailing_none(structure) != self._expected:
            problem = (
                f"its arguments have the structure {structure}, expected the first call's, "
                f"{self.graph.in_structure}"
            )
            raise ArgumentValueError("HybridBlock", problem, hint="hybridize() traces it again")
        arrays = [x for x in flat if x is not None]
        if any(x.context != arrays[0].context for x in arrays):
            problem = f"its inputs are on {', '.join(str(x.context) for x in arrays)}"
            hint = f"x.as_in_context(mx.{arrays[0].context})"
            raise ArgumentValueError("HybridBlock", problem, hint=hint)
        return arrays


def _warn_of_unused(inputs: Mapping[str, int], parameters: Any, used: set[str]) -> None:
    for name, position in inputs.items():
        if name not in used:
            text = f"The {position}-th input to HybridBlock is not used by any computation."
            warnings.warn(f"{text} Is this intended?", stacklevel=5)
    unused = sorted(name for name in parameters if name not in used)
    if unused:
        text = f"Parameter {', '.join(unused)} is not used by any computation."
        warnings.warn(f"{text} Is this intended?", stacklevel=5)
