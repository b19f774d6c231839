"""The equations of a jaxpr, and of all jaxprs that it calls, over numbered values.

:func:`flattened` drops equations that NumPy does not need: dead ones, views of constants, views of
views, broadcasts before ufuncs. Each call of NumPy takes a microsecond beside its work.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import export

from .._support.annotations import Arrays, Raw
from ..jax_internals import ClosedJaxpr, Jaxpr, Primitive
from ..jaxprs import FlatProgram, Flattener, FlatValue, Trait, is_symbolic, needed, primitives_with
from ._elementwise import block_choice
from ._rules import RULES, Aval, Call, KernelRule, aval_of

#: Primitives that JAX evaluates by a function of other primitives.
_EXPANDED = frozenset({"random_gamma"})
_IDENTITIES = primitives_with(Trait.IDENTITY)
_RESHAPES = primitives_with(Trait.KEEPS_ORDER)
_UNKNOWN = Aval((), np.dtype(bool))
#: The parameters that hold jaxprs, of the primitives that there are rules for.
JAXPRS = frozenset({"body_jaxpr", "branches", "cond_jaxpr", "jaxpr", "update_jaxpr"})


class Equation(NamedTuple):
    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    several: bool
    has_effects: bool

    @property
    def rule(self) -> KernelRule | None:
        return RULES.get(self.call.name)


class FlatJaxpr(NamedTuple):
    """A jaxpr as equations over numbered values, without JAX's objects, so that it can be stored;
    so are jaxprs among the parameters of its equations."""

    equations: list[Equation]
    avals: list[Aval]
    constants: dict[int, Raw]
    #: Number of each value, and whether it has typed keys.
    arguments: list[tuple[int, bool]]
    results: list[tuple[int, bool]]
    #: Sorted names of unsupported dtypes of its values.
    faults: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """Serialises for a process with the same code; raises the errors of ``pickle``."""
        file = io.BytesIO()
        _JaxprPickler(file, pickle.HIGHEST_PROTOCOL).dump(self)
        return file.getvalue()

    @staticmethod
    def from_bytes(contents: bytes, scope: Any = None) -> FlatJaxpr:
        """Reads :meth:`to_bytes`; ``scope`` is the scope of the symbols in its sizes."""
        return _JaxprUnpickler(contents, scope).load()


class _NamedPrimitive(NamedTuple):
    name: str


class _JaxprPickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> tuple[str, bool] | None:
        if isinstance(obj, Primitive):
            return obj.name, False
        return (str(obj), True) if export.is_symbolic_dim(obj) else None

    def reducer_override(self, obj: object) -> Any:
        if type(obj) is not np.ndarray:
            return NotImplemented
        # An element that is there once, and read many times: pickle would write it as often.
        once = obj[tuple([slice(None if stride else 1) for stride in obj.strides])]
        if once.size == obj.size:
            return NotImplemented
        return np.broadcast_to, (np.array(once), obj.shape)


class _JaxprUnpickler(pickle.Unpickler):
    def __init__(self, contents: bytes, scope: Any) -> None:
        super().__init__(io.BytesIO(contents))
        self._size = lru_cache(maxsize=None)(
            lambda text: export.symbolic_shape(text, scope=scope)[0]
        )

    def persistent_load(self, pid: tuple[str, bool]) -> Any:
        text, is_size = pid
        return self._size(text) if is_size else _NamedPrimitive(text)


def flattened(jaxpr: ClosedJaxpr | Jaxpr) -> FlatJaxpr:
    equations = _Equations()
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    arguments = [equations.value(v.aval) for v in inner.invars]
    results: Sequence[int] = equations.flatten(jaxpr, arguments)
    return _flat_jaxpr(
        equations, arguments, results, [v.aval for v in inner.invars],
        [v.aval for v in inner.outvars],
    )  # fmt: skip


def _flat_jaxpr(
    equations: _Equations,
    arguments: Sequence[int],
    results: Sequence[int],
    argument_avals: Sequence[object],
    result_avals: Sequence[object],
) -> FlatJaxpr:
    live = equations.all
    if not equations.faults:
        live, results = _simplified(equations, results)
    live = needed(live, results)
    used = {*results, *(i for e in live for i in (*e.inputs, *e.outputs))}
    return FlatJaxpr(
        live,
        equations.avals,
        {i: x for i, x in equations.constants.items() if i in used},
        _with_keys(arguments, argument_avals),
        _with_keys(results, result_avals),
        tuple(sorted({name for i, name in equations.faults.items() if i in used})),
    )


def flattened_program(program: FlatProgram) -> FlatJaxpr:
    """Converts a flat program without tracing it: every operation as its primitive."""
    equations = _Equations()
    inputs = [equations.value(x) for x in program.inputs]
    numbers = dict(zip(program.inputs, inputs, strict=True))

    def number(value: FlatValue) -> int:
        if value not in numbers:
            numbers[value] = equations.constant(value, value.constant)
        return numbers[value]

    for operation in [part for each in program.operations for part in each.parts or (each,)]:
        operands = tuple(map(number, operation.inputs))
        results = equations.apply(
            operation.primitive, operation.params, operands, operation.inputs, operation.outputs,
            operation.has_effects,
        )  # fmt: skip
        numbers.update(zip(operation.outputs, results, strict=True))
    results = list(map(number, program.outputs))
    return _flat_jaxpr(equations, inputs, results, program.inputs, program.outputs)


def _with_keys(numbers: Sequence[int], avals: Arrays) -> list[tuple[int, bool]]:
    keys = [not isinstance(aval.dtype, np.dtype) for aval in avals]
    return list(zip(numbers, keys, strict=True))


class _Equations(Flattener[int]):
    """The equations of a jaxpr and of all that it calls; ``faults`` are unsupported dtypes."""

    def __init__(self) -> None:
        super().__init__("cpu")
        self.all: list[Equation] = []
        self.avals: list[Aval] = []
        self.constants: dict[int, Raw] = {}
        self.faults: dict[int, str] = {}

    def value(self, aval: object) -> int:
        held = aval_of(aval)
        if held is None:
            self.faults[len(self.avals)] = str(getattr(aval, "dtype", aval))
            held = _UNKNOWN
        self.avals.append(held)
        return len(self.avals) - 1

    def constant(self, aval: object, contents: object) -> int:
        number = self.value(aval)
        if number not in self.faults:
            self.constants[number] = np.asarray(contents, dtype=self.avals[number].dtype)
        return number

    def contents(self, value: int) -> Any:
        return self.constants.get(value)

    def equation(self, equation: Any, inputs: tuple[int, ...]) -> Sequence[int]:
        ins, outs = ([v.aval for v in x] for x in (equation.invars, equation.outvars))
        effects = bool(equation.effects)
        return self.apply(equation.primitive, equation.params, inputs, ins, outs, effects)

    def apply(
        self,
        primitive: Any,
        params: Mapping[str, object],
        inputs: tuple[int, ...],
        ins: Arrays,
        outs: Sequence[object],
        has_effects: bool,
    ) -> Sequence[int]:
        name = primitive.name
        if name in _IDENTITIES:
            return inputs
        if name in _EXPANDED:
            arguments = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in ins]
            expanded = jax.make_jaxpr(partial(primitive.impl, **params))(*arguments)
            return self.flatten(expanded, inputs)
        if not params.keys().isdisjoint(JAXPRS):
            params = {n: _flat(x) if n in JAXPRS else x for n, x in params.items()}
        outputs = tuple(map(self.value, outs))
        call = Call(
            name,
            params,
            tuple([self.avals[i] for i in inputs]),
            tuple([self.avals[i] for i in outputs]),
        )
        if _is_identity(call):
            return inputs[:1]
        several = primitive.multiple_results
        self.all.append(Equation(call, inputs, outputs, several, has_effects))
        return outputs


def _flat(param: object) -> Any:
    if isinstance(param, tuple):
        return tuple(map(_flat, param))
    return flattened(param) if isinstance(param, ClosedJaxpr | Jaxpr) else param


def _simplified(flat: _Equations, results: Sequence[int]) -> tuple[list[Equation], tuple[int, ...]]:
    """Returns equations without redundant ones, and the results; adds new constants to ``flat``."""
    avals, constants = flat.avals, flat.constants
    #: Values that are other values.
    equal: dict[int, int] = {}
    #: Values with the elements of others in the same order.
    reshaped: dict[int, int] = {}
    #: Values that NumPy makes of others by itself, in the functions of two arrays.
    broadcast: dict[int, int] = {}
    #: The values of calls, by everything that they follow from.
    computed: dict[Hashable, int] = {}
    equations = []
    for equation in _aligned(flat):
        ins = tuple([equal.get(i, i) for i in equation.inputs])
        call, rule = equation.call, equation.rule
        if equation.several:
            avals_in = tuple([avals[i] for i in ins])
            equations.append(equation._replace(call=call._replace(ins=avals_in), inputs=ins))
            continue
        out = equation.outputs[0]
        if _is_reshape(call):
            source = reshaped.get(ins[0], ins[0])
            if avals[source] == avals[out]:
                equal[out] = source
                continue
            reshaped[out] = source
            ins, rule = (source,), RULES["reshape"]
            call = Call("reshape", {"dimensions": None}, (avals[source],), call.outs)
        elif call.name == "broadcast_in_dim":
            broadcast[out] = ins[0]
        if rule is not None:
            if not broadcast.keys().isdisjoint(ins) and _is_elementwise(call, rule):
                operands = tuple([broadcast.get(i, i) for i in ins])
                if _reaches(call.shape, [avals[i].shape for i in operands]):
                    ins = operands
            elif not rule.weight and all(i in constants for i in ins) and not _varies(call):
                kernel = rule.make(call)
                if kernel is not None:
                    constants[out] = np.asarray(kernel(*[constants[i] for i in ins]))
                    continue
        call = call._replace(ins=tuple([avals[i] for i in ins]))
        key = (call.name, ins, call.outs, *call.params.items())
        if has_hash(call.params) and computed.setdefault(key, out) != out:
            equal[out] = computed[key]
            continue
        equations.append(equation._replace(call=call, inputs=ins))
    return equations, tuple([equal.get(i, i) for i in results])


def _is_elementwise(call: Call, rule: KernelRule) -> bool:
    is_ufunc = rule.any_shape and isinstance(rule.make(call), np.ufunc)
    return is_ufunc or block_choice(call) is not None


def _is_identity(call: Call) -> bool:
    if call.ins[:1] != call.outs:
        return False
    if call.name == "reduce_precision":
        return RULES[call.name].make(call) is np.positive
    return call.name == "convert_element_type"


def has_hash(params: Mapping[str, object]) -> bool:
    try:
        hash(tuple(params.values()))
    except TypeError:
        return False
    return True


def _varies(call: Call) -> bool:
    return call.name == "dim_as_value" or is_symbolic(call.shape)


def _is_reshape(call: Call) -> bool:
    if call.name not in _RESHAPES:
        return False
    if call.name == "reshape" and call.params["dimensions"] is not None:
        return False
    return call.ins[0].size == call.outs[0].size and call.ins[0].dtype == call.dtype


def _reaches(shape: tuple[Any, ...], others: Sequence[tuple[Any, ...]]) -> bool:
    # To compare an expression with a number may decide something.
    return all(
        any(len(x) >= k and x[-k].__class__ is n.__class__ and x[-k] == n for x in others)
        for k, n in enumerate(reversed(shape), 1)
    )


def _aligned(flat: _Equations) -> Iterator[Equation]:
    """Gives all equations. Broadcasts are of the last axes, others of columns made before; so are
    numbers in a row, but for vectors."""
    for equation in flat.all:
        call, inputs, column = equation.call, equation.inputs, {}
        if call.name == "iota":
            column = {call.params["dimension"]: call.shape[call.params["dimension"]]}
        elif call.name == "broadcast_in_dim" and not _is_reshape(call):
            dims = map(int, call.params["broadcast_dimensions"])
            column = dict(zip(dims, call.ins[0].shape, strict=True))
        axes = range(min(column), len(call.shape)) if column else range(0)
        if len(axes) > len(column) or (column and not inputs and axes[0]):
            aval = Aval(tuple([column.get(i, 1) for i in axes]), call.dtype)
            number = (len(flat.avals),)
            flat.avals.append(aval)
            first = Call("reshape" if inputs else "iota", {"dimensions": None}, call.ins, (aval,))
            yield Equation(first, inputs, number, False, False)
            spread = Call("broadcast_in_dim", {}, (aval,), call.outs)
            equation = equation._replace(call=spread, inputs=number)
        yield equation
