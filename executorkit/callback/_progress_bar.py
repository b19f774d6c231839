"""A progress bar over an epoch's batches."""

from typing import Any

from ..display import ProgressLine


class ProgressBar:
    """A batch callback that shows the progress of an epoch.

    total
        batches in an epoch.
    length
        width in characters, of the bar alone in the log and of the whole line with tqdm.

    One bar per epoch, which also tells the speed and the time left; it counts the calls, and so
    ends full. Batches beyond ``total`` do not begin another bar: a notebook's bar says how many
    they are, and one in a terminal is finished. In a notebook it is static HTML that is renewed in
    place and stays in the file. In a terminal it is one of ``tqdm`` if that is installed (``pip
    install executorkit[progress]``). Otherwise, and where stderr goes to a file, it is MXNet's line
    in the log, at level INFO, made of the batch's number.
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
