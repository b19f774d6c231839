"""Calls of operators on arrays: their attributes, and all that follows from these.

Numbers that change from call to call (a scalar operand, a learning rate) are passed as values where
the operator allows it, so that a decaying rate compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._support.annotations import Arrays, DType
from ..arrays.handle import Handle
from ..errors import DTypeError, DynamicShapeError, MXNetError, ShapeError, explain
from ..jaxprs import ForAnySizes, SymbolicSizes, size_kinds
from ..lowering import call_results, memoize
from ..ops import OpDef, Params, lookup
from ..ops.schema.attrs import Attr, Floats, to_text
from ..ops.schema.inference import ShapeFacts, TypeFacts
from ..ops.schema.traits import CALLS_PYTHON, MUTATES, NEEDS_NUMBERS, NEEDS_VALUES
from ..ops.value_checks import exception_in

#: Shape and dtype.
ArrayType = tuple[tuple[int, ...], np.dtype]
#: Errors raised when Python code asks for a value that is only traced.
NEEDS_VALUES_ERRORS = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, DynamicShapeError)
#: Attributes that are passed as values to operators on floating arrays.
DYNAMIC = frozenset(
    {"scalar", "lr", "wd", "rescale_grad", "t"}
    | {"lrs", "wds", "etas", "learning_rates", "step_count"}
)


class ResolvedCall:
    """An operator with its attributes, and everything that a call needs to know about them."""

    __slots__ = (
        "aux", "constant_inputs", "has_effects", "is_compiled", "is_plain", "key", "n_visible",
        "number_names", "op", "params", "state_positions", "texts", "train_key",
        "types",
    )  # fmt: skip

    def __init__(
        self,
        op: OpDef,
        texts: tuple[tuple[str, str], ...],
        dynamic: tuple[str, ...],
        params: Params | None = None,
    ) -> None:
        self.op = op
        self.params = _parsed(op, texts) if params is None else params
        #: The attributes as text; the names of the attributes that are passed as values.
        self.texts = texts
        self.number_names = dynamic
        #: The keys of its jitted functions in inference and training, except the device of a call
        #: without arrays.
        self.key = op, self.params.key, dynamic, False, None
        self.train_key = self.key
        if op.train_name is not None:
            self.train_key = op, self.params.key, dynamic, True, None
        self.n_visible = op.visible(self.params)
        self.aux = op.aux_of(self.params)
        names = op.inputs(self.params) if self.aux else ()
        #: The positions of its auxiliary states among its inputs.
        self.state_positions = tuple([k for k, name in enumerate(names) if name in self.aux])
        self.constant_inputs = op.constant_inputs(self.params)
        #: True if it has no effect but its results, and draws no random numbers.
        self.is_plain = op.key_name is None and not self.aux and not self.constant_inputs
        #: False for an operator that needs the values of its inputs, also if that was found out by
        #: a trace of a user's operator.
        self.is_compiled = NEEDS_VALUES not in op.traits
        #: True if it calls Python or changes its inputs.
        self.has_effects = not op.traits.isdisjoint((CALLS_PYTHON, MUTATES))
        #: The types of its outputs for any sizes, by operator, numbers of axes and dtypes.
        self.types: dict[Hashable, ForAnySizes[Callable[..., tuple[ArrayType, ...]]]] = {}

    def with_numbers(self, numbers: Arrays) -> ResolvedCall:
        if not numbers:
            return self
        values = zip(self.number_names, numbers, strict=True)
        return with_constants(self.op, {**dict(self.texts), **dict(values)})


class GraphCall:
    """The calls of a graph, whose values have numbers; they are recorded together."""

    __slots__ = ("calls", "constants", "draws", "inputs", "is_simple", "outputs", "states")

    def __init__(
        self,
        inputs: Sequence[int],
        calls: Sequence[tuple[ResolvedCall, Sequence[int], Sequence[int]]],
        outputs: Sequence[int],
    ) -> None:
        #: The numbers of the arrays that it is called with, and of its results.
        self.inputs = tuple(inputs)
        #: For each call its resolved form, the numbers of its inputs and of its visible outputs.
        self.calls = tuple(calls)
        self.outputs = tuple(outputs)
        #: True if it can be recorded as a whole: calls have inputs, are compiled, without effects.
        self.is_simple = all(c.is_compiled and not c.has_effects and read for c, read, _ in calls)
        self.draws = any(c.op.key_name is not None for c, *_ in calls)
        places = {number: i for i, number in enumerate(inputs)}
        states, constants = set(), []
        for call, read, _ in calls:
            names = call.op.inputs(call.params)
            states.update([read[k] for k in call.state_positions])
            for name, value in call.constant_inputs.items():
                constants.append((read[names.index(name)], value))
        #: The positions of the inputs that calls in training change; pairs of the position of one
        #: that calls overwrite, and the number.
        self.states = frozenset(places[n] for n in states if n in places)
        self.constants = tuple([(places[n], value) for n, value in constants if n in places])


#: Calls with equal texts share what follows from them.
resolve = lru_cache(maxsize=4096)(ResolvedCall)
graph_call = lru_cache(maxsize=1024)(GraphCall)


def with_constants(op: OpDef, attrs: Mapping[str, Any]) -> ResolvedCall:
    return resolve(op, _as_texts(attrs), ())


def call_of(name: str, attrs: Mapping[str, Any]) -> ResolvedCall:
    op = lookup(name)
    assert op is not None, name
    return with_constants(op, attrs)


def _as_texts(attrs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple([(k, to_text(v)) for k, v in attrs.items()])


def check_inputs(op: OpDef, p: Params, arrays: Arrays) -> None:
    """Applies the operator's own rules to the inputs; errors name the wrong input."""
    names = op.inputs(p)
    if len(names) != len(arrays):
        raise MXNetError(
            f"operator {op.name}",
            f"it takes {len(names)} arrays with these attributes ({', '.join(names)}), "
            f"got {len(arrays)}",
        )
    outputs = {f"out{i}": None for i in range(len(op.outputs(p)))}
    try:
        op.infer_type(TypeFacts(op.name, _dtypes(names, arrays) | outputs), p)
        if op.infer_shape is not None:
            op.infer_shape(ShapeFacts(op.name, _shapes(names, arrays) | outputs), p)
    except (ShapeError, DTypeError) as error:
        problem, because, *_ = (*error.args, None)
        raise type(error)(
            explain(
                f"operator {op.name}",
                str(problem),
                because=because,
                given_by=describe_inputs(op, p, arrays),
            )
        ) from None


