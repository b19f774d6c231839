"""Files of a module: a checkpoint of the symbol, the parameters and the optimizer's states."""

from __future__ import annotations

import logging
from typing import Any, Self

from ..model import load_checkpoint
from ._optimizing import Optimizing
from ._usage import require


class Checkpointed(Optimizing):
    """Saving and loading a module."""

    @classmethod
    def load(
        cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Self:
        """A module of ``<prefix>-symbol.json`` with the parameters of an epoch, to be bound.

        load_optimizer_states
            has ``init_optimizer`` read ``<prefix>-<epoch, four digits>.states``.
        kwargs
            what the module is made with besides.

        With the states and ``fit(begin_epoch=epoch)`` training goes on where it was saved, bit for
        bit on the CPU. Raises MXNetError if a file is missing or damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = cls(symbol, **kwargs)  # type: ignore[call-arg]
        module._arg_params = arg_params
        module._aux_params = aux_params
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = _path(prefix, epoch, "states")
        return module

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Writes ``<prefix>-<epoch, four digits>.params``, ``.states`` if asked for, and
        ``<prefix>-symbol.json``, which all epochs share.

        Each file is there whole or not at all, and the shared one is written last: whenever the
        process is stopped, the checkpoints of earlier epochs are whole.
        """
        require(self, "save_checkpoint", "params_initialized")
        if save_optimizer_states:
            require(self, "save_checkpoint", "optimizer_initialized")
        params = _path(prefix, epoch, "params")
        self.save_params(params)
        logging.info('Saved checkpoint to "%s"', params)
        if save_optimizer_states:
            states = _path(prefix, epoch, "states")
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)


def _path(prefix: str, epoch: int, kind: str) -> str:
    return f"{prefix}-{int(epoch):04d}.{kind}"
