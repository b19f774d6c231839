"""Messages of the processes of a job to each other in the steps that they take together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import jax
import numpy as np

from .. import processes
from ..arrays.protocol import PendingValue
from ..arrays.random_state import StreamPositions
from ..jax_internals import parts_of
from ._replicas import Replicas


class StepFlags(NamedTuple):
    """The flags of all processes in a step.

    sums
        the sums of the flags over all devices, with an entry for each device.
    undo
        functions that take back what this process has counted for the step.
    """

    sums: jax.Array
    undo: Sequence[Callable[[], object]]

    @property
    def share(self) -> float:
        """The share of the processes that have had a batch; waits for the step."""
        try:
            (without,) = np.asarray(parts_of(self.sums)[0])[0]
        except Exception as error:
            raise processes.peer_error(error) or error from None
        return 1 - float(without) / len(self.sums)


class Lockstep:
    """The steps that this process has taken together with all others.

    Each process adds to a step whether it is without a batch. A step that finds one changes
    nothing, for any of them.

    steps
        number of steps so far.
    latest
        the flags of the steps since :meth:`take`.
    parameters
        the parameters that the latest step has changed.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.parameters: Sequence[PendingValue] = ()
        #: Of the few steps of a batch; loops without epochs never take them.
        self.latest: deque[StepFlags] = deque(maxlen=64)
        self._idle = False
        self._flags: dict[tuple[Replicas, bool], jax.Array] = {}

    def flags(self, replicas: Replicas) -> jax.Array:
        processes.note_step(self.steps + 1)
        replicas = replicas.sharded(())
        key = replicas, self._idle
        if key not in self._flags:
            host = np.full((len(replicas), 1), self._idle, np.float32)
            self._flags[key] = replicas.from_host(host)
        return self._flags[key]

    def note(
        self,
        sums: jax.Array,
        parameters: Sequence[PendingValue],
        undo: Sequence[Callable[[], object]] = (),
    ) -> StepFlags:
        """Counts a step."""
        self.steps += 1
        self.parameters = parameters
        flags = StepFlags(sums, undo)
        self.latest.append(flags)
        return flags

    def take(self) -> list[StepFlags]:
        """Returns the flags of the steps since the last call."""
        latest = list(self.latest)
        self.latest.clear()
        return latest

    @contextmanager
    def without_batch(self) -> Iterator[None]:
        """Marks the steps in this context as without a batch of this process; random streams are
        rewound."""
        self._idle, positions = True, StreamPositions()
        try:
            yield
        finally:
            self._idle = False
            positions.rewind()


#: That of this process.
lockstep = Lockstep()
