"""The equations of a jaxpr, and of all jaxprs that it calls, over numbered values.

:func:`simplified` drops those that NumPy does not need: views of constants, views of views,
broadcasts before ufuncs. A call of NumPy takes a microsecond beside its work, so that a small
program takes as long as it has equations.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from ..jax_internals import ClosedJaxpr
from ..jaxprs import Flattener, Trait, primitives_with
from ._rules import RULES, Aval, Call, KernelRule, aval_of

#: Primitives that JAX evaluates by a function of other primitives.
_EXPANDED = frozenset({"random_gamma"})
_IDENTITIES = primitives_with(Trait.IDENTITY)
_RESHAPES = primitives_with(Trait.KEEPS_ORDER)
_UNKNOWN = Aval((), np.dtype(bool))


class Equation(NamedTuple):
    """An equation of the flattened jaxpr."""

    call: Call
    rule: KernelRule | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    several: bool
    has_effects: bool


class Flattened(Flattener[int]):
    """The equations of a jaxpr and of all jaxprs that it calls, over numbered values.

    equations
        in the order of evaluation.
    avals
        of each value.
    constants
        values that are known, by number.
    faults
        names of dtypes that the interpreter does not have, by the number of the value.
    """

    def __init__(self) -> None:
        super().__init__("cpu")
        self.equations: list[Equation] = []
        self.avals: list[Aval] = []
        self.constants: dict[int, Any] = {}
        self.faults: dict[int, str] = {}

    def value(self, aval: Any) -> int:
        """The number of a new value."""
        held = aval_of(aval)
        if held is None:
            self.faults[len(self.avals)] = str(getattr(aval, "dtype", aval))
            held = _UNKNOWN
        self.avals.append(held)
        return len(self.avals) - 1

    def constant(self, aval: Any, contents: Any) -> int:
        number = self.value(aval)
        if number not in self.faults:
            self.constants[number] = np.asarray(contents, dtype=self.avals[number].dtype)
        return number

    def contents(self, value: int) -> Any:
        return self.constants.get(value)

    def equation(self, equation: Any, inputs: tuple[int, ...]) -> Sequence[int]:
        name = equation.primitive.name
        if name in _IDENTITIES:
            return inputs
        if name in _EXPANDED:
            return self.flatten(_expanded(equation), inputs)
        outputs = tuple([self.value(v.aval) for v in equation.outvars])
        if name == "convert_element_type" and self.avals[inputs[0]] == self.avals[outputs[0]]:
            return inputs[:1]
        call = Call(
            name,
            equation.params,
            tuple([self.avals[i] for i in inputs]),
            tuple([self.avals[i] for i in outputs]),
        )
        several = equation.primitive.multiple_results
        rule, has_effects = RULES.get(name), bool(equation.effects)
        self.equations.append(Equation(call, rule, inputs, outputs, several, has_effects))
        return outputs


def _expanded(equation: Any) -> ClosedJaxpr:
    """The jaxpr of the function that evaluates a primitive."""
    arguments = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return jax.make_jaxpr(partial(equation.primitive.impl, **equation.params))(*arguments)


def simplified(flat: Flattened, results: Sequence[int]) -> tuple[list[Equation], tuple[int, ...]]:
    """The equations without those that NumPy does not need, and the numbers of the results.

    Constants that follow are added to ``flat``.
    """
    avals, constants = flat.avals, flat.constants
    #: Values that are other values.
    equal: dict[int, int] = {}
    #: Values with the elements of others in the same order.
    reshaped: dict[int, int] = {}
    #: Values that NumPy makes of others by itself, in the functions of two arrays.
    broadcast: dict[int, int] = {}
    equations = []
    for equation in flat.equations:
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
        elif _is_aligned_broadcast(call):
            broadcast[out] = ins[0]
        if rule is not None:
            if not broadcast.keys().isdisjoint(ins) and _is_elementwise(rule.make(call)):
                operands = tuple([broadcast.get(i, i) for i in ins])
                if any(avals[i].shape == call.shape for i in operands):
                    ins = operands
            elif not rule.weight and all(i in constants for i in ins):
                kernel = rule.make(call)
                if kernel is not None:
                    constants[out] = np.asarray(kernel(*[constants[i] for i in ins]))
                    continue
        call = call._replace(ins=tuple([avals[i] for i in ins]))
        equations.append(equation._replace(call=call, rule=rule, inputs=ins))
    return equations, tuple([equal.get(i, i) for i in results])


def _is_elementwise(kernel: Any) -> bool:
    """True for a ufunc that broadcasts all axes of its arguments; ``np.matmul`` is one that does
    not."""
    return isinstance(kernel, np.ufunc) and kernel.signature is None


def _is_reshape(call: Call) -> bool:
    if call.name not in _RESHAPES or len(call.ins) != 1:
        return False
    if call.name == "reshape" and call.params["dimensions"] is not None:
        return False
    return call.ins[0].size == call.outs[0].size and call.ins[0].dtype == call.dtype


def _is_aligned_broadcast(call: Call) -> bool:
    """True for a broadcast along new leading axes, and along axes of length 1."""
    if call.name != "broadcast_in_dim" or len(call.ins) != 1:
        return False
    rank, source = len(call.shape), call.ins[0].shape
    return tuple(call.params["broadcast_dimensions"]) == tuple(range(rank - len(source), rank))
