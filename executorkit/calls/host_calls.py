"""Calls of operators that have a function of NumPy arrays: those on images, whose shapes are ever
new, and what makes batches of these."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from ..arrays.handle import Handle
from ..arrays.storage import Storage
from ..arrays.values import HOST_TYPES, HostContents
from ..context import Context
from ..errors import MXNetError
from ..program import host_plans_allowed
from .resolved_calls import ResolvedCall

H = TypeVar("H", bound=Handle)


def on_host(cls: type[H], x: np.ndarray, context: Context) -> H:
    """An array with contents in the host's memory, which nobody writes to any more."""
    shape = x.shape
    storage = Storage(shape, x.dtype, producer=HostContents(x, context))
    return cls.from_storage(storage, 0, shape, context)


def are_on_host(arrays: Sequence[Handle]) -> bool:
    """True if calls on these arrays may be computed in the host's memory."""
    in_memory = [x.context.device_typeid in HOST_TYPES for x in arrays]
    return all(in_memory) and host_plans_allowed()


def host_call(
    resolved: ResolvedCall, arrays: Sequence[np.ndarray], key_data: np.ndarray | None
) -> np.ndarray | None:
    """The result of an operator's function of NumPy arrays; None for what it leaves to the
    operator's own, errors among it. It is called where ``np.errstate(all="ignore")`` holds."""
    op = resolved.op
    assert op.host is not None
    attrs = dict(resolved.params)
    if key_data is not None and op.key_name is not None:
        attrs[op.key_name] = tuple(key_data.tolist())
    try:
        result = op.host(*arrays, **attrs)
    except MXNetError:
        return None
    if result is None:
        return None
    if result.base is None:
        shared = any(result is x for x in arrays)
    else:
        shared = any(np.may_share_memory(result, x) for x in arrays)
    return result.copy() if shared else np.ascontiguousarray(result)
