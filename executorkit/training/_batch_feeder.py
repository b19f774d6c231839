"""Writes batches, given by input name, to the arrays of a training step's target."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax

from ..errors import ModuleUsageError, StepError, UnknownArgumentError
from ..executor import Executor, is_input_name
from ..parallel import DataParallel, DataParallelCore, assign_scattered, set_parameters
from ._backends import Backend, ExecutorBackend, GroupBackend


class BatchFeeder:
    """Writes batches by name. ``alone``: this process trains for itself beside others; ``joins``: a
    step is by the gradients of all; ``executor`` or ``core`` is None."""

    def __init__(self, target: Any, alone: bool = False) -> None:
        self.executor: Executor | None = None
        self.core: DataParallelCore | None = None
        self.axes: list[int] = []
        self.joins = False
        if isinstance(target, Executor):
            self.executor = target
            return
        self.core = core = _core_of(target)
        self.joins = jax.process_count() > 1 and not alone
        if len(core.contexts) == 1 and not self.joins and not core.divides_parameters:
            self.executor = core.execs[0]
        layouts = target.output_layouts if isinstance(target, DataParallel) else None
        self.axes = [0] * len(core.outputs) if layouts is None else list(layouts)

    @property
    def bound(self) -> Executor | DataParallelCore:
        bound = self.executor or self.core
        assert bound is not None
        return bound

    def parameter_indices(self, inputs: Iterable[str] | None) -> tuple[int, ...]:
        names = self.bound.graph.arg_names
        if inputs is None:
            loaded = self.core.inputs if self.core else ()  # the names of an executor are unknown
            fixed = {n for n in names if is_input_name(n)} | {i.name for i in loaded}
        else:
            fixed = set(inputs)
            unknown = sorted(fixed - set(names))
            if unknown:
                problem = f"no argument is called {', '.join(map(repr, unknown))}"
                raise StepError("Step: inputs", problem, hint="one of: " + ", ".join(names))
        executor = self.executor
        requests = executor.effective_grad_req if executor is not None else self.bound.grad_req
        indices = tuple(
            i
            for i, (name, request) in enumerate(zip(names, requests, strict=True))
            if request != "null" and name not in fixed
        )
        if not indices:
            because = "parameters are arguments with a gradient, inputs apart"
            hint = "bind with gradients: simple_bind(grad_req='write', ...)"
            raise StepError("Step", "no parameter to train", because=because, hint=hint)
        return indices

    def set_params(self, args: Mapping[str, object], aux: Mapping[str, object]) -> None:
        if self.core is not None:
            set_parameters(self.core, args, aux, False)
        elif self.executor is not None:
            self.executor.copy_params_from(args, aux)

    def count_step(self) -> None:
        for target in (self.core, self.executor):
            if target is not None:
                target.count_step()

    def backend(self, argnums: tuple[int, ...]) -> Backend:
        if self.executor is not None:
            return ExecutorBackend(self.executor, argnums)
        assert self.core is not None
        return GroupBackend(self.core, argnums, self.axes, self.joins)

    def feed(self, batch: Mapping[str, object]) -> None:
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


def _core_of(target: object) -> DataParallelCore:
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
