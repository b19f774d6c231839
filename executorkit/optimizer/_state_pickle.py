"""States as bytes: pickles compatible with MXNet, read without importing anything they name.

A pickle names classes and functions to be called. Only these names are accepted: MXNet's arrays,
contexts, schedulers and optimizers, which are mapped to this package's; NumPy's arrays and numbers;
plain containers; and optimizers and schedulers that the running program has defined. Pickles are
written with MXNet's names, so that MXNet can continue with the states.
"""

from __future__ import annotations

import collections
import io
import pickle
from typing import Any, ClassVar

from .. import lr_scheduler
from ..context import Context
from ..errors import FileFormatError, MXNetError, explain
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray, load_frombuffer
from ..ndarray.params_file import array_records, uint64_bytes
from ._optimizer import Optimizer

_HEADER, _NO_NAMES = uint64_bytes(0x112, 0, 1), uint64_bytes(0)

_PLAIN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    **{
        ("builtins", kind.__name__): kind
        for kind in (bytearray, complex, dict, float, frozenset, int, list, set, slice, str, tuple)
    },
}
_NUMPY = {"_reconstruct", "scalar", "ndarray", "dtype"}
_CODECS = ("_codecs", "encode")


class _Saved(NDArray):
    """An array during unpickling, which sets its contents after its creation."""

    __slots__ = ()

    def __new__(cls, *args: Any) -> _Saved:
        return object.__new__(cls)

    def __init__(self, *args: Any) -> None:
        pass

    def __setstate__(self, state: dict[str, Any]) -> None:
        array = load_frombuffer(_HEADER + bytes(state["handle"]) + _NO_NAMES)[0]  # type: ignore
        self.show(array)
        self.__class__ = NDArray  # type: ignore[assignment]


def _mxnet_names() -> dict[type, tuple[str, str]]:
    """MXNet's module and name of each class of this package."""
    names: dict[type, tuple[str, str]] = {
        NDArray: ("mxnet.ndarray.ndarray", "NDArray"),
        Context: ("mxnet.context", "Context"),
    }
    for klass in Optimizer.opt_registry.values():
        if klass.__module__.startswith(__package__ or ""):
            home = "contrib" if klass.__module__.endswith("contrib") else "optimizer"
            names[klass] = (f"mxnet.optimizer.{home}", klass.__name__)
    names[Optimizer] = ("mxnet.optimizer.optimizer", "Optimizer")
    for name in lr_scheduler.__all__:
        names[getattr(lr_scheduler, name)] = ("mxnet.lr_scheduler", name)
    return names


def _subclasses(klass: type) -> list[type]:
    return [s for k in klass.__subclasses__() for s in (k, *_subclasses(k))]


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return _PLAIN[module, name]
        if module.split(".")[0] == "numpy" and name in _NUMPY:
            return super().find_class(module, name)
        if (module, name) == _CODECS:
            return super().find_class(module, name)
        ours = {v: k for k, v in _mxnet_names().items()}
        if (module, name) in ours:
            klass = ours[module, name]
            return _Saved if klass is NDArray else klass
        for klass in (*_subclasses(Optimizer), *_subclasses(LRScheduler)):
            if (klass.__module__, klass.__qualname__) == (module, name):
                return klass
        raise FileFormatError(
            explain(
                "optimizer states",
                f"they name {module}.{name}, which is not loaded",
                because="such files may run anything; only arrays, numbers, containers, "
                "optimizers and schedulers are read",
                hint="define or import the optimizer's or scheduler's class first",
            )
        )


class _Writer(pickle._Pickler):  # type: ignore[name-defined]
    """A pickler that writes MXNet's names of classes, which need not be importable."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=3)
        self._names = _mxnet_names()

    def save_global(self, obj: Any, name: str | None = None) -> None:
        mxnet_name = self._names.get(obj) if isinstance(obj, type) else None
        if mxnet_name is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        self.write(pickle.GLOBAL + "\n".join((*mxnet_name, "")).encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, NDArray):
            raw = bytearray(b"".join(array_records([obj])))
            return NDArray, (None,), {"handle": raw}
        return NotImplemented

    dispatch: ClassVar[dict[Any, Any]] = {**pickle._Pickler.dispatch, type: save_global}  # type: ignore[attr-defined]


def dump_states(states: Any) -> bytes:
    """Bytes of a dictionary of states by index, or of (states, optimizer)."""
    file = io.BytesIO()
    _Writer(file).dump(states)
    return file.getvalue()


def load_states(data: bytes) -> Any:
    """The states in bytes from :func:`dump_states`, or from MXNet's ``Updater.get_states``.

    Raises FileFormatError for other or truncated bytes, and for unknown classes.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileFormatError(
            explain("optimizer states", f"{type(data).__name__} given, expected bytes")
        )
    try:
        loaded = _Reader(io.BytesIO(data)).load()
    except MXNetError:
        raise
    except Exception as error:
        raise FileFormatError(
            explain("optimizer states", f"they cannot be read: {type(error).__name__}: {error}")
        ) from error
    states, optimizer = loaded if isinstance(loaded, tuple) and len(loaded) == 2 else (loaded, None)
    if not isinstance(states, dict) or not isinstance(optimizer, Optimizer | None):
        raise FileFormatError(
            explain("optimizer states", f"{type(states).__name__} found, expected states by index")
        )
    return loaded
