"""How a batch gets to what a step trains, by name, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import StepError, UnknownArgumentError, explain
from ..executor import Executor
from ..lowering import Graph
from ..parallel._batch_transfer import BatchInput, assign_scattered
from ..parallel._data_parallel_core import DataParallelCore
from ..parallel._group_parameters import set_parameters
from ..program import Options
from ..symbol import Symbol
from ._backends import ExecutorBackend, PerDeviceBackend, PmapBackend


class BatchFeeder:
    """How a batch gets to an executor or a group, by name."""

    def __init__(self, target: Any) -> None:
        """``target``: an Executor, a group, a module or a manager (of what is bound now)."""
        faces = _faces(target)
        group = faces[-1]
        self.executor: Executor | None = None
        self.group: DataParallelCore | None = None
        self.axes: list[int] = []
        if isinstance(group, Executor):
            self.executor = group
        elif isinstance(group, DataParallelCore):
            self.group = group
            if len(group.execs) == 1:
                self.executor = group.execs[0]
            layouts = [f.output_layouts for f in faces if hasattr(f, "output_layouts")]
            self.axes = list(layouts[0]) if layouts else [0] * len(group.outputs)
        else:
            raise StepError(
                explain(
                    "Step",
                    f"a {type(target).__name__}, expected an Executor, an executor group or a "
                    "bound module",
                    hint="module.bind(...) first" if hasattr(target, "bind") else None,
                )
            )

    @property
    def graph(self) -> Graph:
        """The graph that is bound."""
        owner = self.executor or self.group
        assert owner is not None
        return owner._graph

    @property
    def options(self) -> Options:
        """The options that it was bound with."""
        owner = self.executor or self.group
        assert owner is not None
        return owner._options

    @property
    def symbol(self) -> Symbol:
        """The symbol that is bound."""
        if self.executor is not None:
            return self.executor.symbol
        assert self.group is not None
        return self.group.symbol

    def set_params(self, args: Mapping[str, Any], aux: Mapping[str, Any]) -> None:
        """Copies parameters by name to all devices, all of them checked first."""
        if self.group is not None:
            set_parameters(self.group, args, aux, False)
        elif self.executor is not None:
            self.executor.copy_params_from(args, aux)

    @property
    def inputs(self) -> list[str]:
        """Arguments that a group loads with batches; none are known of an executor."""
        return [i.name for i in self.group.inputs] if self.group else []

    def requests(self) -> list[str]:
        """The gradient request of each argument."""
        if self.executor is not None:
            grads = self.executor.grad_arrays or [None] * len(self.executor.arg_arrays)
            return [
                "null" if g is None else r
                for g, r in zip(grads, self.executor._grad_req, strict=True)
            ]
        assert self.group is not None
        return self.group.grad_req

    def target(self, wanted: tuple[int, ...]) -> ExecutorBackend | PmapBackend | PerDeviceBackend:
        """What a step of these parameters runs on."""
        if self.executor is not None:
            return ExecutorBackend(self.executor, wanted)
        assert self.group is not None
        kind = PmapBackend if self.group.is_mapped else PerDeviceBackend
        return kind(self.group, wanted, self.axes)

    def feed(self, batch: Mapping[str, Any]) -> None:
        """Writes a batch, all of it checked first."""
        if self.group is None:
            assert self.executor is not None
            self.executor.feed(batch)
            return
        known = {i.name: i for i in self.group.inputs}
        for name in batch:
            if name not in known:
                raise UnknownArgumentError(
                    explain("step", f"unknown input {name!r}", hint="one of: " + ", ".join(known))
                )
        chosen: list[BatchInput] = [known[name] for name in batch]
        for write in self.group.scattered(chosen, list(batch.values()), "step"):
            assign_scattered(*write)


def _faces(target: Any) -> list[Any]:
    """A module's group, a manager's, and the core of either."""
    found = [target]
    for name in ("_curr_module", "_exec_group", "curr_execgrp", "_group"):
        following = getattr(found[-1], name, None)
        if following is not None:
            found.append(following)
    return found
