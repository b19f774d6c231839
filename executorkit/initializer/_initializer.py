"""Initializer, the base class: an object that is called with a parameter's name and its array."""

import json
import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from .._support.keyword_arguments import CheckedKeywords
from ..display import brief
from ..errors import InitializerError, InputTypeError, NotSupportedError
from ..ndarray import NDArray
from ..registry import get_alias_func, get_create_func, get_register_func
from ._host_numbers import bilinear, host_generator


class InitDesc(str):
    """The name of a parameter, together with other information for its initialisation.

    attrs
        The variable's entry of ``Symbol.attr_dict()``; an initializer under ``"__init__"`` has
        priority over all others.
    global_init
        The initializer of the whole network, to which single variables' may fall back. Set by the
        first initializer that is called.
    """

    attrs: Mapping[str, str]
    global_init: Any

    def __new__(
        cls, name: str, attrs: Mapping[str, str] | None = None, global_init: Any = None
    ) -> Self:
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


#: Methods by the end of the parameter's name.
_METHODS_BY_SUFFIX = {
    "weight": "_init_weight",
    "bias": "_init_bias",
    "gamma": "_init_gamma",
    "beta": "_init_beta",
    "min": "_init_zero",
    "max": "_init_one",
    "weight_quantize": "_init_quantized_weight",
    "bias_quantize": "_init_quantized_bias",
}
#: Methods for names that are plain str, by (beginning, end); the first match counts.
_METHODS_OF_PLAIN_NAMES = {
    ("upsampling", ""): "_init_bilinear",
    ("stn_loc", "weight"): "_init_zero",
    ("stn_loc", "bias"): "_init_loc_bias",
    ("", "bias"): "_init_bias",
    ("", "gamma"): "_init_gamma",
    ("", "beta"): "_init_beta",
    ("", "weight"): "_init_weight",
    ("", "moving_mean"): "_init_zero",
    ("", "moving_var"): "_init_one",
    ("", "moving_inv_var"): "_init_zero",
    ("", "moving_avg"): "_init_zero",
    ("", "min"): "_init_zero",
    ("", "max"): "_init_one",
}


class Initializer(CheckedKeywords):
    """Base class of initializers: a subclass writes ``_init_weight(name, array)``.

    Called with an :class:`InitDesc` and an NDArray, it overwrites the array

    - by ``_init_weight`` of the initializer that ``desc.attrs["__init__"]`` names, if any does;
    - otherwise by the end of the name: weight: ``_init_weight``; bias, beta, min, bias_quantize:
      0; gamma, max: 1; weight_quantize: integers from -127 to 126. A subclass may override
      ``_init_bias``, ``_init_gamma``, ``_init_beta`` and ``_init_default``, which takes all other
      names and by default raises ValueError.

    Called with a plain str (deprecated), it also knows moving_mean, moving_inv_var and moving_avg
    (0) and moving_var (1); 'upsampling...' becomes bilinear, and 'stn_loc...' the identity.

    ``kwargs`` are the constructor arguments of the subclass, which ``dumps`` and ``==`` use.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def __repr__(self) -> str:
        return brief(self, None, [f"{name}={value!r}" for name, value in self._kwargs.items()])

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None
    ) -> Self:
        """Switches the log line after each array, with ``print_func(array)``, on or off; by default
        the root mean square is printed."""
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def _verbose_print(self, desc: str, init: str, arr: NDArray) -> None:
        if self._verbose and self._print_func:
            logging.info("%s initialized (%s): %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """Returns a JSON text from which ``create`` creates an equal initializer.

        >>> Initializer(sigma=0.5).dumps()
        '["initializer", {"sigma": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: str, arr: NDArray) -> None:
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        variable_init = desc.attrs.get("__init__")
        if variable_init:
            create(variable_init)._init_weight(desc, arr)
            self._verbose_print(desc, variable_init, arr)
            return
        for suffix, method in _METHODS_BY_SUFFIX.items():
            if desc.endswith(suffix):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, suffix, arr)
                return
        self._init_default(desc, arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        warnings.warn(
            "initializer(str, NDArray) is deprecated: pass mx.init.InitDesc(name) as the name",
            DeprecationWarning,
            stacklevel=3,
        )
        for argument, value, expected in (("name", name, str), ("arr", arr, NDArray)):
            if not isinstance(value, expected):
                problem = f"a {type(value).__name__}, expected {expected.__name__}"
                raise InputTypeError(f"{type(self).__name__}: {argument}", problem)
        for (beginning, end), method in _METHODS_OF_PLAIN_NAMES.items():
            if name.startswith(beginning) and name.endswith(end):
                getattr(self, method)(name, arr)
                return
        self._init_default(name, arr)

    def _init_bilinear(self, name: str, arr: NDArray) -> None:
        arr[:] = bilinear(arr.shape)

    def _init_loc_bias(self, name: str, arr: NDArray) -> None:
        if arr.shape[0] != 6:
            problem = f"shape {arr.shape}, expected the 6 numbers of an affine transformation"
            raise InitializerError(f"parameter {name!r}", problem)
        arr[:] = np.array([1, 0, 0, 0, 1, 0], np.float32)

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1

    _init_bias = _init_quantized_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_weight(self, name: str, arr: NDArray) -> None:
        problem = "this initializer has no _init_weight"
        hint = "mx.init.Xavier(), or write _init_weight(name, array)"
        raise NotSupportedError(f"{type(self).__name__}: parameter {name!r}", problem, hint=hint)

    def _init_quantized_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = host_generator(arr).integers(-127, 127, arr.shape, np.int8)

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise InitializerError(
            f"{type(self).__name__}: parameter {name!r}",
            "nothing is known about names that end so",
            because=f"known ends are {', '.join(_METHODS_BY_SUFFIX)}",
            hint=f"mx.sym.var({str(name)!r}, init=mx.init.Zero()), or mx.init.Mixed",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs


def _root_mean_square(arr: NDArray) -> str:
    host = arr.asnumpy()
    return str(host.dtype.type(np.sqrt(np.mean(np.square(host, dtype=np.float64)))))


register = get_register_func(Initializer, "initializer")
alias = get_alias_func(Initializer, "initializer")
create = get_create_func(Initializer, "initializer")
