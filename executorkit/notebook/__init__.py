"""``mx.notebook``: watching a training run where it is started, in a notebook or a terminal."""

from . import callback as callback, plots as plots
