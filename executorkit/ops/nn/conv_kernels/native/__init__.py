"""Convolutions on CPUs by a kernel in C (``convolution.c``), where a compiler exists.

Data are float32 with channels last. The kernel sums products directly: a tile of 6 to 12 pixels
times a panel of one to four vectors of filters stays in registers while the window and its channels
pass by; bias, addend and bounds (ReLU: 0; ReLU6: 0 and 6) are applied there. Weights are in the
kernel's order, by ``pack`` in prepared inference (``chains``), inside of each call in ``training``.

The library is built at its first use, in about two seconds of ``cc``; the disk cache keeps it.
"""

import base64
import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array, lax

from ....schema.attrs import Shape
from .chains import (
    TARGET as CHAIN,
    ChainStep as ChainStep,
    convolve_chain as convolve_chain,
    planned as planned,
)

#: The names of the FFI's targets.
PACKING, GRADIENT = "executorkit_packing_convolution", "executorkit_weight_gradient"
TARGETS = CHAIN, PACKING, GRADIENT
#: The largest window, and the most channels.
_TAPS, _CHANNELS = 256, 16384
_SOURCE = Path(__file__).with_name("training.c")
_lock = threading.Lock()
#: None before the first use.
_is_loaded: bool | None = None


def answer(question: Callable[[], Hashable], find: Callable[[], Any]) -> Any:
    """Answers a question in JSON's types; ``program`` replaces it by one that remembers."""
    return find()


@lru_cache(maxsize=1)
def lanes() -> int:
    """Returns the floats in a vector; 0 for processors that the kernel is not written for."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return 0
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return 0
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return 16 if "avx512f" in flags else 8 if {"avx2", "fma"} <= {*flags} else 0


def _compiler() -> str | None:
    return shutil.which(os.environ.get("CC") or "cc")


def wanted() -> bool:
    """Tells whether there is a processor and a compiler for the kernel; builds nothing."""
    return lanes() > 0 and _compiler() is not None and _is_loaded is not False


def available() -> bool:
    """Tells whether the kernel is loaded; the first call loads it, or builds it."""
    global _is_loaded
    with _lock:
        if _is_loaded is None:
            _is_loaded = wanted() and _load()
    return _is_loaded


def _load() -> bool:
    library = answer(lambda: (TARGETS, _compiler()), _built)
    if library is None:
        return False
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "convolution.so")
            path.write_bytes(base64.b64decode(library))
            handlers = ctypes.CDLL(str(path))
        for name in TARGETS:
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handlers[name]), platform="cpu")
    except (OSError, AttributeError, ValueError):
        return False
    return True


def _built() -> str | None:
    """Returns the library in base64; None where it cannot be built."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "convolution.so")
        # Tuned for Zen, GCC 12 keeps pointers in vector registers, which the sums need.
        command = [
            _compiler() or "cc", "-O3", "-march=native", "-mtune=skylake-avx512", "-shared",
            "-fPIC", f"-DLANES={lanes()}", f"-DWIDEST={_widest()}", f"-DMOST_TAPS={_TAPS}",
            f"-DMOST_CHANNELS={_CHANNELS}", f"-I{jax.ffi.include_dir()}",
            "-o", str(path), str(_SOURCE),
        ]  # fmt: skip
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
            return base64.b64encode(path.read_bytes()).decode()
        except (OSError, subprocess.SubprocessError):
            return None


def supports(
    data: Shape,
    weight: Shape,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> bool:
    """Tells whether the kernel takes a convolution of float32.

    Args:
        data: The shape (samples, height, width, channels).
        weight: The shape (kernel height, kernel width, channels of a group, filters).
        strides: Steps of the window.
        padding: Numbers of zeros before and after the rows, and the columns.
        dilation: Steps inside of the window.
        groups: Groups of channels: one, or one for each channel and filter.
    """
    return (
        (groups == 1 or groups == data[3] == weight[3])
        and 0 < lanes() <= weight[3]
        and weight[0] * weight[1] <= _TAPS
        and weight[0] * (weight[1] * dilation[1] + 6 * strides[1]) <= 12 * _TAPS
        and 0 < data[3] <= _CHANNELS
        and min(*strides, *dilation) > 0
    )


def _widest() -> int:
    # Vectors of a panel: 6 pixels x 4 fill 32 registers, 6 x 2 fill 16.
    return 4 if lanes() == 16 else 2


def _panels(filters: int) -> list[tuple[int, int]]:
    # Numbers of panels and their filters: first the panels with one vector more.
    vectors = -(-filters // lanes())
    panels = -(-vectors // _widest())
    few, more = divmod(vectors, panels)
    return [(n, v * lanes()) for n, v in ((more, few + 1), (panels - more, few)) if n]


def pack(weight: Array, groups: int) -> Array:
    """Returns the weight in the kernel's order: (panel, kernel height, kernel width, channel,
    filter of the panel), flat; as it is for one group for each channel.

    Args:
        weight: (kernel height, kernel width, channels of a group, filters).
        groups: As in ``supports``.
    """
    if groups > 1:
        return weight
    *window, filters = weight.shape
    rows = lax.reshape(weight, (int(np.prod(window)), filters))
    if filters % lanes():  # the last vector ends with the last filter: it repeats some
        whole = lax.slice_in_dim(rows, 0, filters - filters % lanes(), axis=1)
        rows = lax.concatenate(
            [whole, lax.slice_in_dim(rows, filters - lanes(), filters, axis=1)], 1
        )
    parts, start = [], 0
    for panels, width in _panels(filters):
        part = lax.slice_in_dim(rows, start, start := start + panels * width, axis=1)
        part = lax.transpose(lax.reshape(part, (len(rows), panels, width)), (1, 0, 2))
        parts.append(lax.reshape(part, (part.size,)))
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, 0)


def packed_size(shape: Shape, groups: int) -> int:
    """Returns how many floats ``pack`` returns for a weight of a shape and a number of groups."""
    filters = shape[-1] if groups > 1 else -(-shape[-1] // lanes()) * lanes()
    return int(np.prod(shape[:-1])) * filters


def unpack(packed: Array, shape: Shape, groups: int) -> Array:
    """Returns the weight that ``pack`` was given, which had a shape and a number of groups."""
    if groups > 1:
        return packed
    *window, filters = shape
    rows, parts, start = int(np.prod(window)), [], 0
    for panels, width in _panels(filters):
        part = lax.slice_in_dim(packed, start, start := start + rows * panels * width)
        part = lax.transpose(lax.reshape(part, (panels, rows, width)), (1, 0, 2))
        parts.append(lax.reshape(part, (rows, panels * width)))
    weight = lax.concatenate(parts, 1)
    if rest := filters % lanes():
        whole, end = filters - rest, weight.shape[1]
        parts = [(0, whole), (end - rest, end)]
        weight = lax.concatenate([lax.slice_in_dim(weight, *p, axis=1) for p in parts], 1)
    return lax.reshape(weight, shape)
