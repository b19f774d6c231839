"""Epochs that the processes of a job go through together, and the check that their parameters
agree."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from .. import processes
from ..arrays.protocol import PendingValue
from ..errors import MXNetError, listed
from ..jax_internals import parts_of
from ._joined_processes import sum_over_job
from ._lockstep import StepFlags, lockstep
from ._replicas import Replicas, first_entry

#: Number of steps after which parameters are compared.
CHECK_INTERVAL = 100


def check_when_due(parameters: Sequence[jax.Array]) -> None:
    if lockstep.steps % CHECK_INTERVAL == 0:
        check_ranks(parameters)


def note_joint_step(
    results: Any, parameters: Sequence[PendingValue], undo: Sequence[Callable[[], object]]
) -> None:
    """Counts a step with these results and the parameters that it has changed; ``undo`` takes back
    what this process has counted for it."""
    (weights, _, _), *_, sums_of_flags = results
    lockstep.note(sums_of_flags, parameters, undo)
    check_when_due([w for group in weights for w in group])


def check_ranks(parameters: Iterable[jax.Array]) -> None:
    """Compares checksums of stacked arrays between the processes, which call this together.

    MXNetError, in all of them, names the ranks that differ.
    """
    parts = [part for x in parameters for part in first_entry(x)]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(np.asarray(part).reshape(-1).view(np.uint8).data, checksum)
    own = np.zeros((1, jax.process_count()), np.uint32)
    own[0, jax.process_index()] = checksum
    replicas = Replicas.on([parts[0].device])
    (sums,), _, _ = sum_over_job(replicas, [replicas.from_host(own)])
    checksums = np.asarray(parts_of(sums)[0])[0].tolist()
    common, _ = Counter(checksums).most_common(1)[0]
    different = [rank for rank, each in enumerate(checksums) if each != common]
    if different:
        raise MXNetError(
            f"step {lockstep.steps}",
            f"the parameters of rank {listed(different, 8)} differ from those of the others",
            because="all processes of a job make the same updates",
            hint="parameters, rates and states that a script sets have to be set in every process; "
            "go on from the last checkpoint",
        )


class JointEpoch:
    """The batches of an epoch, which ends for all processes as soon as one has no batch left.

    A step's flags are read one step later, so that reading does not wait: all processes end after
    the step that follows the first one without a batch.

    stops
        True once all processes are to stop, since one has been asked to.
    """

    def __init__(self) -> None:
        self.stops = False
        self._uneven = False
        self._count = 0
        self._ends_after: int | None = None
        self._former: list[StepFlags] = []
        self._last: list[StepFlags] = []
        lockstep.take()

    def end_batch(self) -> None:
        """Counts a batch, whose steps have been taken."""
        self._count += 1
        self._former, self._last = self._last, lockstep.take()
        self.stops = bool(self._last) and processes.stop_requested(lockstep.steps)

    def is_over(self) -> bool:
        """Returns True before a batch that is not to be taken: another process has none left."""
        self._read(self._former, self._count - 1)
        return self.stops or self._has_ended

    def finish(self, step: Callable[[], object], logger: Any) -> None:
        """Takes part in the steps of others (calls of ``step``) after the last batch of this
        process. Steps that a process had no batch for do not count."""
        while self._last and not self.stops:
            self._read(self._former, self._count - 1)
            self._read(self._last, self._count)
            if self._has_ended:
                break
            with lockstep.without_batch():
                step()
            self.end_batch()
        void = [flags for flags in (*self._former, *self._last) if flags.share < 1]
        for flags in reversed(void):
            for undo in flags.undo:
                undo()
        if lockstep.parameters:
            check_ranks([p.value for p in lockstep.parameters])
        if self._uneven:
            logger.warning("the epoch ends early: some processes have fewer batches than others")

    @property
    def _has_ended(self) -> bool:
        return self._ends_after is not None and self._count >= self._ends_after

    def _read(self, flags: Sequence[StepFlags], number: int) -> None:
        if self._ends_after is not None or not flags:
            return
        share = min(t.share for t in flags)
        if share < 1:
            self._uneven = share > 0
            self._ends_after = number + (share > 0)
