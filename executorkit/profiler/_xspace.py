"""Reader of the recordings of ``jax.profiler``: events, and the nodes that kernels come from."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.profiler import ProfileData

from ._annotations import parse_annotation
from ._hlo import Instruction, instructions, messages, text

#: Kernels that run other kernels, which are recorded too.
_CONTAINERS = ("while", "call", "conditional", "async-start", "async-done")

#: Names of threads on which XLA compiles.
_COMPILER_THREAD = re.compile("compiler|codegen", re.IGNORECASE)

Instructions = dict[str, Instruction]


class Record(NamedTuple):
    """One event. Times are in microseconds; ``begin`` since 1970."""

    name: str
    category: str
    kind: str
    begin: float
    duration: float
    process: str
    thread: str
    details: dict[str, Any]


def span_record(span: tuple[str, str, float, float]) -> Record:
    """Returns a time span as a record of this thread; see ``LongSpans``."""
    name, category, begin, duration = span
    return Record(
        name, category, "time", begin, duration, process="/host:CPU", thread="python", details={}
    )


class Recording:
    def __init__(self, path: Path) -> None:
        self._contents = path.read_bytes()

    def records(self) -> Iterator[Record]:
        data = ProfileData.from_serialized_xspace(self._contents)
        planes = list(data.planes)
        starts = (v for p in planes for name, v in p.stats if name == "profile_start_time")
        start = next(starts, 0)
        for plane in planes:
            for line in plane.lines:
                if _COMPILER_THREAD.search(line.name):
                    continue  # hundreds of XLA's passes for each program
                for event in line.events:
                    details = dict(event.stats)
                    yield Record(
                        *self._described(event.name, details),
                        begin=(int(start) + event.start_ns) / 1000,
                        duration=event.duration_ns / 1000,
                        process=plane.name,
                        thread=line.name,
                        details=details,
                    )

    def _described(self, name: str, details: dict[str, Any]) -> tuple[str, str, str]:
        annotation = parse_annotation(details)
        if annotation is not None:
            return annotation
        if "hlo_op" not in details or "hlo_module" not in details:
            return name, "api", "time"
        module, op = str(details["hlo_module"]), str(details["hlo_op"])
        instruction = self._compiled(f"{module}({details.get('program_id')})").get(op)
        if instruction is not None and instruction.opcode in _CONTAINERS:
            return op, "api", "time"
        node = None if instruction is None else instruction.node
        return node or module.removeprefix("jit_"), "operator", "time"

    def _compiled(self, program: str) -> Instructions:
        if program not in self._programs:
            module = program.rpartition("(")[0]
            ran = self._kernels.get(program, set())
            alive = (dict(instructions(memoryview(m))) for m in _live_modules(module))
            self._programs[program] = next((one for one in alive if ran <= one.keys()), {})
        return self._programs[program]

    @cached_property
    def _programs(self) -> dict[str, Instructions]:
        programs: dict[str, Instructions] = {}
        for plane in messages(memoryview(self._contents), 1):
            if text(plane, 2) != "/host:metadata":
                continue
            for entry in messages(plane, 4):
                metadata = next(messages(entry, 2))
                program = programs.setdefault(text(metadata, 2), {})
                for stat in messages(metadata, 5):
                    for proto in messages(stat, 6):
                        program.update(instructions(next(messages(proto, 1))))
        return programs

    @cached_property
    def _kernels(self) -> dict[str, set[str]]:
        kernels: dict[str, set[str]] = {}
        for plane in ProfileData.from_serialized_xspace(self._contents).planes:
            for event in (event for line in plane.lines for event in line.events):
                details = dict(event.stats)
                if "hlo_op" in details and "hlo_module" in details:
                    program = f"{details['hlo_module']}({details.get('program_id')})"
                    kernels.setdefault(program, set()).add(str(details["hlo_op"]))
        return kernels


def _live_modules(name: str) -> Iterator[bytes]:
    devices = (jax.local_devices()[0], jax.local_devices(backend="cpu")[0])
    for client in {device.client for device in devices}:
        for executable in client.live_executables():
            for module in executable.hlo_modules():
                if module.name == name:
                    yield module.as_serialized_hlo_module_proto()
