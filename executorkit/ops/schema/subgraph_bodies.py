"""Subgraphs of loops, branches and fused operators, as these operators see them."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .attrs import Shape
from .inference import Params, ShapeFacts, TypeFacts
from .operator_registry import OpDef


class SubgraphBody(Protocol):
    """A subgraph. Arrays, shapes and types are in the order of its variables.

    ``states`` are the positions of auxiliary states; ``last`` is the operator of the first output
    with its attributes.
    """

    input_names: tuple[str, ...]

    @property
    def states(self) -> tuple[int, ...]: ...

    @property
    def last(self) -> tuple[OpDef, Params]: ...

    def __call__(self, arrays: Sequence[object], key: object, train: bool) -> tuple[Any, ...]:
        """Returns the outputs; ``key`` may be None if this mode draws no random numbers."""
        ...

    def interpret(
        self, inputs: Sequence[object], call: Callable[[OpDef, Params, list[Any]], tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """Returns the outputs with ``call(operator, attributes, inputs)`` for every operator."""
        ...

    def uses_rng(self, train: bool) -> bool: ...

    def shapes(self, inputs: Sequence[Shape | None]) -> Sequence[Shape | None]: ...

    def types(
        self, inputs: Sequence[str | None]
    ) -> tuple[Sequence[str | None], Sequence[str | None]]: ...


def subgraphs_use_rng(p: Params, train: bool) -> bool:
    return any(body.uses_rng(train) for body in p.bodies)


def infer_subgraph_shapes(
    s: ShapeFacts, subgraph: SubgraphBody, names: Sequence[str], stepped: Sequence[str] = ()
) -> None:
    """Deduces the shapes of the node's inputs ``names`` from the subgraph, which sees ``stepped``
    inputs without their first axis, vectors as (1,)."""
    inner = [s[name][1:] or (1,) if name in stepped and s[name] else s[name] for name in names]
    length = next((s[name][0] for name in stepped if s[name] and s[name][0]), 0)
    for name, shape in zip(names, subgraph.shapes(inner), strict=True):
        if shape is not None and name in stepped:
            shape = (length, *shape) if s[name] is None or len(s[name]) > 1 else (length,)
        s.set(name, shape, because="the body needs it")


def infer_subgraph_types(
    t: TypeFacts, subgraph: SubgraphBody, names: Sequence[str], outputs: Sequence[str]
) -> None:
    inputs, outs = subgraph.types([t[name] for name in names])
    for name, dtype in zip((*names, *outputs), (*inputs, *outs), strict=True):
        t.set(name, dtype)
