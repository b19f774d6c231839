"""Intermediate representation of a re-rolled graph: operands, vectorised operators, loops."""

from dataclasses import dataclass

from .._graph import GraphStep

ValueIds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackedOperand:
    """One input of an operator, over all repetitions.

    values
        the number of the value that each repetition reads.
    producer
        the (index of the pack in the loop, output) that computes the values, if the loop itself
        computes them.
    distance
        the number of iterations between producer and reader, 0 within one iteration. The first
        ``distance`` values come from outside: they are the initial carry.
    """

    values: ValueIds
    producer: tuple[int, int] | None = None
    distance: int = 0

    @property
    def is_invariant(self) -> bool:
        """True if all repetitions read one value from outside the loop."""
        return self.producer is None and len(set(self.values)) == 1

    @property
    def is_stacked(self) -> bool:
        """True if each repetition reads a value of its own from outside the loop."""
        return self.producer is None and not self.is_invariant


@dataclass(frozen=True, slots=True, eq=False)
class VectorizedOp:
    """One operator applied to all repetitions at once, and its inputs."""

    steps: tuple[GraphStep, ...]
    operands: tuple[PackedOperand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RerolledLoop:
    """A recurrence. Repetitions stand in the order of the iterations.

    packs
        the operators of one iteration in execution order, each with its step in every repetition.
    operands
        the inputs of each pack.
    outputs
        the (pack, output) whose values of every iteration are read outside the loop.
    final_only
        the (pack, output) of which only the value of the last iteration is read outside.
    """

    packs: tuple[tuple[GraphStep, ...], ...]
    operands: tuple[tuple[PackedOperand, ...], ...]
    outputs: tuple[tuple[int, int], ...]
    final_only: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        """The number of iterations."""
        return len(self.packs[0])


@dataclass(frozen=True, slots=True, eq=False)
class RerollPlan:
    """The items that compute a graph, producers before readers.

    ``stacked_values`` are the numbers of the values that a vectorised operator or a loop reads one
    per repetition.
    """

    items: tuple[GraphStep | VectorizedOp | RerolledLoop, ...]
    stacked_values: frozenset[int]
