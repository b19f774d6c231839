"""Writes ``data/recurrent.params``, parameters of recurrent layers by the real MXNet 1.9.1.

    python -m tests.golden.make_recurrent

Runs under MXNet's environment (see ``make.py``).
"""

from __future__ import annotations

from typing import Any

from . import _store
from .gluon_scripts._facts import fill


def reader(mx: Any) -> Any:
    """A network with layers in one direction and in both."""
    net = mx.gluon.nn.HybridSequential(prefix="reader_")
    with net.name_scope():
        net.add(mx.gluon.rnn.LSTM(3, 2, bidirectional=True, input_size=2))
        net.add(mx.gluon.rnn.GRU(2, input_size=6))
    net.initialize()
    return net


if __name__ == "__main__":
    import mxnet

    fill(reader(mxnet)).save_parameters(str(_store.DATA / "recurrent.params"))
