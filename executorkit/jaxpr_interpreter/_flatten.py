"""Flattening: a jaxpr, and all jaxprs that it calls, as equations over numbered values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from ..jaxprs import Flattener, Trait, primitives_with
from ._rules import RULES, Aval, Call, KernelRule, aval_of

#: Primitives that JAX evaluates by a function of other primitives.
_EXPANDED = frozenset({"random_gamma"})
_IDENTITIES = primitives_with(Trait.IDENTITY)
#: Primitives whose result is their input where neither shape nor dtype changes.
_CONVERSIONS = primitives_with(Trait.KEEPS_ORDER) | {"convert_element_type"}
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
        if name in _CONVERSIONS and self.avals[inputs[0]] == self.avals[outputs[0]]:
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
