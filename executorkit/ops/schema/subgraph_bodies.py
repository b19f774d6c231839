"""Bodies of loops, branches and fused operators: what an operator can ask of its subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .attrs import Shape
from .inference import Params, ShapeFacts, TypeFacts
from .operator_registry import OpDef


class Subgraph(Protocol):
    """A subgraph. Arrays, shapes and types stand in the order of its variables.

    states
        which of the variables are auxiliary states.
    last
        the operator of the first output, and its attributes.
    """

    input_names: tuple[str, ...]

    @property
    def states(self) -> tuple[int, ...]: ...

    @property
    def last(self) -> tuple[OpDef, Params]: ...

    def __call__(self, arrays: Sequence[Any], key: Any, train: bool) -> tuple[Any, ...]:
        """The outputs; ``key`` may be None if nothing is drawn in this mode."""
        ...

    def interpret(
        self, inputs: Sequence[Any], call: Callable[[OpDef, Params, list[Any]], tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """The outputs where ``call(operator, attributes, inputs)`` stands for every operator."""
        ...

    def uses_rng(self, train: bool) -> bool:
        """Whether a run in this mode draws random numbers."""
        ...

    def shapes(self, inputs: Sequence[Shape | None]) -> Sequence[Shape | None]:
        """The shapes of the inputs, as far as they follow from those known."""
        ...

    def types(
        self, inputs: Sequence[str | None]
    ) -> tuple[Sequence[str | None], Sequence[str | None]]:
        """Dtype names of the inputs and of the outputs, as far as they follow."""
        ...


def subgraphs_use_rng(p: Params, train: bool) -> bool:
    """Whether any body draws random numbers."""
    return any(body.uses_rng(train) for body in p.bodies)


def infer_shapes_from_subgraph(
    s: ShapeFacts, body: Subgraph, names: Sequence[str], stepped: Sequence[str] = ()
) -> None:
    """Deduces the shapes of the node's inputs ``names`` from the body that reads them.

    The body sees ``stepped`` inputs without their first axis, along which it is repeated.
    """
    seen = [s[name][1:] if name in stepped and s[name] else s[name] for name in names]
    length = next((s[name][0] for name in stepped if s[name] and s[name][0]), 0)
    for name, shape in zip(names, body.shapes(seen), strict=True):
        if shape is not None:
            s.set(name, (length, *shape) if name in stepped else shape, because="the body needs it")


def infer_types_from_subgraph(
    t: TypeFacts, body: Subgraph, names: Sequence[str], outputs: Sequence[str]
) -> None:
    """Deduces the types of the node's inputs ``names`` and of its ``outputs`` from a body."""
    inputs, outs = body.types([t[name] for name in names])
    for name, dtype in zip((*names, *outputs), (*inputs, *outs), strict=True):
        t.set(name, dtype)
