"""Contexts: MXNet's names of devices, ``cpu(0)`` or ``gpu(1)``, and the JAX device of each.

A device is looked up when an array needs it, so ``mx.gpu(3)`` can be created, compared and printed
on a machine without a GPU.

Unlike MXNet, the CPU contexts are real devices when JAX has several
(``jax.config.update("jax_num_cpu_devices", 4)`` or ``JAX_NUM_CPU_DEVICES=4``, before JAX is used);
numbers of ``cpu(i)`` wrap around, with a warning where several bound contexts share a device.
``tpu`` is a device type. Under ``jax.distributed`` contexts name the devices of this process, like
the devices of one of MXNet's workers.

Importing this gives JAX's logger the level WARNING unless it has one.
"""

from __future__ import annotations

import logging
import operator
import threading
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import jax

from ._support.malloc import release_freed_memory
from .errors import InputTypeError, MXNetError, UnknownNameError, explain
from .processes import join_named_job

_jax_logger = logging.getLogger("jax")
if _jax_logger.level == logging.NOTSET:
    # MXNet's scripts begin with logging.basicConfig(level=logging.DEBUG), by which JAX would log
    # hundreds of lines about tracing and compilation. A level set before or afterwards is kept.
    _jax_logger.setLevel(logging.WARNING)

#: ``jax.Device``, which type checkers take for a variable and not for a type.
Device: TypeAlias = Any


class _ContextType(type):
    @property
    def default_ctx(cls) -> Context:
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, context: Context) -> None:
        if not isinstance(context, Context):
            problem = f"{context!r} is not a context"
            raise InputTypeError("Context.default_ctx", problem, hint="mx.cpu()")
        replace_current_context(context)


