"""Files that were damaged on purpose: mutations by seed, and the reading of each kind of file.

A mutation is determined by the kind of file and its seed. :func:`outcome` reads the mutated file
and returns None if it was read, or refused by an error of the package that names the file; else a
text that says what went wrong.
"""

from __future__ import annotations

import contextlib
import json
import random
import struct
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import executorkit as mx
from executorkit import recordio
from executorkit.errors import MXNetError

DATA = Path(__file__).parents[1] / "golden" / "data"

_NUMBERS = (0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32 - 1,
            2**40, 2**60, 2**62, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
_WORDS = (
    "null", "add_n", "Custom", "_foreach", "SliceChannel", "data", "", "a" * 300, "(1,2", "((((",
    "-1", "1e400", "nan", "None", "True", "99999999999999999999", "\0", "ü", "0x10", "[1, [2]]",
)  # fmt: skip


def _network() -> mx.sym.Symbol:
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=2, name="conv")
    x = mx.sym.BatchNorm(x, name="bn", lr_mult=2)
    a, b = mx.sym.SliceChannel(x, num_outputs=2, name="slice")
    x = mx.sym.concat(a, b, dim=1, name="concat")
    x, _ = mx.sym.contrib.foreach(lambda x, s: (x * 2, s), x, [], name="loop")
    x = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _module_states() -> bytes:
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater([0, 1], [mx.nd.ones((2,)), mx.nd.ones((3,))], [mx.nd.ones((2,)), mx.nd.ones((3,))])
    return mx.optimizer.dump_updater(updater)


def _records() -> bytes:
    mark = struct.pack("<I", 0xCED7230A)
    header = recordio.IRHeader(0, 1.5, 7, 0)
    images = [recordio.pack(header, b"image"), recordio.pack(header._replace(label=[1, 2]), b"y")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        writer = recordio.MXRecordIO(str(path), "w")
        for record in (b"golden", b"", b"x" * 9, mark * 3, b"abc" + mark, bytes(200), *images):
            writer.write(record)
        writer.close()
        return path.read_bytes()


@lru_cache
def samples(kind: str) -> tuple[bytes, ...]:
    """Whole files of a kind."""
    if kind == "params":
        names = ("list", "names", "dtypes", "nothing", "no_elements", "np", "v0", "v1")
        return tuple((DATA / f"{name}.params").read_bytes() for name in names)
    if kind == "symbol":
        return (_network().tojson().encode(),)
    if kind == "states":
        files = sorted(DATA.glob("optimizer_*.states"))
        return (*(path.read_bytes() for path in files), _module_states())
    return (_records(),)


def _read_symbol(path: Path) -> None:
    symbol = mx.sym.load(str(path))
    for describe in (symbol.list_arguments, symbol.list_auxiliary_states, symbol.tojson):
        describe()


def _read_states(path: Path) -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    content = mx.optimizer.read_state_file(path)
    mx.optimizer.prepare_restoration(updater, content, {"a": 0, "b": 1}, [0], str(path))()


def _read_records(path: Path) -> None:
    reader = recordio.MXRecordIO(str(path), "r")
    try:
        while (record := reader.read()) is not None:
            with contextlib.suppress(MXNetError):  # of a record, not of the file
                recordio.unpack(record)
    finally:
        reader.close()


READERS: dict[str, Callable[[Path], object]] = {
    "params": lambda path: mx.nd.load(str(path)),
    "symbol": _read_symbol,
    "states": _read_states,
    "records": _read_records,
}


def mutate(kind: str, seed: int) -> bytes:
    """A damaged file: one of the samples after up to four random edits."""
    draw = random.Random(f"{kind} {seed}")
    content = bytearray(draw.choice(samples(kind)))
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        edits = (*_EDITS, _edit_json, _edit_json, _edit_json) if kind == "symbol" else _EDITS
        content = bytearray(draw.choice(edits)(draw, content, kind))
    return bytes(content)


def _flip(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    for _ in range(draw.choice((1, 1, 2, 8)) if content else 0):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return content


def _set_byte(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    if content:
        content[draw.randrange(len(content))] = draw.choice((0, 1, 127, 128, 255, 0x22, 0x7B))
    return content


def _set_number(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    size = draw.choice((2, 4, 8))
    number = draw.choice(_NUMBERS) % 2 ** (8 * size)
    at = draw.randrange(len(content) + 1)
    content[at : at + size] = number.to_bytes(size, "little")
    return content


def _truncate(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    return content[: draw.randrange(len(content) + 1)]


def _delete(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    at = draw.randrange(len(content) + 1)
    del content[at : at + draw.choice((1, 2, 4, 8, 100))]
    return content


def _insert(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    at = draw.randrange(len(content) + 1)
    content[at:at] = draw.randbytes(draw.choice((1, 4, 8, 50)))
    return content


def _repeat(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    at = draw.randrange(len(content) + 1)
    part = content[at : at + draw.randrange(64)]
    content[at:at] = part * draw.choice((1, 2, 100))
    return content


def _splice(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    other = draw.choice(samples(draw.choice((*READERS, kind))))
    return content[: draw.randrange(len(content) + 1)] + other[draw.randrange(len(other) + 1) :]


def _edit_json(draw: random.Random, content: bytearray, kind: str) -> bytes | bytearray:
    """Replaces, deletes or moves one value of a JSON text."""
    try:
        root = json.loads(bytes(content))
    except (ValueError, RecursionError):
        return content
    places: list[tuple[dict | list, str | int]] = []
    queue: list[object] = [root]
    for value in queue:
        if isinstance(value, dict | list):
            places += [
                (value, k) for k in (value if isinstance(value, dict) else range(len(value)))
            ]
            queue += value.values() if isinstance(value, dict) else value
    if not places:
        return content
    (target, key), (source, other) = draw.choice(places), draw.choice(places)
    number = draw.choice((-1, 0.5, *_NUMBERS))
    text = json.dumps(source[other])  # type: ignore[index]
    new = draw.choice((number, draw.choice(_WORDS), str(number), None, [], {}, json.loads(text)))
    if draw.random() < 0.2:
        del target[key]  # type: ignore[arg-type]
    else:
        target[key] = new  # type: ignore[index]
    return json.dumps(root).encode()


_EDITS = (_flip, _set_byte, _set_number, _truncate, _delete, _insert, _repeat, _splice)


def outcome(kind: str, content: bytes, path: Path) -> str | None:
    """Reads bytes as a file of a kind; None if that ends as it should."""
    path.write_bytes(content)
    try:
        READERS[kind](path)
    except MXNetError as error:
        if str(path) not in str(error):
            return f"{type(error).__name__} without the file's name: {error}"
        if len(str(error)) > 100_000:
            return f"{type(error).__name__}: a message of {len(str(error))} characters"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
