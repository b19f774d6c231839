"""Fingerprints: texts that distinguish a computation and its environment from all others.

A fingerprint is the same in every process. Equal fingerprints mean equal computations: a value that
a text cannot distinguish for certain (an object of a class that is not ours, a function of the
user's) has none.
"""

import dataclasses
import hashlib
import os
import platform
import threading
import time
import types
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxlib.version import __version__ as jaxlib_version

from ..._support.annotations import Function
from ...context import Device
from ...errors import NotFingerprintableError
from ...lowering import LoweredBody
from ...ops import OpDef, Params
from ...ops.schema.operator_registry import NUMPY_OPS, all_ops
from .._background_tasks import submit_after
from .switch import disk_cache_enabled, remembered

# -- values --------------------------------------------------------------------------------------

#: Packages whose code does not change while their version stays (the versions of the first two, and
#: the hash of our files, are a part of every key).
_PACKAGES = ("executorkit", "jax", "optax")
_PLAIN = (type(None), bool, int, str, bytes)
#: Maximum size of an array in a fingerprint, in bytes.
_MAX_BYTES = 4096
#: The operators of this package, before a user can register any.
_BUILT_IN = frozenset(all_ops())


def fingerprint(value: Any) -> str:
    """Writes numbers, texts, containers, operators, dataclasses and functions of trusted packages,
    with their contents. NotFingerprintableError for others."""
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, float | complex):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, Params):
        return fingerprint(value.key)
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        contents = [getattr(value, f.name) for f in dataclasses.fields(value)]
        return f"{_qualified(type(value))}{_items(contents)}"
    raise NotFingerprintableError(f"{type(value).__name__} {value!r}")


def _items(values: Any) -> str:
    return f"({','.join(map(fingerprint, values))})"


def _sequence(value: Any) -> str:
    kind = type(value)
    name = "" if kind is tuple else "list" if kind is list else _qualified(kind)
    return name + _items(value)


def _mapping(value: Mapping[Any, Any]) -> str:
    return f"{{{','.join(sorted(f'{fingerprint(k)}:{fingerprint(v)}' for k, v in value.items()))}}}"


def _array(value: Any) -> str:
    array = np.asarray(value)
    if array.dtype.hasobject or array.nbytes > _MAX_BYTES:
        raise NotFingerprintableError(f"an array of {array.nbytes} bytes")
    return f"array {array.dtype.name}{array.shape}{array.tobytes().hex()}"


def _operator(op: OpDef) -> str:
    if op not in _BUILT_IN and NUMPY_OPS.get(op.name) is not op:
        raise NotFingerprintableError(f"operator {op.name}")
    return f"operator {op.name}"


def _function(function: Function) -> str:
    code = function.__code__
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    contents = [closure, function.__defaults__, function.__kwdefaults__]
    return f"function {_qualified(function)} {code.co_firstlineno} {_items(contents)}"


def _qualified(thing: Any) -> str:
    # A function that wraps another one has taken over the name of its module, too.
    module = thing.__module__ if isinstance(thing, type) else thing.__globals__["__name__"]
    name = thing.__qualname__
    package = module.partition(".")[0]
    if package == "numpy" and isinstance(thing, type):
        return f"{module}.{name}"
    if package not in _PACKAGES or (isinstance(thing, type) and "<locals>" in name):
        raise NotFingerprintableError(f"{module}.{name}")
    return f"{module}.{name} {_version(package) if package == 'optax' else ''}"


@lru_cache(maxsize=8)
def _version(package: str) -> str:
    return version(package)


@lru_cache(maxsize=4096)
def _step(op: OpDef, key: tuple[object, ...]) -> str:
    return f"{fingerprint(op)}{fingerprint(key)}"


def structure_fingerprint(structure: tuple[Any, ...]) -> str:
    def lines() -> Iterator[str]:
        for op, key, *connections in structure[0]:
            yield f"{_step(op, key)}{connections!r}"
        yield repr(structure[1:])

    return "\n".join(lines())


_WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (tuple | list, _sequence),
    (frozenset | set, lambda s: f"set({','.join(sorted(map(fingerprint, s)))})"),
    (Mapping, _mapping),
    (np.ndarray | np.generic, _array),
    (np.dtype, lambda d: f"dtype {d.name}"),
    (OpDef, _operator),
    (LoweredBody, lambda body: f"body[{structure_fingerprint(body.structure)}]"),
    (types.FunctionType, _function),
    (types.MethodType, lambda m: f"method{_items((m.__func__, m.__self__))}"),
    (partial, lambda p: f"partial{_items((p.func, p.args, dict(p.keywords)))}"),
    (type, lambda c: f"class {_qualified(c)}"),
)