class Context(metaclass=_ContextType):
    """A device type and number: the device of an array or of a computation.

    ``device_type`` is 'cpu', 'gpu', 'tpu', 'cpu_pinned', 'cpu_shared', or another context, which is
    then copied. Contexts are equal when type and number are; 'cpu_pinned' and 'cpu_shared' are
    distinct names of the CPU, as in MXNet. A ``with`` block makes the context the thread's default.
    """

    __slots__ = ("device_id", "device_typeid")

    devtype2str: ClassVar[dict[int, str]] = {
        1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared", 6: "tpu",
    }  # fmt: skip
    devstr2type: ClassVar[dict[str, int]] = {name: n for n, name in devtype2str.items()}

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid: int = device_type.device_typeid
            self.device_id: int = device_type.device_id
            return
        try:
            self.device_typeid = self.devstr2type[device_type]
        except (KeyError, TypeError):
            problem = f"unknown device type {device_type!r}"
            hint = "one of: " + ", ".join(self.devstr2type)
            raise UnknownNameError("Context", problem, hint=hint) from None
        self.device_id = operator.index(device_id)

    @property
    def device_type(self) -> str:
        """The name of the device type: 'cpu', 'gpu', ..."""
        return self.devtype2str[self.device_typeid]

    @property
    def device(self) -> Device:
        """The JAX device; MXNetError if this machine has no such device."""
        return _device(self.device_type, self.device_id)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The JAX devices among which arrays of this context may be divided: the only one."""
        return (self.device,)

    @property
    def default_ctx(self) -> Context:
        """The current context of this thread, as ``Context.default_ctx``."""
        return current_context()

    def empty_cache(self) -> None:
        """Gives freed memory that a process with CPUs retains back to the system. Does nothing on
        other devices, whose allocator has no pool. Arrays are not affected, as in MXNet."""
        if self.device.platform == "cpu":
            release_freed_memory()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self) -> tuple:
        return Context, (self.device_type, self.device_id)

    def __enter__(self) -> Context:
        _entered.contexts.append(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _entered.contexts.pop()


#: Functions that name a device return one object each: ``is`` tells most contexts to be equal.
_known_context = lru_cache(maxsize=256, typed=True)(Context)


class _ContextStack(threading.local):
    def __init__(self) -> None:
        self.contexts = [_known_context("cpu", 0)]


_entered = _ContextStack()


@lru_cache(maxsize=256)
def _device(device_type: str, device_id: int) -> Device:
    join_named_job()
    if device_type not in ("gpu", "tpu"):
        devices = _cpus()
        return devices[device_id % len(devices)]
    devices = _accelerators(device_type)
    if 0 <= device_id < len(devices):
        return devices[device_id]
    name = device_type.upper()
    raise MXNetError(
        f"context {device_type}({device_id})",
        f"this process has {len(devices)} {name} device(s)"
        if devices
        else f"this process has no {name} (JAX sees: {jax.default_backend()})",
        hint="use mx.cpu()"
        + (f", or {device_type}(0) to {device_type}({len(devices) - 1})" if devices else "")
        + f", or install JAX with {name} support",
    )


def _cpus() -> list[Device]:
    try:
        return jax.local_devices(backend="cpu")
    except RuntimeError as error:
        raise MXNetError(
            "context cpu(0)",
            "this process has no CPU device",
            because=str(error).partition("\n")[0],
            hint="add cpu to the environment variable JAX_PLATFORMS, as in 'cuda,cpu': "
            "arrays are on CPUs unless a context is named",
        ) from None


def warn_of_shared_cpus(contexts: Iterable[Context]) -> None:
    """Warns, once for each choice of contexts, if different CPU contexts are one device, which then
    serves them one after the other, with the same results."""
    numbers = sorted({c.device_id for c in contexts if c.device_type == "cpu"})
    devices = {_device("cpu", number) for number in numbers}
    if len(devices) < len(numbers):
        _warn_of_shared_cpus(tuple(numbers), len(devices))


@lru_cache(maxsize=64)
def _warn_of_shared_cpus(numbers: tuple[int, ...], n_devices: int) -> None:
    count = numbers[-1] + 1
    text = explain(
        ", ".join(f"cpu({number})" for number in numbers),
        f"they share {n_devices} device(s), and are served one after the other",
        because=f"JAX has {len(jax.local_devices(backend='cpu'))} CPU device(s) in this process",
        hint=f"jax.config.update('jax_num_cpu_devices', {count}) before JAX is used, or "
        f"JAX_NUM_CPU_DEVICES={count} in the environment",
    )
    warnings.warn(text, UserWarning, stacklevel=2)


def _accelerators(platform: str) -> list[Device]:
    try:
        return jax.local_devices(backend=platform)
    except RuntimeError:
        return []


def cpu(device_id: int = 0) -> Context:
    """Returns the context of CPU device ``device_id``; numbers beyond the last device wrap around.

    >>> cpu(), cpu(1) == Context("cpu", 1)
    (cpu(0), True)
    """
    return _known_context("cpu", device_id)


def gpu(device_id: int = 0) -> Context:
    """Returns the context of GPU ``device_id``; its use raises MXNetError without this GPU."""
    return _known_context("gpu", device_id)


def tpu(device_id: int = 0) -> Context:
    """Returns the context of TPU ``device_id``; its use raises MXNetError without this TPU."""
    return _known_context("tpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Returns MXNet's page-locked host memory; here the CPU under another name."""
    return _known_context("cpu_pinned", device_id)


def current_context() -> Context:
    """Returns the context of the innermost ``with`` block of this thread, or cpu(0)."""
    return _entered.contexts[-1]


def replace_current_context(context: Context) -> None:
    """Makes ``context`` the current one of this thread until the innermost ``with`` block ends."""
    _entered.contexts[-1] = Context(context)


def num_gpus() -> int:
    """Returns the number of GPUs that this process sees."""
    return len(_accelerators("gpu"))


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Returns the free and total bytes that JAX may use on a GPU (less than the card has)."""
    context = gpu(device_id)
    stats = context.device.memory_stats() or {}
    if "bytes_limit" not in stats:
        raise MXNetError(f"context {context}", "its backend reports no memory figures")
    return stats["bytes_limit"] - stats.get("bytes_in_use", 0), stats["bytes_limit"]
