"""The language of these scripts: Gluon's, under ``npx.set_np``."""

from __future__ import annotations

from typing import Any

from .._scripts import Scripts
from ..autograd_scripts import _facts as autograd_facts
from ..executor_scripts._facts import numbers
from ..gluon_scripts._facts import fill

__all__ = ["SCRIPTS", "fill", "numbers", "run", "script", "train"]

SCRIPTS = script = Scripts()


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``, under NumPy's semantics."""
    mx.npx.set_np()
    try:
        return autograd_facts.observe(SCRIPTS[name], mx)
    finally:
        mx.npx.reset_np()


def train(
    mx: Any, net: Any, loss: Any, batches: Any, optimizer: str = "sgd", **options: Any
) -> Any:
    """The mean loss of each batch, with a Trainer's step after it."""
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, options or {"learning_rate": 0.1})
    losses = []
    for *inputs, labels in batches:
        with mx.autograd.record():
            values = loss(net(*inputs), labels)
        values.backward()
        trainer.step(len(labels))
        losses.append(float(values.mean()))
    return losses