# -- the environment -----------------------------------------------------------------------------

#: Prefixes of JAX's settings that change no program: file locations, logging and checks.
_IRRELEVANT = (
    "jax_array_garbage", "jax_check_tracer", "jax_compilation_cache", "jax_dump", "jax_explain",
    "jax_log", "jax_debug_log", "jax_persistent_cache", "jax_pprint", "jax_raise", "jax_thread",
    "jax_traceback", "jax_tracer", "jax_transfer",
)  # fmt: skip
#: Prefixes of the environment variables that XLA reads.
_VARIABLES = ("XLA_", "TF_XLA_", "LIBTPU_")
_reading = threading.Lock()
#: The time at which this module was imported, in nanoseconds since 1970.
_IMPORTED = time.time_ns()
#: The lines of /proc/cpuinfo that describe the kind of processor.
_PROCESSOR = ("model name", "flags", "Features", "CPU implementer", "CPU part")


def environment_fingerprint(device: Device) -> str:
    """Writes everything around a program for a device that may change its code."""
    client = device.client
    backend = (
        client.platform, client.platform_version, device.device_kind, len(client.devices()),
        device.id, jax.default_backend(),
    )  # fmt: skip
    return repr((process_fingerprint(), backend, jax_settings()))


def jax_settings() -> list[tuple[str, str]]:
    config = jax.config
    return [
        (name, str(getattr(config, name, value)))
        for name, value in sorted(config.values.items())
        if not name.startswith(_IRRELEVANT)
    ]


def trace_context() -> tuple[object, ...]:
    """Returns the settings that may differ between calls, which need programs of their own."""
    config: Any = jax.config
    return (
        config.jax_default_matmul_precision, config.jax_threefry_partitionable,
        config.jax_softmax_custom_jvp, config.jax_default_prng_impl, config.jax_debug_nans,
        config.jax_debug_infs, config.jax_disable_jit,
    )  # fmt: skip


def process_fingerprint() -> tuple[object, ...]:
    """Returns the facts that do not change while the process runs."""
    with _reading:  # two threads would take turns with Python's lock at every file
        return _process_facts()


@lru_cache(maxsize=1)
def _process_facts() -> tuple[object, ...]:
    variables = sorted((k, v) for k, v in os.environ.items() if k.startswith(_VARIABLES))
    versions = jax.__version__, jaxlib_version, np.__version__, platform.python_version()
    return _package_hash(), versions, _processor(), _cores(), variables


@lru_cache(maxsize=1)
def read_process_facts() -> None:
    """Has :func:`process_fingerprint` read in the background what takes milliseconds."""
    submit_after(process_fingerprint)


def _package_hash() -> str:
    package = os.fspath(Path(__file__).parents[2])
    modules = sorted(_modules(package))
    if max(changed for *_, changed in modules) > _IMPORTED:
        raise NotFingerprintableError("modules that were changed since they were imported")

    def read() -> str:
        code_hash = hashlib.blake2b(digest_size=16)
        for name, *_ in modules:
            with open(os.path.join(package, name), "rb") as file:
                code = file.read()
            code_hash.update(f"{name} {len(code)}\n".encode())
            code_hash.update(code)
        return code_hash.hexdigest()

    # Reading takes 10 ms. No tool can set the time of a file's last change of any kind.
    return remembered(("hash of modules", package, modules), read)


def _modules(package: str) -> Iterator[tuple[Any, ...]]:
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(package, folder)) as entries:
            for entry in entries:
                name = os.path.join(folder, entry.name)
                if name.endswith((".py", ".c")):
                    s = entry.stat()
                    yield name, s.st_size, s.st_ino, s.st_mtime_ns, s.st_ctime_ns
                elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                    folders.append(name)


def cached_answer(question: Callable[[], Hashable], find: Callable[[], Any]) -> Any:
    """Answers a question about this installation in JSON's types; stored while the cache is
    enabled, unless ``question`` raises NotFingerprintableError."""
    if not disk_cache_enabled():
        return find()
    try:
        facts = question(), process_fingerprint()
    except NotFingerprintableError:
        return find()
    return remembered(facts, find)


def _processor() -> tuple[str, ...]:
    lines = [platform.machine()]
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(_PROCESSOR):
                    lines.append(line)
                if not line.strip():
                    break
    except OSError:
        lines.append(platform.processor())
    return tuple(lines)


def _cores() -> int:
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
