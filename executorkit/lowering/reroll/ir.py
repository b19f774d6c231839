"""Intermediate representation of a re-rolled graph: operands, vectorised operators, loops."""

from dataclasses import dataclass

from .._graph import GraphStep

ValueIds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackedOperand:
    """One input of an operator, over all repetitions: the number of the value that each one reads.
    ``producer`` is the (index of the pack in the loop, output) of a value computed by the loop
    itself, ``distance`` the number of iterations between producer and reader, 0 within one
    iteration. The first ``distance`` values are the initial carry."""

    values: ValueIds
    producer: tuple[int, int] | None = None
    distance: int = 0

    @property
    def is_invariant(self) -> bool:
        """True if all repetitions read one value from outside the loop."""
        return self.producer is None and len(set(self.values)) == 1

    @property
    def is_stacked(self) -> bool:
        """True if each repetition reads its own value from outside the loop."""
        return self.producer is None and not self.is_invariant


@dataclass(frozen=True, slots=True, eq=False)
class VectorizedOp:
    steps: tuple[GraphStep, ...]
    operands: tuple[PackedOperand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RerolledLoop:
    """A recurrence. ``packs`` are the operators of one iteration in execution order. ``outputs``
    are the (pack, output) read outside at every iteration, ``final_only`` after the last."""

    packs: tuple[tuple[GraphStep, ...], ...]
    operands: tuple[tuple[PackedOperand, ...], ...]
    outputs: tuple[tuple[int, int], ...]
    final_only: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        return len(self.packs[0])


@dataclass(frozen=True, slots=True, eq=False)
class RerollPlan:
    """The items that compute a graph in order; ``stacked_values`` are read one per repetition."""

    items: tuple[GraphStep | VectorizedOp | RerolledLoop, ...]
    stacked_values: frozenset[int]
