"""Epoch callbacks that write checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..model import save_checkpoint
from ..ndarray import NDArray
from ..symbol import Symbol


def module_checkpoint(
    mod: Any, prefix: Any, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """An epoch callback that writes a module's checkpoint after every ``period`` epochs.

    mod
        a module: anything with ``save_checkpoint(prefix, epoch, save_optimizer_states)``.
    prefix
        prefix of the files' names, as in :func:`executorkit.model.save_checkpoint`.
    period
        epochs from one checkpoint to the next; less than 1 means 1.
    save_optimizer_states
        True writes ``<prefix>-<epoch>.states`` too.

    The epoch in the file names counts from 1: it is the number of epochs that are done.
    """
    period = max(1, int(period))

    def checkpoint(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return checkpoint


def do_checkpoint(prefix: Any, period: int = 1) -> Callable[..., None]:
    """An epoch callback that writes the symbol and parameters it is given, every ``period`` epochs.

    prefix, period
        as in :func:`module_checkpoint`; the files are those of
        :func:`executorkit.model.save_checkpoint`, each written whole or not at all.
    """
    period = max(1, int(period))

    def checkpoint(
        iter_no: int, sym: Symbol | None, arg: Mapping[str, NDArray], aux: Mapping[str, NDArray]
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return checkpoint
