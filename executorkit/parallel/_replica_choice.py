"""Devices that share one array: the choice between a replicated array and one for each."""

from collections.abc import Mapping, Sequence

import jax

from ..context import Context

ContextGroups = Mapping[str, Context]


def can_replicate(contexts: Sequence[Context], group2ctxs: Sequence[ContextGroups | None]) -> bool:
    """True if arrays of these contexts can be one sharded array: on distinct devices of one
    platform, more than one of them counting all processes."""
    devices = [c.device for c in contexts]
    several = len(devices) > 1 or jax.process_count() > 1
    uniform = len(set(devices)) == len(devices) and len({d.platform for d in devices}) == 1
    return several and uniform and not any(group2ctxs)
