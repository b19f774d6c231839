"""Re-rolling: repetitions in a graph, such as the steps of an unrolled recurrent network, as loops.

A network that was unrolled into 60 equal steps costs XLA 60 times the compilation of one step. So
the repetitions are found again in the graph (``_reroll_search``), folded into one
(``_reroll_plan``, in inference layers together, ``_reroll_join``), and lowered as ``lax.scan``
(``_reroll_run``); what does not depend on the repetition before is computed for all of them at
once. Results, random numbers, auxiliary states and gradients are those of the unrolled graph, but
for rounding, which differs with the order of sums. Programs that show every value (monitors) run
the graph as it stands.

This module says what the outcome consists of: a :class:`Plan`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._graph import GraphStep

Values = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """One input of an operator in all repetitions.

    values
        the number of the value that is read in every repetition.
    made
        the (place in the loop, output) that makes it, if the loop itself does.
    back
        how many turns earlier it was made; the loop begins with the first ``back`` values.
    """

    values: Values
    made: tuple[int, int] | None = None
    back: int = 0

    @property
    def constant(self) -> bool:
        """Whether all repetitions read one value from outside."""
        return self.made is None and len(set(self.values)) == 1

    @property
    def stacked(self) -> bool:
        """Whether every repetition reads its own value from outside."""
        return self.made is None and not self.constant


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """An operator in all repetitions at once, and its inputs."""

    steps: tuple[GraphStep, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A recurrence: ``columns`` in the order in which one turn runs them, and their inputs.

    Repetitions stand in the order of the turns. ``shown`` are the (column, output) whose values
    are read outside the loop, ``last`` those of which only that of the last turn is.
    """

    columns: tuple[tuple[GraphStep, ...], ...]
    links: tuple[tuple[Link, ...], ...]
    shown: tuple[tuple[int, int], ...]
    last: tuple[tuple[int, int], ...]

    @property
    def turns(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What stands for the steps of a graph, in an order in which everything is made before it is
    read. ``stacked`` are the values that a batch or a loop reads, one per repetition."""

    items: tuple[GraphStep | Batch | Loop, ...]
    stacked: frozenset[int]
