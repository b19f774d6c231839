"""Writes ``data/trainer.states``, a file of states of the real MXNet 1.9.1's ``gluon.Trainer``.

    python -m tests.golden.make_trainer

Runs under MXNet's environment (see ``make.py``).
"""

from __future__ import annotations

from typing import Any

from . import _store
from .gluon_scripts.trainer import MOMENTUM, backward, trainer_of


def trained(mx: Any) -> tuple[Any, Any]:
    """Parameters and their trainer after two steps."""
    parameters, trainer = trainer_of(mx, "one", optimizer_params=MOMENTUM)
    for _ in range(2):
        backward(mx, *parameters)
        trainer.step(1)
    return parameters, trainer


if __name__ == "__main__":
    import mxnet

    trained(mxnet)[1].save_states(str(_store.DATA / "trainer.states"))
