"""MXNet's import path ``mxnet.base``: the exception, types that scripts test against, and helpers,
with names of MXNet's C interface, whose calls are refused."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np

from ._support.unserved import refuse_library
from .errors import (
    MXNetError as MXNetError,
    NotImplementedForSymbol as NotImplementedForSymbol,
    NotSupportedError,
)

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
basestring = str
long = int

mx_uint = np.uint32
mx_int = np.int32
mx_int64 = np.int64
mx_float = np.float32
mx_real_t = np.float32

#: Types of handles that MXNet's library gives out.
NDArrayHandle = SymbolHandle = ExecutorHandle = CachedOpHandle = OpHandle = ctypes.c_void_p
FunctionHandle = DataIterHandle = DataIterCreatorHandle = RecordIOHandle = ctypes.c_void_p
KVStoreHandle = ProfileHandle = DLPackHandle = ctypes.c_void_p
CudaModuleHandle = CudaKernelHandle = RtcHandle = ctypes.c_void_p
mx_float_p = ctypes.POINTER(ctypes.c_float)


class _Library:
    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(refuse_library, name)


_LIB = _Library()
(
    c_array, c_array_buf, c_handle_array, c_str, c_str_array, check_call, ctypes2buffer,
    ctypes2numpy_shared, get_last_ffi_error,
) = (
    partial(refuse_library, f"mx.base.{name}")
    for name in (
        "c_array", "c_array_buf", "c_handle_array", "c_str", "c_str_array", "check_call",
        "ctypes2buffer", "ctypes2numpy_shared", "get_last_ffi_error",
    )
)  # fmt: skip

#: MXNet's name of the error for a dense operation on a sparse array.
NotSupportedForSparseNDArray = NotSupportedError


class _NullType:
    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()


def _as_list(obj: object) -> list[Any] | tuple[Any, ...]:
    return obj if isinstance(obj, list | tuple) else [obj]


def py_str(x: bytes | str) -> str:
    """Returns bytes as text in UTF-8, and a text as it is."""
    return x if isinstance(x, str) else x.decode("utf-8")


def data_dir_default() -> str:
    """Returns the default folder of downloaded data, ``~/.mxnet``."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Returns the folder of downloaded data: the environment's ``MXNET_HOME``, or the default."""
    return os.getenv("MXNET_HOME", data_dir_default())


def with_metaclass(meta: type, *bases: type) -> Any:
    """Returns a base class whose subclasses have the metaclass ``meta`` and the bases ``bases``."""

    class Metaclass(type):
        def __new__(cls, name: str, this_bases: object, namespace: dict[str, Any]) -> Any:
            return meta(name, bases, namespace)

        @classmethod
        def __prepare__(cls, name: str, this_bases: object, /, **options: object) -> Any:
            return meta.__prepare__(name, bases)

    return type.__new__(Metaclass, "temporary_class", (), {})


class _MXClassPropertyDescriptor:
    def __init__(self, fget: Any, fset: Any = None) -> None:
        self.fget = fget
        self.fset = fset

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()

    def __set__(self, instance: object, value: object) -> None:
        if self.fset is None:
            raise AttributeError("the class property cannot be set")
        owner = instance if isinstance(instance, type) else type(instance)
        self.fset.__get__(None, owner)(value)

    def setter(self, function: object) -> _MXClassPropertyDescriptor:
        return _MXClassPropertyDescriptor(self.fget, _class_method(function))


class _MXClassPropertyMetaClass(type):
    def __setattr__(cls, key: str, value: object) -> None:
        attribute = cls.__dict__.get(key)
        if isinstance(attribute, _MXClassPropertyDescriptor):
            attribute.__set__(cls, value)
        else:
            super().__setattr__(key, value)


def _class_method(function: Any) -> Any:
    return function if isinstance(function, classmethod | staticmethod) else classmethod(function)


def classproperty(func: object) -> _MXClassPropertyDescriptor:
    """Makes a function of the class a property of it."""
    return _MXClassPropertyDescriptor(_class_method(func))


#: Exception classes by the names that MXNet's library puts before its messages.
error_types: dict[str, type] = {
    "AttributeError": AttributeError,
    "IndexError": IndexError,
    "InternalError": MXNetError,
    "NotImplementedError": NotImplementedError,
    "NotImplementedForSymbol": NotImplementedForSymbol,
    "TypeError": TypeError,
    "ValueError": ValueError,
}

E = TypeVar("E", bound=type)


def register_error(
    func_name: str | type | None = None, cls: type | None = None
) -> type | Callable[[E], E]:
    """Registers an exception class in ``error_types``, under its own name or ``func_name``. Called
    with a class, or a name and a class, it returns the class; with a name alone, a decorator."""
    if isinstance(func_name, type):
        func_name, cls = func_name.__name__, func_name

    def register(exception: E) -> E:
        error_types[func_name or exception.__name__] = exception
        return exception

    if cls is None:
        return register
    error_types[func_name or cls.__name__] = cls
    return cls


def build_param_doc(
    arg_names: Sequence[str],
    arg_types: Sequence[str],
    arg_descs: Sequence[str],
    remove_dup: bool = True,
) -> str:
    """Returns the section "Parameters" of a NumPy docstring; ``remove_dup`` keeps names once."""
    listed = set()
    lines = ["Parameters", "----------"]
    for name, kind, description in zip(arg_names, arg_types, arg_descs, strict=False):
        if (remove_dup and name in listed) or name == "num_args":
            continue
        listed.add(name)
        lines.append(f"{name} : {kind}")
        if description:
            lines.append(f"    {description}")
    return "\n".join(lines) + "\n"


def add_fileline_to_docstring(module: object, incursive: bool = True) -> None:
    """Does nothing: ``inspect`` tells the place of a function."""
