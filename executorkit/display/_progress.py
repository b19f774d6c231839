"""A bar over the batches of an epoch: in a notebook, in a terminal, or as lines in the log."""

import logging
import math
import sys
import time
from importlib.util import find_spec
from typing import Any

from ._charts import Bar
from ._notebook import Live, Viewed, notebook_display, view_of
from ._parts import View

#: Seconds between two drawings in a notebook.
_DRAWING_INTERVAL = 0.1


class ProgressLine:
    """The bars of successive epochs: HTML in a notebook, ``tqdm`` in a terminal if installed,
    otherwise MXNet's line in the log, at level INFO."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._total = 0
        self._length = 0

    def begin(self, title: str, total: int, length: int) -> None:
        """Begins a bar of ``total`` batches, ``length`` characters wide; the one before ends."""
        self.close()
        self._total = total
        self._length = length
        self._bar = self._make_bar(title)

    def count(self, number: int) -> None:
        if self._bar is None:
            self._log(number)
            return
        if self._bar.n < self._total or isinstance(self._bar, _NotebookBar):
            self._bar.update()
        if self._bar.n == self._total:
            self._bar.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _make_bar(self, title: str) -> Any:
        if notebook_display() is not None:
            return _NotebookBar(self._total, title)
        in_terminal = sys.stderr is not None and sys.stderr.isatty()
        if not in_terminal or find_spec("tqdm") is None:
            return None
        from tqdm import tqdm  # imported only when a bar is drawn: it takes a while

        return tqdm(total=self._total, ncols=self._length, desc=title, unit="batch")

    def _log(self, number: int) -> None:
        filled = round(self._length * (number / self._total))
        bar = "=" * filled + "-" * (self._length - filled)
        logging.info("[%s] %s%s\r", bar, math.ceil(100.0 * number / self._total), "%")


class _NotebookBar(Viewed):
    """A bar with tqdm's interface, shown in a notebook without its widgets."""

    def __init__(self, total: int, title: str) -> None:
        self.n = 0
        self._total = total
        self._title = title
        self._start = self._last_drawing = time.perf_counter()
        self._end: float | None = None
        self._live = Live()
        self._live.show(self)

    def update(self) -> None:
        # Drawn if the last drawing was some time ago, or was the final one.
        self.n += 1
        now = time.perf_counter()
        if self._end is not None:
            self.close()
            return
        if now - self._last_drawing > _DRAWING_INTERVAL:
            self._last_drawing = now
            self._live.show(self)

    def close(self) -> None:
        self._end = time.perf_counter()
        self._live.show(self)

    def view(self) -> View:
        seconds = (time.perf_counter() if self._end is None else self._end) - self._start
        batches = f"{self.n}/{self._total} batches"
        if self.n > self._total:
            batches = f"{self.n} batches instead of {self._total}"
        text = f"{self._title}: {batches}, {_clock(seconds)}"
        if self.n and seconds > 0:
            speed = self.n / seconds
            text += f", {speed:,.0f} batches/s" if speed >= 100 else f", {speed:.3g} batches/s"
            if self._end is None:
                text += f", {_clock(seconds * (self._total - self.n) / self.n)} left"
        return View(text, [Bar(self.n / self._total if self._total else 1.0)])


@view_of.register
def _view_of_bar(bar: _NotebookBar) -> View:
    return bar.view()


def _clock(seconds: float) -> str:
    minutes, seconds_left = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds_left:02d}" if hours else f"{minutes}:{seconds_left:02d}"