@lru_cache(maxsize=1024)
def output_types(
    resolved: ResolvedCall, op: OpDef, input_types: tuple[ArrayType, ...]
) -> tuple[ArrayType, ...]:
    """Returns shapes and dtypes of visible outputs; MXNetError for inputs that do not fit. Where
    the operator's rules hold for symbols, they hold for all sizes."""
    sizes = tuple([size for shape, _ in input_types for size in shape])
    kind = op, size_kinds(sizes), *[(len(shape), dtype) for shape, dtype in input_types]
    general = resolved.types.get(kind)
    if general is None:
        general = memoize(resolved.types, kind, ForAnySizes())

    def make(symbolic: SymbolicSizes) -> Callable[..., tuple[ArrayType, ...]]:
        rest = iter(symbolic.sizes)
        types = [(tuple([next(rest) for _ in shape]), dtype) for shape, dtype in input_types]
        return symbolic.function(_output_types(resolved, op, types))

    known = general.find(sizes, make)
    if known is not None:
        types_of, values = known
        return types_of(*values)
    types = _output_types(resolved, op, input_types)
    general.note(sizes)
    return types


def _output_types(
    resolved: ResolvedCall, op: OpDef, input_types: Sequence[ArrayType]
) -> tuple[ArrayType, ...]:
    avals = [jax.ShapeDtypeStruct(*t) for t in input_types]
    check_inputs(op, resolved.params, avals)
    with call_errors(op, resolved.params, avals):
        results = call_results(op, resolved.params, input_types)
    return tuple(results[: resolved.n_visible])


