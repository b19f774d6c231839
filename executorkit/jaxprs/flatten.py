"""The flattener: a walk over a jaxpr and all jaxprs that it calls, in the order of evaluation."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from .._support.annotations import Jaxpr
from ..jax_internals import ClosedJaxpr, Literal

#: Primitives that call a jaxpr with all of their inputs, and do nothing else where no derivative is
#: taken; and the parameter that holds it.
_CALLS = {
    "call": "call_jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "executorkit_native": "plain", "jit": "jaxpr",
    "linear_call": "callee", "remat2": "jaxpr",
}  # fmt: skip

#: Primitives that do nothing where no derivative is taken.
_NOTHING = frozenset({"name", "stop_gradient"})

Value = TypeVar("Value")


class Flattener(Generic[Value]):
    """A walk over the equations of a jaxpr and of all jaxprs that it calls. Calls and known
    branches are inlined; loops and branches that depend on data are one equation each. Subclasses
    define the representation of a value. ``platform`` chooses the branch of
    ``lax.platform_dependent``; with None the choice stays an equation, which JAX refuses to lower.
    ``scopes`` are name stacks of the calls around the present equation, the outermost first."""

    def __init__(self, platform: str | None = None) -> None:
        self.platform = platform
        self.scopes: tuple[Any, ...] = ()

    def constant(self, aval: object, contents: object) -> Value:
        raise NotImplementedError

    def contents(self, value: Value) -> Any:
        return None

    def equation(self, equation: object, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """Returns the results of an equation that is not inlined."""
        raise NotImplementedError

    def flatten(
        self, jaxpr: Jaxpr, inputs: Sequence[Value], constants: Sequence[Value] | None = None
    ) -> list[Value]:
        """Returns the results of a jaxpr, closed or open; ``constants`` replace its own."""
        closed = jaxpr
        if isinstance(jaxpr, ClosedJaxpr):
            jaxpr = jaxpr.jaxpr
        if constants is None and jaxpr.constvars:
            pairs = zip(jaxpr.constvars, closed.consts, strict=True)
            constants = [self.constant(v.aval, x) for v, x in pairs]
        values: dict[Hashable, Value] = dict(zip(jaxpr.constvars, constants or (), strict=True))
        values.update(zip(jaxpr.invars, inputs, strict=True))
        for equation in jaxpr.eqns:
            operands = tuple(
                [
                    self.constant(v.aval, v.val) if isinstance(v, Literal) else values[v]
                    for v in equation.invars
                ]
            )
            values.update(zip(equation.outvars, self._results(equation, operands), strict=True))
        return [
            self.constant(v.aval, v.val) if isinstance(v, Literal) else values[v]
            for v in jaxpr.outvars
        ]

    def inline(self, equation: Any, jaxpr: object, inputs: Sequence[Value]) -> list[Value]:
        outer = self.scopes
        self.scopes = (*outer, equation.source_info.name_stack)
        results = self.flatten(jaxpr, inputs)
        self.scopes = outer
        return results

    def _results(self, equation: Any, inputs: tuple[Value, ...]) -> Sequence[Value]:
        name, params = equation.primitive.name, equation.params
        if name in _NOTHING:
            return inputs
        if name in _CALLS:
            return self.inline(equation, params[_CALLS[name]], inputs)
        if name == "cond":
            index, branches = self.contents(inputs[0]), params["branches"]
            if index is not None:
                branch = branches[min(max(int(index), 0), len(branches) - 1)]
                return self.inline(equation, branch, inputs[1:])
        elif name == "custom_linear_solve":
            lengths = params["const_lengths"]
            start = lengths.matvec + lengths.vecmat
            stop = start + lengths.solve
            operands = inputs[start:stop] + inputs[stop + lengths.transpose_solve :]
            return self.inline(equation, params["jaxprs"].solve, operands)
        elif name == "platform_index" and self.platform is not None:
            for index, platforms in enumerate(params["platforms"]):
                if platforms is None or self.platform in platforms:
                    return (self.constant(equation.outvars[0].aval, index),)
        return self.equation(equation, inputs)


def bodies(equation: Any) -> list[Any]:
    """Returns the jaxprs among the parameters of an equation: loop bodies and branches."""
    return [
        item
        for value in equation.params.values()
        for item in (value if isinstance(value, tuple | list) else (value,))
        if hasattr(getattr(item, "jaxpr", item), "eqns")
    ]


class _Identifiers(Flattener[Hashable]):
    def constant(self, aval: object, contents: object) -> Hashable:
        return id(contents), aval

    def equation(self, equation: Any, inputs: tuple[Hashable, ...]) -> Sequence[Hashable]:
        return [object() for _ in equation.outvars]


def output_ids(jaxpr: Jaxpr) -> list[Hashable]:
    """Returns an id of every result, shared by equal ones: an unchanged input's number, or new."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return _Identifiers().flatten(jaxpr, range(len(inner.invars)))


class FlatEquation(Protocol):
    @property
    def inputs(self) -> Sequence[Any]: ...

    @property
    def outputs(self) -> Sequence[Any]: ...

    @property
    def has_effects(self) -> bool: ...


Equation = TypeVar("Equation", bound=FlatEquation)


def needed(equations: Sequence[Equation], results: Iterable[object]) -> list[Equation]:
    live = set(results)
    kept = []
    for equation in reversed(equations):
        if equation.has_effects or not live.isdisjoint(equation.outputs):
            live.update(equation.inputs)
            kept.append(equation)
    kept.reverse()
    return kept
