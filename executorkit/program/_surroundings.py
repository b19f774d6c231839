"""What a compiled program depends on besides what it computes: versions, machine, configuration."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jaxlib.version import __version__ as jaxlib_version

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
