"""The step of a job with several processes in this one alone, and as other numbers of hosts would
run it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import AbstractMesh

from executorkit.kvstore import Aggregation
from executorkit.ops.nn.moments import DEVICE_AXIS
from executorkit.parallel._job_steps import JoiningStep, joining_step
from executorkit.parallel._replicas import PROCESS_AXIS
from executorkit.program import REPLICATED_ARGS

_ALL_REDUCE = re.compile(r'"stablehlo\.all_reduce".*?\}\) : \((.*?)\) ->', re.DOTALL)
_TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z]+)(\d+)>")


def join(module: Any) -> Any:
    """The module, whose steps are those of a job from now on; of one process, here."""
    optimizer = module._module_optimizer
    optimizer.aggregation = Aggregation.JOB
    module.set_keep_gradients(False)
    return module


class JobStep(NamedTuple):
    """The step that a module of a job has taken."""

    program: Any
    train: bool
    spec: Any
    function: JoiningStep

    @classmethod
    def of(cls, module: Any) -> JobStep:
        program = module.core.pmapped.program
        steps = program._train_steps.items()
        ((key, function),) = [(k, f) for k, f in steps if f.traces and k[1].joins_processes]
        train, spec = key
        return cls(program.program, train, spec, function)

    def lowered(self, hosts: int, devices: int = 1, on_cpu: bool = True) -> str:
        """The text of the step for a mesh of so many hosts, none of which is there."""
        job: Any = _AbstractJob(hosts, devices, on_cpu)
        step = joining_step(self.program, self.train, self.spec, job)
        function = self.function.over_mesh(step, job.mesh)
        assert self.function.avals is not None
        arguments = list(self.function.avals)
        if not on_cpu:  # the offsets: arrays are sent one by one
            arguments[-1] = ((), tuple(() for _ in self.spec.updates))
        avals = [
            jax.tree.map(lambda a, i=i: job.aval(a, i in REPLICATED_ARGS), argument)
            for i, argument in enumerate(arguments)
        ]
        with jax.enable_x64(True):
            return function.trace(*avals).lower(lowering_platforms=("cpu",)).as_text()


class _AbstractJob:
    """What a step asks of :class:`JobReplicas`, for devices that are not there."""

    def __init__(self, hosts: int, devices: int, on_cpu: bool) -> None:
        self.mesh = AbstractMesh((hosts, devices), (PROCESS_AXIS, DEVICE_AXIS))
        self.joins_messages = on_cpu

    def __len__(self) -> int:
        return self.mesh.size

    def aval(self, aval: Any, same: bool) -> jax.ShapeDtypeStruct:
        """An argument of one process as one of all; ``same`` if it is equal on all devices."""
        shape = aval.shape if same else (len(self), *aval.shape[1:])
        return jax.ShapeDtypeStruct(shape, aval.dtype)


class Sum(NamedTuple):
    """A sum over the devices of a job."""

    dtype: str
    elements: int
    bytes: int


def sums_in(text: str) -> list[Sum]:
    """The sums of a lowered program, one for each array that is sent."""
    sums = []
    for operands in _ALL_REDUCE.findall(text):
        for shape, kind, bits in _TENSOR.findall(operands):
            elements = int(np.prod([int(n) for n in shape.split("x") if n], dtype=int))
            sums.append(Sum(kind + bits, elements, elements * int(bits) // 8))
    return sums
