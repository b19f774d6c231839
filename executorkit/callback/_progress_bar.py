"""A progress bar over an epoch's batches."""

from typing import Any

from ..display import ProgressLine


class ProgressBar:
    """A batch callback that shows the progress of an epoch, its speed and the time left.

    ``total`` is the number of batches in an epoch; a notebook's bar counts batches beyond it.
    ``length`` is the width in characters, of the bar in the log, or of the whole line with tqdm. In
    a notebook the bar is static HTML, renewed in place; in a terminal it is tqdm's (``pip install
    executorkit[progress]``), otherwise MXNet's line in the log, at level INFO.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total
        self._line = ProgressLine()
        self._epoch: Any = None
        self._last_batch = -1

    def __call__(self, param: Any) -> None:
        if param.epoch != self._epoch or param.nbatch < self._last_batch:
            self._epoch = param.epoch
            self._line.begin(f"Epoch[{param.epoch}]", self.total, self.bar_len)
        self._last_batch = param.nbatch
        self._line.count(param.nbatch)
