"""A check that all processes of a job have the same parameters."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

import jax
import numpy as np

from ..errors import MXNetError, listed
from ..jax_internals import parts_of
from ._joined_processes import sum_over_job
from ._lockstep import lockstep
from ._replicas import Replicas, first_entry

#: Number of steps after which parameters are compared.
CHECK_INTERVAL = 100


def check_when_due(parameters: Sequence[jax.Array]) -> None:
    """:func:`check_ranks` after every hundredth step."""
    if lockstep.steps % CHECK_INTERVAL == 0:
        check_ranks(parameters)


def check_ranks(parameters: Iterable[jax.Array]) -> None:
    """Compares checksums of stacked arrays between the processes, which call this together.

    MXNetError, in all of them, names those that differ.
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
