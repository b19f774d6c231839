"""Gradients that are added to what their targets hold (``grad_req='add'``), and those of several
arguments with one target.

Programs know nothing of requests. One that is called with accumulated gradients adds its own to
them (``program/protocol.py``), so that executors of every request share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from .protocol import Runnable


def accumulated_gradients(runnable: Runnable[Any]) -> tuple[Any, ...]:
    """For each gradient the contents that it is to be added to, None where it replaces them; empty
    if all replace.

    An array that is the target of several arguments is read once, for the first of them.
    """
    if True not in runnable.accumulate:
        return ()
    targets = zip(runnable.gradient_targets, runnable.accumulate, strict=True)
    return tuple(
        [
            target.value if add and i not in runnable.duplicate_targets else None
            for i, (target, add) in enumerate(targets)
        ]
    )


def final_gradients(runnable: Runnable[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradients, with the final contents of an array that is the target of several arguments in
    each of its positions: written or added one after the other."""
    targets = runnable.gradient_targets
    final: dict[int, Any] = {}
    with jax.enable_x64(True):
        for i, (target, grad) in enumerate(zip(targets, grads, strict=True)):
            adds = i in runnable.duplicate_targets and runnable.accumulate[i]
            final[id(target)] = final[id(target)] + grad if adds else grad
    return [final[id(target)] for target in targets]
