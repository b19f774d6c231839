"""Reads what ``jax.profiler`` has written: events, and the nodes that kernels come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jax.profiler import ProfileData

from ._objects import annotated

#: Kernels that run other kernels, which are recorded too.
_CONTAINERS = ("while", "call", "conditional", "async-start", "async-done")
#: Parts of an operation's name that come from how it was traced, not from a node.
_WRAPPERS = {
    "body", "checkpoint", "closed_call", "cond", "custom_jvp_call", "custom_vjp_call",
    "rematted_computation", "remat", "scan", "shard_map", "while",
}  # fmt: skip


class Record(NamedTuple):
    """Something that happened. Times are in microseconds; ``begin`` since 1970."""

    name: str
    category: str
    kind: str
    begin: float
    duration: float
    process: str
    thread: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Instruction:
    """Of a compiled program: its HLO opcode, and JAX's name of the operation behind it."""

    opcode: str
    operation: str


class Trace:
    """One recording: a file that ends in ``.xplane.pb``."""

    def __init__(self, path: Path) -> None:
        self._contents = path.read_bytes()

    def records(self) -> Iterator[Record]:
        """Everything that was recorded; what is neither a kernel nor a mark of the program's own
        has the category 'api'."""
        data = ProfileData.from_serialized_xspace(self._contents)
        planes = list(data.planes)
        start = next(
            (value for p in planes for name, value in p.stats if name == "profile_start_time"), 0
        )
        for plane in planes:
            for line in plane.lines:
                for event in line.events:
                    details = dict(event.stats)
                    name, category, kind = self._described(event.name, details)
                    begin = (int(start) + event.start_ns) / 1000
                    duration = event.duration_ns / 1000
                    yield Record(
                        name, category, kind, begin, duration, plane.name, line.name, details
                    )

    def _described(self, name: str, details: dict[str, Any]) -> tuple[str, str, str]:
        own = annotated(details)
        if own is not None:
            return own
        if "hlo_op" not in details or "hlo_module" not in details:
            return name, "api", "time"
        module, op = str(details["hlo_module"]), str(details["hlo_op"])
        program = f"{module}({details.get('program_id')})"
        instruction = self._instructions.get((program, op))
        if instruction is not None and instruction.opcode in _CONTAINERS:
            return op, "api", "time"
        node = None if instruction is None else node_of(instruction.operation)
        return node or module.removeprefix("jit_"), "operator", "time"

    @cached_property
    def _instructions(self) -> dict[tuple[str, str], Instruction]:
        """By program and name. The profiler keeps the programs that ran as HloProto messages, in
        the metadata of a plane of its own, which ProfileData does not show."""
        found = {}
        for plane in _messages(memoryview(self._contents), 1):
            if _text(plane, 2) != "/host:metadata":
                continue
            for entry in _messages(plane, 4):
                metadata = next(_messages(entry, 2))
                program = _text(metadata, 2)
                for stat in _messages(metadata, 5):
                    for proto in _messages(stat, 6):
                        for name, instruction in _of_module(next(_messages(proto, 1))):
                            found[program, name] = instruction
        return found


def _of_module(module: memoryview) -> Iterator[tuple[str, Instruction]]:
    for computation in _messages(module, 3):
        for instruction in _messages(computation, 2):
            metadata = next(_messages(instruction, 7), None)
            operation = "" if metadata is None else _text(metadata, 2)
            yield _text(instruction, 1), Instruction(_text(instruction, 2), operation)


def node_of(operation: str) -> str | None:
    """The node in JAX's name of an operation, with ``_backward`` if it belongs to a gradient.

    >>> node_of("jit(forward)/fc1/dot_general")
    'fc1'
    >>> node_of("jit(forward_backward)/transpose(jvp(fc1))/jit(_where)/select_n")
    'fc1_backward'
    >>> node_of("jit(add)/add") is None
    True
    """
    parts, backward = [], False
    for part in _split(operation)[:-1]:
        bare = part
        while match := re.fullmatch(r"(jvp|transpose|vmap|pmap|remat|checkpoint)\((.*)\)", bare):
            backward |= match[1] == "transpose"
            bare = match[2]
        if bare in _WRAPPERS or re.match(r"p?jit\(|pmap\(|branch_\d+", bare) or not bare:
            if parts:
                break
            continue
        parts.append(bare)
    return "/".join(parts) + "_backward" * backward if parts else None


def _split(operation: str) -> list[str]:
    """The parts between slashes that are in no parentheses."""
    parts, depth = [""], 0
    for character in operation:
        depth += (character == "(") - (character == ")")
        if character == "/" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


# The wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding


def _messages(buffer: memoryview, number: int) -> Iterator[memoryview]:
    """The contents of all length-delimited fields with this number."""
    i = 0
    while i < len(buffer):
        tag, i = _varint(buffer, i)
        kind = tag & 7
        if kind == 0:
            _, i = _varint(buffer, i)
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, i = _varint(buffer, i)
        if kind == 2 and tag >> 3 == number:
            yield buffer[i : i + size]
        i += size


def _text(buffer: memoryview, number: int) -> str:
    return str(next(_messages(buffer, number), b""), "utf-8", "replace")


def _varint(buffer: memoryview, i: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[i]
        i += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, i
        shift += 7
