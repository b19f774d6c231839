"""Compiled programs in the profiler's recordings, and the node that each instruction comes from."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Parts of an operation's name that come from tracing, not from a node.
_WRAPPERS = {
    "body", "checkpoint", "closed_call", "cond", "custom_jvp_call", "custom_vjp_call",
    "rematted_computation", "remat", "scan", "shard_map", "while",
}  # fmt: skip


@dataclass(slots=True)
class Instruction:
    """One instruction of a compiled program: its HLO ``opcode``, the ``node`` it was compiled from
    (None without one), ``is_lost`` if XLA has lost that name, and the numbers of the instructions
    that it ``reads`` and of its ``users``."""

    opcode: str
    node: str | None
    is_lost: bool
    reads: tuple[int, ...] = ()
    users: list[int] = field(default_factory=list)


def instructions(module: memoryview) -> Iterator[tuple[str, Instruction]]:
    """Returns the instructions of an HloModuleProto, by name, called computations first.

    XLA loses the names of instructions that it creates: of transposed convolutions, of copies and
    of fusions. Such an instruction gets the node of the last one that it fuses, else a user's, else
    the node of an instruction that it reads.
    """
    fused: dict[int, str | None] = {}
    for computation in messages(module, 3):
        by_number: dict[int, Instruction] = {}
        names = []
        for message in messages(computation, 2):
            metadata = next(messages(message, 7), None)
            operation = "" if metadata is None else text(metadata, 2)
            node, opcode = node_of(operation), text(message, 2)
            lost = not operation and opcode not in ("parameter", "constant")
            reads, calls = (tuple(_numbers(message, k)) for k in (36, 38))
            if lost and opcode == "fusion":
                node = next((fused[c] for c in calls if fused.get(c)), None)
            number = next(_numbers(message, 35), -1)
            by_number[number] = Instruction(opcode, node, lost, reads)
            names.append(text(message, 1))
            for source in reads:
                if source in by_number:
                    by_number[source].users.append(number)
        _inherit(by_number)
        named = [instruction.node for instruction in by_number.values() if instruction.node]
        fused[next(_numbers(computation, 5), -1)] = named[-1] if named else None
        yield from zip(names, by_number.values(), strict=True)


def _inherit(by_number: Mapping[int, Instruction]) -> None:
    lost = [one for one in by_number.values() if one.is_lost and one.node is None]
    for instruction in reversed(lost):
        users = (by_number[number] for number in instruction.users)
        instruction.node = next((user.node for user in users if user.node), None)
    for instruction in lost:
        if instruction.node is None:
            sources = (by_number[number] for number in instruction.reads if number in by_number)
            instruction.node = next((source.node for source in sources if source.node), None)


def node_of(operation: str) -> str | None:
    """Returns the node in JAX's name of an operation, with ``_backward`` for a gradient.

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
    parts, depth = [""], 0
    for character in operation:
        depth += (character == "(") - (character == ")")
        if character == "/" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


# The wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding


def _fields(buffer: memoryview) -> Iterator[tuple[int, Any]]:
    i = 0
    while i < len(buffer):
        tag, i = _varint(buffer, i)
        kind = tag & 7
        if kind == 0:
            value, i = _varint(buffer, i)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, i = _varint(buffer, i)
            yield tag >> 3, buffer[i : i + size]
        i += size


def messages(buffer: memoryview, number: int) -> Iterator[memoryview]:
    for field_number, value in _fields(buffer):
        if field_number == number and not isinstance(value, int):
            yield value


def _numbers(buffer: memoryview, number: int) -> Iterator[int]:
    for field_number, value in _fields(buffer):
        if field_number != number:
            continue
        if isinstance(value, int):
            yield value
            continue
        i = 0
        while i < len(value):
            element, i = _varint(value, i)
            yield element


def text(buffer: memoryview, number: int) -> str:
    return str(next(messages(buffer, number), b""), "utf-8", "replace")


def _varint(buffer: memoryview, i: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[i]
        i += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, i
        shift += 7
