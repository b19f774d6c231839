"""``mx.gluon.utils``: division of batches over devices, clipping of gradients, files."""

import hashlib
import http.client
import math
import os
import shutil
import ssl
import tempfile
import warnings
from collections.abc import Iterable, MutableMapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._files import write_atomically
from .._support.shape_semantics import numpy_shapes
from ..arrays.values import host_array
from ..calls.recording import is_recorded
from ..context import Context
from ..errors import ArgumentValueError, DTypeError, FileAccessError, MXNetError
from ..ndarray import NDArray, array
from ..ndarray.array_classes import as_new_arrays
from ..parallel import can_replicate, scattered_parts
from ..program import small_jit

#: Seconds without an answer after which an attempt to download ends.
_TIMEOUT = 60.0

A = TypeVar("A", NDArray, np.ndarray)


def split_data(data: A, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[A]:
    """Splits an array into ``num_slice`` parts along an axis. With ``even_split`` raises ValueError
    (ArgumentValueError) if they differ in length; otherwise the first parts are longer by one."""
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        problem = f"axis {batch_axis} of {data.shape} cannot be divided evenly by {num_slice}"
        hint = f"a multiple of {num_slice}, or even_split=False"
        raise ArgumentValueError("split_data", problem, hint=hint)
    if num_slice == 1:
        return [data]
    length, longer = divmod(size, num_slice)
    ends = np.cumsum([length + (i < longer) for i in range(num_slice)]).tolist()
    bounds = zip([0, *ends[:-1]], ends, strict=True)
    return [_sliced(data, batch_axis, begin, end) for begin, end in bounds]


def _sliced(data: A, axis: int, begin: int, end: int) -> A:
    index = [slice(None)] * len(data.shape)
    index[axis] = slice(begin, end)
    return data[tuple(index)]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Splits ``data``, an array or an argument of ``mx.nd.array``, along ``batch_axis`` into a part
    for each context of ``ctx_list``. ValueError where lengths would differ, unless ``even_split``
    is False."""
    if len(ctx_list) > 1 and can_replicate(ctx_list, ()):
        host = _host_copy(data)
        rows = host.shape[batch_axis] if host is not None and 0 <= batch_axis < host.ndim else 0
        if host is not None and rows and rows % len(ctx_list) == 0:
            return as_new_arrays(scattered_parts(host, ctx_list, batch_axis))
    (whole,) = as_new_arrays([data if isinstance(data, NDArray) else array(data, ctx=ctx_list[0])])
    parts = split_data(whole, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def _host_copy(data: Any) -> np.ndarray | None:
    if isinstance(data, NDArray):
        on_host = data.context.device.platform == "cpu" and not is_recorded(data)
        return np.array(data.host) if on_host else None
    if isinstance(data, jax.Array):
        return None
    return host_array(data, np.dtype("float32"), "array")


def clip_global_norm(
    arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True
) -> np.floating | NDArray:
    """Scales arrays in place so that their global L2 norm is at most ``max_norm``.

    arrays
        Arrays of float32 or float64 (MXNet: float32). Raises DTypeError for others.
    check_isfinite
        Whether to warn of a norm that is not finite.

    Returns the norm before: a NumPy scalar, or with ``check_isfinite=False`` an array of one
    element, for which the call does not wait.
    """
    if not arrays:
        raise ArgumentValueError("clip_global_norm", "no arrays are given")
    for number, item in enumerate(arrays):
        if np.dtype(item.dtype).name not in ("float32", "float64"):
            problem = f"array {number} is {np.dtype(item.dtype).name}, expected float32"
            raise DTypeError("clip_global_norm", problem)
    by_context: dict[Context, list[NDArray]] = {}
    for item in arrays:
        by_context.setdefault(item.context, []).append(item)
    values = {ctx: [item.value for item in items] for ctx, items in by_context.items()}
    home = arrays[0].context.device
    norm = jnp.sqrt(sum(jax.device_put(_squares(v), home) for v in values.values()))
    for ctx, items in by_context.items():
        scaled = _scaled(values[ctx], jax.device_put(norm, ctx.device), max_norm)
        for item, value in zip(items, scaled, strict=True):
            item.assign(value)
    if not check_isfinite:
        return NDArray.from_jax(norm.reshape(1), arrays[0].context)
    total = norm.dtype.type(norm)
    if not math.isfinite(total):
        warnings.warn(
            f"clip_global_norm: the norm is {total}, so the clipped arrays are undefined",
            stacklevel=2,
        )
    return total


@small_jit(interpret=False)
def _squares(values: list[jax.Array]) -> jax.Array:
    return sum((jnp.vdot(v, v) for v in values), jnp.zeros((), values[0].dtype))


@small_jit(interpret=False)
def _scaled(values: list[jax.Array], norm: jax.Array, max_norm: float) -> list[jax.Array]:
    scale = jnp.minimum(max_norm / (norm + 1e-8), 1)
    return [v * scale.astype(v.dtype) for v in values]


# Files


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Checks whether the SHA-1 of a file is ``sha1_hash`` (hexadecimal)."""
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest() == sha1_hash


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Renames ``src`` to ``dst``; an existing ``dst`` is replaced."""
    os.replace(src, dst)


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Downloads a file unless it exists, and returns its path.

    url
        An address that ``urllib`` opens (``https://...``, ``file://...``), or a path.
    path
        The file to write, or an existing folder; None: the current folder.
    overwrite
        Whether to replace an existing file.
    sha1_hash
        The expected SHA-1; a file with another SHA-1 is downloaded again.
    retries
        The number of attempts, at least one.
    verify_ssl
        False accepts any certificate, with a warning.

    The file appears completely or not at all. Raises OSError (FileAccessError) if the download
    fails, or if the SHA-1 differs; the message says where to put the file by hand.
    """
    if retries < 0:
        raise ArgumentValueError("download", f"retries is {retries}, expected 0 or more")
    target = _target(url, path)
    if target.exists() and not overwrite and (not sha1_hash or check_sha1(target, sha1_hash)):
        return str(target)
    context = ssl.create_default_context()
    if not verify_ssl:
        warnings.warn(f"download: the certificate of {url} is not verified", stacklevel=2)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = url if "://" in url else Path(url).expanduser().absolute().as_uri()
    for remaining in reversed(range(max(retries, 1))):
        try:
            _fetch(address, target, sha1_hash, context)
            break
        except (OSError, http.client.HTTPException) as error:
            if remaining:
                continue
            problem = f"{url} cannot be fetched: {error}"
            hint = f"fetch it by other means and store it as {target}"
            raise FileAccessError("download", problem, hint=hint) from None
    return str(target)


def _fetch(address: str, target: Path, sha1_hash: str | None, context: ssl.SSLContext) -> None:
    import urllib.request  # 2 ms

    request = urllib.request.urlopen(address, timeout=_TIMEOUT, context=context)
    with request as source, tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy)
        length = source.headers["Content-Length"]
        if length is not None and copy.tell() != int(length):
            raise FileAccessError(f"{copy.tell()} bytes came, expected {length}")
        copy.seek(0)
        digest = hashlib.file_digest(copy, "sha1").hexdigest()
        if sha1_hash and digest != sha1_hash:
            raise FileAccessError(f"its SHA-1 is {digest}, expected {sha1_hash}")
        copy.seek(0)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, partial(shutil.copyfileobj, copy))


