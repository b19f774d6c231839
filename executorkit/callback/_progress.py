"""A progress bar over an epoch's batches."""

from __future__ import annotations

import logging
import math
from importlib.util import find_spec
from typing import Any


def tqdm_class() -> Any:
    """The bar for where this runs, or None if tqdm is not installed.

    Imported when it is needed: in a notebook ``tqdm.auto`` warns where ipywidgets is missing.
    """
    if find_spec("tqdm") is None:
        return None
    if find_spec("ipywidgets") is None:
        from tqdm import tqdm
    else:
        from tqdm.auto import tqdm
    return tqdm


class ProgressBar:
    """A batch callback that shows how much of an epoch is done.

    total
        batches in an epoch.
    length
        width in characters, of the bar alone in the log and of the whole line with tqdm.

    With ``tqdm`` installed (``pip install executorkit[progress]``) one bar per epoch, which also
    tells the speed and the time left, in a terminal and in a notebook; it counts the calls, and so
    ends full. Without, MXNet's line in the log, at level INFO, made of the batch's number.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total
        self._tqdm = tqdm_class()
        self._bar: Any = None
        self._epoch: Any = None

    def __call__(self, param: Any) -> None:
        """Takes note of a batch."""
        if self._tqdm is None:
            self._log(param.nbatch)
            return
        if self._bar is None or param.epoch != self._epoch:
            self._close()
            self._epoch = param.epoch
            self._bar = self._tqdm(
                total=self.total, ncols=self.bar_len, desc=f"Epoch[{param.epoch}]", unit="batch"
            )
        self._bar.update()
        if self._bar.n >= self.total:
            self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _log(self, count: int) -> None:
        done = count / self.total
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%s\r", bar, math.ceil(100.0 * count / self.total), "%")
