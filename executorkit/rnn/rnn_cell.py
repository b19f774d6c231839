"""``mx.rnn.rnn_cell``: all cells, under MXNet's import path."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.rnn")