def _target(url: str, path: str | None) -> Path:
    name = url.split("/")[-1]
    if path is not None and not Path(path).expanduser().is_dir():
        return Path(path).expanduser()
    if not name:
        problem = f"{url!r} names no file"
        raise ArgumentValueError("download", problem, hint="path=, the file to write")
    return Path(path or "").expanduser() / name


def _get_repo_url() -> str:
    default = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
    url = os.environ.get("MXNET_GLUON_REPO") or default
    return url if url.endswith("/") else f"{url}/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    return f"{_get_repo_url()}{namespace}/{filename}"


# Texts


def _indent(s_: str, numSpaces: int) -> str:
    return s_.replace("\n", "\n" + numSpaces * " ")


def _brief_print_list(lst: Iterable[object], limit: int = 7) -> str:
    names = [f"'{item}'" for item in lst]
    if len(names) > limit:
        first, last = names[: limit // 2], names[-limit // 2 :]
        return f"{', '.join(first)}, ..., {', '.join(last)}"
    return ", ".join(names)


class HookHandle:
    """A registered hook. :meth:`detach`, or the end of a ``with`` block, removes it."""

    def __init__(self) -> None:
        self._hooks: MutableMapping[int, Any] | None = None
        self._id = 0

    def attach(self, hooks_dict: MutableMapping[int, Any], hook: Any) -> None:
        """Registers a hook. Raises RuntimeError if the handle has one already."""
        if self._hooks is not None:
            raise MXNetError("HookHandle", "it is attached to a hook already")
        hooks_dict[id(hook)] = hook  # which the table keeps alive: a handle may be dropped
        self._hooks, self._id = hooks_dict, id(hook)

    def detach(self) -> None:
        """Removes the hook."""
        if self._hooks is not None:
            self._hooks.pop(self._id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Checks whether all lengths are known: above 0, or under ``mx.np_shape()`` at least 0. Raises
    ValueError (ArgumentValueError, an AssertionError too) for a length below the unknown one."""
    if shape is None:
        return False
    unknown = -1 if numpy_shapes() else 0
    if not shape:
        return numpy_shapes()
    if min(shape) < unknown:
        raise ArgumentValueError("shape_is_known", f"{shape} has a length below {unknown}")
    return unknown not in shape
