"""Writes batches, given by input name, to the arrays of a training step's target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ModuleUsageError, StepError, UnknownArgumentError
from ..executor import Executor
from ..lowering import Graph
from ..parallel import DataParallel, DataParallelCore, assign_scattered, set_parameters
from ..program import Options
from ..symbol import Symbol
from ._backends import Backend, ExecutorBackend, GroupBackend


class BatchFeeder:
    """Writes batches to an executor or a group, by name.

    target
        an Executor, or what trains on several devices: a group, a manager or a module.

    executor
        the executor, or the only one of a group; None for several devices.
    core
        the group's core; None for an Executor.
    """

    def __init__(self, target: Any) -> None:
        self.executor: Executor | None = None
        self.core: DataParallelCore | None = None
        self.axes: list[int] = []
        if isinstance(target, Executor):
            self.executor = target
            return
        self.core = core = _core_of(target)
        if len(core.execs) == 1:
            self.executor = core.execs[0]
        layouts = target.output_layouts if isinstance(target, DataParallel) else None
        self.axes = [0] * len(core.outputs) if layouts is None else list(layouts)

    @property
    def _bound(self) -> Executor | DataParallelCore:
        bound = self.executor or self.core
        assert bound is not None
        return bound

    @property
    def graph(self) -> Graph:
        """The graph that is bound."""
        return self._bound.graph

    @property
    def options(self) -> Options:
        """The options that it was bound with."""
        return self._bound.options

    @property
    def symbol(self) -> Symbol:
        """The symbol that is bound."""
        return self._bound.symbol

    def set_params(self, args: Mapping[str, Any], aux: Mapping[str, Any]) -> None:
        """Copies parameters by name to all devices, all of them checked first."""
        if self.core is not None:
            set_parameters(self.core, args, aux, False)
        elif self.executor is not None:
            self.executor.copy_params_from(args, aux)

    def count_step(self) -> None:
        """Tells the target that a step has been taken."""
        for target in (self.core, self.executor):
            if target is not None:
                target.count_step()

    @property
    def inputs(self) -> list[str]:
        """Arguments that a group loads with batches; none are known of an executor."""
        return [i.name for i in self.core.inputs] if self.core else []

    @property
    def grad_req(self) -> list[str]:
        """The gradient request of each argument."""
        if self.executor is not None:
            return self.executor.effective_grad_req
        assert self.core is not None
        return self.core.grad_req

    def backend(self, argnums: tuple[int, ...]) -> Backend:
        """The backend of a step that trains these arguments."""
        if self.executor is not None:
            return ExecutorBackend(self.executor, argnums)
        assert self.core is not None
        return GroupBackend(self.core, argnums, self.axes)

    def feed(self, batch: Mapping[str, Any]) -> None:
        """Writes a batch, all of it checked first."""
        if self.core is None:
            assert self.executor is not None
            self.executor.feed(batch)
            return
        inputs = {i.name: i for i in self.core.inputs}
        for name in batch:
            if name not in inputs:
                hint = "one of: " + ", ".join(inputs)
                raise UnknownArgumentError("step", f"unknown input {name!r}", hint=hint)
        selected = [inputs[name] for name in batch]
        for assignment in self.core.scattered(selected, list(batch.values()), "step"):
            assign_scattered(*assignment)


def _core_of(target: Any) -> DataParallelCore:
    if isinstance(target, DataParallelCore):
        return target
    if isinstance(target, DataParallel):
        try:
            return target.core
        except ModuleUsageError:
            pass
    raise StepError(
        "Step",
        f"a {type(target).__name__}, expected an Executor, an executor group or a bound module",
        hint="module.bind(...) first, or symbol.simple_bind(...)",
    )