def check_targets(
    where: str, targets: Sequence[Handle], results: Sequence[tuple[tuple[int, ...], Any]]
) -> None:
    if len(targets) != len(results):
        problem = f"out holds {len(targets)} arrays, expected {len(results)}"
        raise MXNetError(where, problem)
    for target, (shape, dtype) in zip(targets, results, strict=True):
        if target.shape != shape:
            raise ShapeError(where, f"out is {target.shape}, expected {shape}")
        if target.storage.dtype != dtype:
            raise DTypeError(where, f"out is {target.dtype_name}, expected {dtype.name}")


@contextmanager
def call_errors(op: OpDef, p: Params, arrays: Arrays) -> Iterator[None]:
    """Makes errors of an operator's function name the operator and its inputs."""
    try:
        yield
    except NEEDS_VALUES_ERRORS:
        raise
    except MXNetError as error:
        error.add_note(f"in operator {op.name}: {describe_inputs(op, p, arrays)}")
        raise
    except jax.errors.JaxRuntimeError as error:
        raised = exception_in(error)
        if raised is None:
            raise
        raise raised from raised.__cause__
    except (TypeError, ValueError, LookupError, OverflowError, ZeroDivisionError) as error:
        given_by = describe_inputs(op, p, arrays)
        raise ShapeError(f"operator {op.name}", str(error), given_by=given_by) from error


def _dtypes(names: Sequence[str], arrays: Arrays) -> dict[str, Any]:
    return {n: a.dtype.name for n, a in zip(names, arrays, strict=True)}


def _shapes(names: Sequence[str], arrays: Arrays) -> dict[str, Any]:
    return {n: a.shape for n, a in zip(names, arrays, strict=True)}


def describe_inputs(op: OpDef, p: Params, arrays: Arrays) -> str:
    names = op.inputs(p)
    names = names if len(names) == len(arrays) else [f"array {i}" for i in range(len(arrays))]
    return ", ".join(
        f"{n} {a.dtype.name}{tuple(a.shape)}" for n, a in zip(names, arrays, strict=True)
    )


def parse_attrs(op: OpDef, attrs: Mapping[str, Any]) -> Params:
    """Returns the parsed attributes of a call; calls with equal texts share them."""
    return _parsed(op, _as_texts(attrs))


def split_numbers(
    op: OpDef, attrs: Mapping[str, Any], arrays: Sequence[Handle]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, Any], ...]]:
    """Returns attributes as texts (the key of their parsed form), and dynamic ones as values."""
    if (
        attrs.keys().isdisjoint(DYNAMIC)
        or NEEDS_NUMBERS in op.traits
        or not all(is_floating(a.storage.dtype) for a in arrays)
    ):
        return _as_texts(attrs), ()
    texts, dynamic = [], []
    for k, v in attrs.items():
        if k not in DYNAMIC or k not in op.attrs:
            texts.append((k, to_text(v)))
            continue
        number = _number(op, op.attrs[k], v)
        dynamic.append((k, number))
        texts.append((k, to_text([1] * len(number)) if isinstance(number, tuple) else "1"))
    return tuple(texts), tuple(dynamic)


def _number(op: OpDef, attr: Attr, value: Any) -> Any:
    if value.__class__ is float:
        return value
    is_list = isinstance(value, list | tuple) and attr.annotation == Floats
    if is_list and all(isinstance(x, float) for x in value):
        return tuple(map(float, value))  # a tenth of the time that reading takes
    return attr.read(op.name, value)


@lru_cache(maxsize=64)
def is_floating(dtype: DType) -> bool:
    return jnp.issubdtype(dtype, jnp.floating)


@lru_cache(maxsize=4096)
def _parsed(op: OpDef, texts: tuple[tuple[str, str], ...]) -> Params:
    return op.parse(dict(texts))
