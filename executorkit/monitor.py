"""``mx.mon`` / ``mx.monitor``: statistics of a network's values while it runs.

monitor = mx.mon.Monitor(100, pattern=".*weight|.*output")
monitor.install(executor)
for batch in batches:
    monitor.tic()
    executor.forward(is_train=True, data=batch)
    executor.backward()
    monitor.toc_print()
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .errors import MXNetError, explain
from .executor import Executor
from .ndarray import NDArray

__all__ = ["Monitor", "StatisticError", "root_mean_square"]

Statistic = Callable[[NDArray], Any]


class StatisticError(MXNetError, TypeError, AssertionError):
    """A monitor's statistic returned something else than NDArrays."""


class Monitor:
    """Collects a statistic of operators' outputs, their gradients, parameters and states.

    interval
        every so many batches are looked at. Executors report values only in these; all others run
        as if there were no monitor. (In MXNet values are always reported.)
    stat_func
        from an NDArray to an NDArray or a list of them; by default the root mean square.
    pattern
        a regular expression that the names of values to be looked at start with; gradients are
        named ``fc_backward_output0``.
    sort
        sorts the results by name.
    monitor_all
        looks at the operators' inputs too.

    Statistics are computed where the values are, and fetched together by :meth:`toc`.
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

    def stat_helper(self, name: str, array: NDArray) -> None:
        """What executors call with each value."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Looks at an executor too, which reports to one monitor at a time."""
        self.exes.append(exe)
        if self.activated:
            exe.set_monitor_callback(self.stat_helper, self.monitor_all)

    def tic(self) -> None:
        """Before ``forward``: begins to collect, if this batch is to be looked at."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
            for exe in self.exes:
                exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """After the batch: (batch, name, statistic as text) of all values, then of arguments and
        auxiliary states; empty if this batch is not looked at. Batches count from 1."""
        if not self.activated:
            return []
        for exe in self.exes:
            exe.set_monitor_callback(None)
            symbol = exe.symbol
            for names, arrays in (
                (symbol.list_arguments(), exe.arg_arrays),
                (symbol.list_auxiliary_states(), exe.aux_arrays),
            ):
                for name, array in zip(names, arrays, strict=True):
                    self.stat_helper(name, array)
        self.activated = False
        queue, self.queue = self.queue, []
        if self.sort:
            queue.sort(key=lambda entry: entry[1])
        statistics = [_listed(name, found) for _, name, found in queue]
        fetched = jax.device_get([[s._value for s in found] for found in statistics])
        return [
            (step, name, "".join(f"{_shown(v)}\t" for v in values))
            for (step, name, _), values in zip(queue, fetched, strict=True)
        ]

    def toc_print(self) -> None:
        """Like :meth:`toc`, with the results in the log, at level INFO."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)


def root_mean_square(array: NDArray) -> NDArray:
    """sqrt(mean x^2), of shape (1,), in the array's dtype (float32 for integers)."""
    with jax.enable_x64(True):
        value = _root_mean_square(array._value)
    return NDArray._from_jax(value, array.context, shared=False)


@jax.jit
def _root_mean_square(x: jax.Array) -> jax.Array:
    kind = x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.dtype("float32")
    wide = x.astype(jnp.promote_types(kind, "float32"))
    return jnp.sqrt(jnp.mean(wide * wide)).reshape(1).astype(kind)


def _listed(name: str, found: Any) -> list[NDArray]:
    arrays = [found] if isinstance(found, NDArray) else found
    if not isinstance(arrays, list) or not all(isinstance(a, NDArray) for a in arrays):
        raise StatisticError(
            explain(
                f"monitor: statistic of {name!r}",
                f"stat_func returned a {type(found).__name__}, "
                "expected an NDArray or a list of them",
            )
        )
    return arrays


def _shown(value: Any) -> str:
    return str(value[0] if value.shape == (1,) else value)
