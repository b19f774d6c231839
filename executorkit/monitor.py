"""``mx.mon`` / ``mx.monitor``: statistics of a network's values while it runs.

monitor = mx.mon.Monitor(100, pattern=".*weight|.*output")
monitor.install(executor)
for batch in batches:
    monitor.tic()
    executor.forward(is_train=True, data=batch)
    executor.backward()
    monitor.toc_print()
monitor.heat_map(".*output")                # all that was collected, over the batches
"""

from __future__ import annotations

import logging
import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._support.keyword_arguments import CheckedKeywords
from .display import (
    Cell,
    Emphasis,
    Fold,
    HeatMap,
    Line,
    Sparkline,
    Table,
    View,
    Viewed,
    clipped,
    value as shown,
    view_of,
)
from .errors import InputTypeError
from .executor import Executor
from .ndarray import NDArray
from .program import small_jit

Statistic = Callable[[NDArray], Any]

#: Maximum number of batches whose statistics are held.
MAX_BATCHES = 1000
#: Maximum numbers held of one statistic, bars drawn in a cell, rows shown, rows shown as text.
_MAX_NUMBERS, _MAX_BARS, _MAX_ROWS, _MAX_LINES = 8, 24, 500, 60


class Monitor(Viewed, CheckedKeywords):
    """Statistics of operators' outputs, their gradients, parameters and states.

    interval
        Every ``interval``-th batch is observed. Executors report values only in these batches; in
        MXNet always.
    stat_func
        A function from an NDArray to an NDArray or a list of them; by default the root mean square.
    pattern
        A regular expression for the start of the names of observed values; gradients are named
        ``fc_backward_output0``.
    sort
        Whether results are sorted by name.
    monitor_all
        Whether the operators' inputs are observed too.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> executor = net.simple_bind(mx.cpu(), data=(1, 3))
    >>> monitor = Monitor(interval=1, pattern="fc_out")
    >>> monitor.install(executor)
    >>> monitor.tic()
    >>> executor.forward(data=mx.nd.ones((1, 3))) and None
    >>> [(batch, name) for batch, name, value in monitor.toc()]
    [(1, 'fc_output')]

    Statistics are computed where the values are, and fetched together by :meth:`toc`. The latest
    batches' statistics are kept for :meth:`table`, :meth:`heat_map` and notebooks.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Statistic | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval = interval
        self.stat_func: Statistic = root_mean_square if stat_func is None else stat_func
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Executor] = []
        #: (batch, values by name) of the latest batches. Statistics of several numbers are there
        #: number by number, ``name[0]``; what further devices report is ``name #2`` and so on.
        self.history: deque[tuple[int, dict[str, float]]] = deque(maxlen=MAX_BATCHES)

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Collects the statistic of one value: the callback of executors."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Observes an executor too, which reports to one monitor at a time."""
        self.exes.append(exe)
        if self.activated:
            exe.set_monitor_callback(self.stat_helper, self.monitor_all)

    def tic(self) -> None:
        """Begins to collect, if this batch is to be observed; called before ``forward``."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
            for exe in self.exes:
                exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Returns (batch, name, statistic as text) of all values, then of arguments and auxiliary
        states; empty if this batch is not observed. Batches count from 1."""
        if not self.activated:
            return []
        for exe in self.exes:
            exe.set_monitor_callback(None)
            args, aux = exe.symbol.list_arguments(), exe.symbol.list_auxiliary_states()
            for names, arrays in ((args, exe.arg_arrays), (aux, exe.aux_arrays)):
                for name, array in zip(names, arrays, strict=True):
                    self.stat_helper(name, array)
        self.activated = False
        queue, self.queue = self.queue, []
        if self.sort:
            queue.sort(key=lambda entry: entry[1])
        statistics = [_statistic_arrays(name, statistic) for _, name, statistic in queue]
        fetched = jax.device_get([[s.value for s in arrays] for arrays in statistics])
        self._record([name for _, name, _ in queue], fetched)
        return [
            (step, name, "".join(str(v[0] if v.shape == (1,) else v) + "\t" for v in values))
            for (step, name, _), values in zip(queue, fetched, strict=True)
        ]

    def toc_print(self) -> None:
        """Logs the results of :meth:`toc`, at level INFO."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)

    def _record(self, names: Sequence[str], values: Sequence[Sequence[Any]]) -> None:
        numbers_by_name: dict[str, float] = {}
        for name, arrays in zip(names, values, strict=True):
            numbers = [float(x) for array in arrays for x in np.ravel(array)[:_MAX_NUMBERS]]
            device = 1
            label = name
            while label in numbers_by_name or f"{label}[0]" in numbers_by_name:
                device += 1
                label = f"{name} #{device}"
            single = len(numbers) == 1
            labels = [label if single else f"{label}[{i}]" for i in range(len(numbers))]
            numbers_by_name.update(zip(labels, numbers, strict=True))
        if numbers_by_name:
            self.history.append((self.step, numbers_by_name))

    def _collected(self, pattern: str) -> tuple[list[int], dict[str, list[float | None]]]:
        matcher = re.compile(pattern)
        names = dict.fromkeys(n for _, numbers in self.history for n in numbers if matcher.match(n))
        steps = [step for step, _ in self.history]
        return steps, {name: [numbers.get(name) for _, numbers in self.history] for name in names}

    def table(self, pattern: str = ".*") -> ShownView:
        """Returns statistics by name: first, last, least, greatest, and their course. ``pattern``
        is a regular expression for the start of the names. Notebooks show the result; ``.text()``
        and ``.html()`` are its forms."""
        steps, collected = self._collected(pattern)
        rows: list[list[Cell]] = []
        for name, values in collected.items():
            present = [v for v in values if v is not None]
            finite = [abs(v) for v in present if math.isfinite(v)]
            ends = [shown(min(finite)), shown(max(finite))] if finite else ["", ""]
            n_nonfinite = len(present) - len(finite)
            course = Sparkline([abs(v) for v in present[-_MAX_BARS:] if math.isfinite(v)])
            bad: Cell = Emphasis(str(n_nonfinite)) if n_nonfinite else "0"
            first, last = shown(present[0]), shown(present[-1])
            rows.append([clipped(name, 60), first, last, *ends, bad, course])
        header = ["name", "first", "last", "least", "greatest", "not finite", "course"]
        table = Table(header, rows[:_MAX_ROWS], range(1, 6), most_lines=_MAX_LINES)
        omitted = [Line(f"... {len(rows) - _MAX_ROWS} more")] if len(rows) > _MAX_ROWS else []
        return ShownView(_title(steps), [table, *omitted])

    def heat_map(self, pattern: str = ".*") -> ShownView:
        """Returns a heat map: a row for each name, a column for each batch, on a logarithmic scale,
        in which NaNs and infinities stand out."""
        steps, collected = self._collected(pattern)
        drawn = HeatMap(list(collected), [f"batch {s}" for s in steps], list(collected.values()))
        return ShownView(_title(steps), [drawn])


class ShownView(View, Viewed):
    """A view that notebooks show as it is."""

    def __repr__(self) -> str:
        return self.text()


@view_of.register
def _(view: ShownView) -> View:
    return view


@view_of.register
def _(monitor: Monitor) -> View:
    title = f"Monitor of {len(monitor.exes)} executors, every {monitor.interval} batches: "
    heat, table = monitor.heat_map(), monitor.table()
    return View(title + heat.title, [*heat.parts, Fold("table", table.parts)])


def _title(steps: Sequence[int]) -> str:
    if not steps:
        return "nothing collected yet"
    return f"{len(steps)} batches collected, {steps[0]} to {steps[-1]}"


def root_mean_square(array: NDArray) -> NDArray:
    """Returns sqrt(mean x^2), of shape (1,), in the array's dtype (float32 for integers)."""
    return NDArray.from_jax(_root_mean_square(array.value), array.context, shared=False)


@small_jit
def _root_mean_square(x: jax.Array) -> jax.Array:
    kind = x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.dtype("float32")
    wide = x.astype(jnp.promote_types(kind, "float32"))
    return jnp.sqrt(jnp.mean(wide * wide)).reshape(1).astype(kind)


def _statistic_arrays(name: str, statistic: object) -> list[NDArray]:
    arrays = [statistic] if isinstance(statistic, NDArray) else statistic
    if not isinstance(arrays, list) or not all(isinstance(a, NDArray) for a in arrays):
        raise InputTypeError(
            f"monitor: statistic of {name!r}",
            f"stat_func returned a {type(statistic).__name__}, "
            "expected an NDArray or a list of them",
        )
    return arrays
