"""A module's parameters: initialised, set, and read back from the devices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import MissingParameterError, ShapeError, explain
from ..initializer import InitDesc, Uniform
from ..ndarray import NDArray
from ._preconditions import require
from .module import Bound

Params = dict[str, NDArray]


class Parameters(Bound):
    """The parameters of a module: copies on the host, in step with the devices when asked for."""

    def get_params(self) -> tuple[Params, Params]:
        """Parameters and auxiliary states by name, as they are now, in host memory.

        The same two dicts each time; what is written to them reaches the devices by
        ``set_params``. Devices that differ (``kvstore=None``) give the mean.
        """
        require(self, "get_params", "params_initialized")
        if self._params_dirty:
            self._sync_params_from_devices()
        assert self._arg_params is not None
        assert self._aux_params is not None
        return self._arg_params, self._aux_params

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default; it has no state
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Gives the parameters their first values.

        initializer
            called with an InitDesc (name and attributes) and an NDArray to fill, for each
            parameter in the order of their names.
        arg_params, aux_params
            values by name, which are copied instead. Names that the module does not have are
            ignored.
        allow_missing
            initialises parameters that are not in these; without initializer they stay as they are.
        force_init
            initialises again; otherwise that is only a warning.

        Raises AssertionError if the module is not bound, RuntimeError for a missing parameter,
        MXNetError for a wrong shape; nothing is changed then.
        """
        if self.params_initialized and not force_init:
            _warn_ignored("init_params")
            return
        require(self, "init_params", "binded")
        own_args, own_aux = self._arg_params or {}, self._aux_params or {}
        attributes = self._symbol.attr_dict()
        work: list[Callable[[], Any]] = []
        for own, given in ((own_args, arg_params), (own_aux, aux_params)):
            for name, array in sorted(own.items()):
                if given is not None and name in given:
                    if given[name] is not array:
                        work.append(_copying(name, given[name], array))
                    continue
                if given is not None and not allow_missing:
                    raise MissingParameterError(
                        explain(
                            f"init_params: {name!r}",
                            "it is not among the given parameters",
                            hint="allow_missing=True initialises such parameters",
                        )
                    )
                if initializer is not None or given is None:
                    work.append(_initialising(initializer, name, attributes.get(name), array))
        if self._params_dirty:
            self._sync_params_from_devices()
        for act in work:
            act()
        self._exec_group.set_params(own_args, own_aux)
        self.params_initialized = True
        self._params_dirty = False

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters and auxiliary states by name.

        allow_missing
            sets only those that are given; then ValueError for unknown names, unless
            ``allow_extra``. Otherwise all have to be given, and unknown names are ignored.
        """
        if not allow_missing:
            super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            _warn_ignored("set_params")
            return
        require(self, "set_params", "binded")
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    def _sync_params_from_devices(self) -> None:
        assert self._arg_params is not None
        assert self._aux_params is not None
        self._exec_group.get_params(self._arg_params, self._aux_params)
        self._params_dirty = False


def _warn_ignored(what: str) -> None:
    warnings.warn(
        f"{what}: the parameters are initialised already; nothing is done (force_init=True does)",
        UserWarning,
        stacklevel=3,
    )


def _copying(name: str, value: Any, array: NDArray) -> Callable[[], Any]:
    if tuple(value.shape) != array.shape:
        raise ShapeError(
            explain(f"init_params: {name!r}", f"shape {value.shape}, expected {array.shape}")
        )
    return lambda: array.__setitem__(slice(None), value)


def _initialising(
    initializer: Any, name: str, attributes: Mapping[str, str] | None, array: NDArray
) -> Callable[[], Any]:
    if not callable(initializer):
        raise TypeError(
            explain(
                f"init_params: {name!r}",
                f"the initializer is {initializer!r}, expected a function of name and array",
                hint="mx.init.Xavier()",
            )
        )
    return lambda: initializer(InitDesc(name, attributes), array)
