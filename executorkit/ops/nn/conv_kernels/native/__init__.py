"""A convolution for inference on CPUs, written in C (``convolution.c``), where a compiler exists.

Bias, addend and bounds (ReLU: 0; ReLU6: 0 and 6) are applied while sums are in registers. Data are
float32 with channels last. The kernel sums products directly: a tile of 6 to 12 pixels times one to
four vectors of filters stays in registers while the window and its channels pass by.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxlib.version import __version__ as jaxlib_version

from ....schema.attrs import Shape

_NAME = "executorkit_convolution"
_SOURCE = Path(__file__).with_name("convolution.c")
_lock = threading.Lock()
#: Numbers of the kernel (vector width, vectors of a panel, most window positions, most channels);
#: None before the first use, empty where there is no kernel.
_layout: tuple[int, ...] | None = None


def available(directory: Path | None = None) -> bool:
    """Tells whether the kernel is loaded; the first call loads it, or builds it in about a second.

    Args:
        directory: Where libraries are kept for other processes. None: nowhere.
    """
    global _layout
    with _lock:
        if _layout is None:
            try:
                _layout = _load(directory)
            except (OSError, subprocess.SubprocessError, AttributeError):
                _layout = ()
    return bool(_layout)


def _load(directory: Path | None) -> tuple[int, ...]:
    native = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
    flags = ["-O3", native, "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}"]
    facts = _SOURCE.read_text(), flags[:-1], jaxlib_version, _processor()
    name = f"{_NAME}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}.so"
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        path = Path(directory or folder, name)
        if not path.exists():
            compiler = shutil.which(os.environ.get("CC") or "cc")
            if compiler is None:
                return ()
            built = Path(folder, "built.so")
            command = [compiler, *flags, "-o", str(built), str(_SOURCE)]
            subprocess.run(command, check=True, capture_output=True, timeout=120)
            built.rename(path)
        library = ctypes.CDLL(str(path))
    jax.ffi.register_ffi_target(_NAME, jax.ffi.pycapsule(library[_NAME]), platform="cpu")
    return tuple((ctypes.c_int64 * 4).in_dll(library, "executorkit_layout"))


def _processor() -> list[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    kinds = "model name", "flags", "Features", "CPU implementer", "CPU part"
    return sorted({line for line in lines if line.startswith(kinds)}) or [platform.processor()]


def supports(data: Shape, weight: Shape, groups: int) -> bool:
    """Tells whether the kernel takes a convolution.

    Args:
        data: The shape (samples, height, width, channels).
        weight: The shape (kernel height, kernel width, channels of a group, filters).
        groups: 1, or the number of channels and of filters.
    """
    if not available() or len(data) != 4:
        return False
    (lanes, _, taps, channels), filters = _layout or (), weight[3]
    return (
        (groups == 1 or groups == data[3] == filters)
        and filters >= lanes
        and weight[0] * weight[1] <= taps
        and 0 < data[3] <= channels
    )


def pack(weight: Array, groups: int) -> Array:
    """Returns the weight in the kernel's order, as an array of shape (kernel height, kernel width,
    channels of a group, padded filters) whose elements have no meaning of their own.

    Args:
        weight: (kernel height, kernel width, channels of a group, filters).
        groups: As in ``supports``.
    """
    if groups > 1:
        return weight
    lanes, widest = (_layout or ())[:2]
    *window, filters = weight.shape
    vectors = -(-filters // lanes)
    # The last vector ends with the last filter: it may repeat some of the vector before it.
    starts = np.minimum(np.arange(vectors) * lanes, filters - lanes)
    rows = weight.reshape(-1, filters)
    panels = -(-vectors // widest)
    ends = [vectors * (i + 1) // panels for i in range(panels)]
    parts = [
        rows[:, (starts[start:end, None] + np.arange(lanes)).reshape(-1)].reshape(-1)
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    return jnp.concatenate(parts).reshape(*window, vectors * lanes)


def conv2d(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    addend: Array | None = None,
    *,
    filters: int,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    lower: float | None = None,
    upper: float | None = None,
) -> Array:
    """Returns the convolution (samples, rows, columns, filters), plus bias and addend, clipped.

    Args:
        data: (samples, height, width, channels), float32.
        weight: As ``pack`` returns it.
        bias: (filters,).
        addend: As the result; it is added before the bounds apply.
        filters: The number of filters.
        strides: Steps of the window.
        padding: Numbers of zeros before and after the rows, and the columns.
        dilation: Steps inside of the window.
        groups: As in ``supports``.
        lower: The least result.
        upper: The greatest result.
    """
    kernel = weight.shape[:2]
    axes = zip(data.shape[1:3], kernel, strides, padding, dilation, strict=True)
    sizes = [max(0, (n + sum(p) - d * (k - 1) - 1) // s + 1) for n, k, s, p, d in axes]
    result = jax.ShapeDtypeStruct((data.shape[0], *sizes, filters), jnp.float32)
    settings = [
        *kernel, *strides, padding[0][0], padding[1][0], *dilation, groups > 1,
        bias is not None, addend is not None,
    ]  # fmt: skip
    bounds = -np.inf if lower is None else lower, np.inf if upper is None else upper
    operands = [a for a in (data, weight, bias, addend) if a is not None]
    call = jax.ffi.ffi_call(_NAME, result)
    return call(*operands, bounds=np.array(bounds, np.float32), settings=np.array(settings, np.int64))
