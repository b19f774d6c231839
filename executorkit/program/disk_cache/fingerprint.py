"""What a computation depends on, as a text that is the same in every process.

Equal texts mean equal computations: whatever cannot be told apart for certain by a text (objects of
classes that are not ours, functions of users) has none.

What a compiled program depends on besides what it computes: versions, machine, configuration.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from jaxlib.version import __version__ as jaxlib_version

from ...errors import NotFingerprintableError
from ...lowering._subgraphs import LoweredBody
from ...ops import OpDef, Params
from ...ops.schema.operator_registry import all_ops

#: Packages whose code does not change while their version stays (those of the first two, and the
#: sum of our files, are a part of every key).
_PACKAGES = ("executorkit", "jax", "optax")
_PLAIN = (type(None), bool, int, str, bytes)
_MAX_BYTES = 4096
#: The operators that are there before a user can register any.
_OURS = frozenset(all_ops())


def fingerprint(value: Any) -> str:
    """The text of a value: of numbers, texts, containers, operators, and of dataclasses and
    functions of the packages that are known, with what they are made of. NotFingerprintableError for others."""
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
        fields = [getattr(value, f.name) for f in dataclasses.fields(value)]
        return f"{_named(type(value))}{_items(fields)}"
    raise NotFingerprintableError(f"{type(value).__name__} {value!r}")


def _items(values: Any) -> str:
    return f"({','.join(map(fingerprint, values))})"


def _sequence(value: Any) -> str:
    kind = "" if type(value) is tuple else "list" if type(value) is list else _named(type(value))
    return kind + _items(value)


def _set(value: Any) -> str:
    return f"set({','.join(sorted(map(fingerprint, value)))})"


def _mapping(value: Mapping[Any, Any]) -> str:
    return f"{{{','.join(sorted(f'{fingerprint(k)}:{fingerprint(v)}' for k, v in value.items()))}}}"


def _array(value: Any) -> str:
    array = np.asarray(value)
    if array.dtype.hasobject or array.nbytes > _MAX_BYTES:
        raise NotFingerprintableError(f"an array of {array.nbytes} bytes")
    return f"array {array.dtype.name}{array.shape}{array.tobytes().hex()}"


def _operator(op: OpDef) -> str:
    if op not in _OURS:
        raise NotFingerprintableError(f"operator {op.name}")
    return f"operator {op.name}"


def _function(function: Callable[..., Any]) -> str:
    """A function's place in its module, and what it has from around it."""
    code = function.__code__
    around = [cell.cell_contents for cell in function.__closure__ or ()]
    made_of = [around, function.__defaults__, function.__kwdefaults__]
    return f"function {_named(function)} {code.co_firstlineno} {_items(made_of)}"


def _partial(value: partial[Any]) -> str:
    return f"partial{_items((value.func, value.args, dict(value.keywords)))}"


def _method(value: types.MethodType) -> str:
    return f"method{_items((value.__func__, value.__self__))}"


def _class(value: type) -> str:
    return f"class {_named(value)}"


def _named(thing: Any) -> str:
    """Where a class or function stands, with the version of its package."""
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
def _step(op: OpDef, key: tuple[Any, ...]) -> str:
    return f"{fingerprint(op)}{fingerprint(key)}"


def structure_fingerprint(structure: tuple[Any, ...]) -> str:
    """The text of a graph's structure (``Graph.structure``)."""

    def parts() -> Iterator[str]:
        for op, key, *places in structure[0]:
            yield f"{_step(op, key)}{places!r}"
        yield repr(structure[1:])

    return "\n".join(parts())


_WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (tuple | list, _sequence),
    (frozenset | set, _set),
    (Mapping, _mapping),
    (np.ndarray | np.generic, _array),
    (np.dtype, lambda d: f"dtype {d.name}"),
    (OpDef, _operator),
    (LoweredBody, lambda body: f"body[{structure_fingerprint(body.structure)}]"),
    (types.FunctionType, _function),
    (types.MethodType, _method),
    (partial, _partial),
    (type, _class),
)


#: Settings of JAX that change no program: where it keeps files, what it logs and checks.
_IRRELEVANT = (
    "jax_array_garbage", "jax_check_tracer", "jax_compilation_cache", "jax_dump", "jax_explain",
    "jax_log", "jax_debug_log", "jax_persistent_cache", "jax_pprint", "jax_raise", "jax_thread",
    "jax_traceback", "jax_tracer", "jax_transfer",
)  # fmt: skip
_ENVIRONMENT = ("XLA_", "TF_XLA_", "LIBTPU_")
#: What the processor's description says that is of this kind of processor.
_PROCESSOR = ("model name", "flags", "Features", "CPU implementer", "CPU part")


def environment_fingerprint(device: Any) -> str:
    """The text of everything around a program for this device that may change what is compiled."""
    client = device.client
    here = (client.platform, client.platform_version, device.device_kind, len(client.devices()),
            device.id, jax.default_backend())  # fmt: skip
    return repr((process_fingerprint(), here, jax_settings()))


def jax_settings() -> list[tuple[str, str]]:
    """JAX's configuration as it is in this thread."""
    config = jax.config
    return [
        (name, str(getattr(config, name, value)))
        for name, value in sorted(config.values.items())
        if not name.startswith(_IRRELEVANT)
    ]


def trace_context() -> tuple[Any, ...]:
    """The settings that may differ from one call to the next (by ``jax.default_matmul_precision``,
    say), so that another program is meant. Takes a microsecond."""
    c: Any = jax.config
    return (
        c.jax_default_matmul_precision, c.jax_threefry_partitionable, c.jax_softmax_custom_jvp,
        c.jax_default_prng_impl, c.jax_debug_nans, c.jax_debug_infs, c.jax_disable_jit,
    )  # fmt: skip


@lru_cache(maxsize=1)
def process_fingerprint() -> tuple[Any, ...]:
    """What does not change while the process runs. Reading our own files takes 8 ms."""
    environment = sorted((k, v) for k, v in os.environ.items() if k.startswith(_ENVIRONMENT))
    versions = jax.__version__, jaxlib_version, np.__version__, platform.python_version()
    return _own_code(), versions, _processor(), _cores(), environment


def _own_code() -> str:
    """The sum of this package's modules."""
    found = hashlib.blake2b(digest_size=16)
    for folder, folders, names in os.walk(os.path.dirname(os.path.dirname(__file__))):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    code = file.read()
                found.update(f"{name} {len(code)}\n".encode())
                found.update(code)
    return found.hexdigest()


def _processor() -> tuple[str, ...]:
    """The kind of the processor, and what instructions it has."""
    found = [platform.machine()]
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(_PROCESSOR):
                    found.append(line)
                if not line.strip():
                    break
    except OSError:
        found.append(platform.processor())
    return tuple(found)


def _cores() -> int:
    """How many cores this process may use, by which loops are cut."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
