"""An executor's arrays by name, and what is written to them by name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..errors import (
    BindError,
    ShapeError,
    UnknownArgumentError,
    did_you_mean,
    explain,
    similar_names,
)
from ..lowering import Graph
from ..ndarray import NDArray
from ..ndarray._values import FittedValue
from ._arguments import convert_for, is_assignable, transfer_batch, type_phrase


def is_input_name(name: str) -> bool:
    """Whether an argument of this name is data or a label: ``data``, ``left_data``, ``label``,
    ``softmax_label``. Such names are what MXNet's training interfaces look for."""
    return name.endswith(("data", "label"))


class NamedArrays:
    """The lists of an executor's arrays as dicts."""

    _graph: Graph
    _arg_dict: dict[str, NDArray] | None
    _aux_dict: dict[str, NDArray] | None
    arg_arrays: list[NDArray]
    grad_arrays: list[NDArray | None] | None
    aux_arrays: list[NDArray]
    outputs: list[NDArray]

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name. ValueError if names repeat."""
        if self._arg_dict is None:
            self._arg_dict = _dict_by_name(self._graph.arg_names, self.arg_arrays, "arguments")
        return self._arg_dict

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradient arrays by argument name, None where there is none."""
        arrays = self.grad_arrays or [None] * len(self.arg_arrays)
        return _dict_by_name(self._graph.arg_names, arrays, "arguments")

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name. ValueError if names repeat."""
        if self._aux_dict is None:
            self._aux_dict = _dict_by_name(
                self._graph.aux_names, self.aux_arrays, "auxiliary states"
            )
        return self._aux_dict

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name. ValueError if names repeat."""
        return _dict_by_name(self._graph.output_names, self.outputs, "outputs")

    def params(self) -> dict[str, jax.Array]:
        """The parameters as a dict of ``jax.Array``, for optax: the arguments with a gradient, but
        for data and labels (by name, see :func:`is_input_name`).

        The arrays do not change when the executor goes on.
        """
        return {n: self.arg_dict[n].jax for n in self._parameter_names()}

    def grads(self) -> dict[str, jax.Array]:
        """The gradients of :meth:`params`, by the same names."""
        grads = self.grad_dict
        return {n: grads[n].jax for n in self._parameter_names()}  # type: ignore[union-attr]

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Replaces parameters by those of a dict, as ``optax.apply_updates`` returns it.

        Raises ValueError for an unknown name or a wrong shape; nothing is changed then.
        """
        self.copy_params_from(params)

    def _parameter_names(self) -> list[str]:
        grads = self.grad_dict
        return [n for n in self._graph.arg_names if grads[n] is not None and not is_input_name(n)]

    def copy_params_from(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copies parameters by name into the bound arrays, converted to their dtypes.

        Raises ValueError for a name that the symbol does not have, unless ``allow_extra_params``,
        and for a wrong shape; nothing is copied then.
        """
        writes = []
        for given in (arg_params, {} if aux_params is None else aux_params):
            if not isinstance(given, Mapping):
                problem = f"{type_phrase(given)}, expected a dict of NDArray"
                raise TypeError(explain("copy_params_from", problem))
        for params, arrays, what in (
            (arg_params, self.arg_dict, "argument"),
            (aux_params or {}, self.aux_dict, "auxiliary state"),
        ):
            for name, value in params.items():
                target = arrays.get(name)
                if target is not None:
                    where = f"copy_params_from: {what} {name!r}"
                    writes.append((target, convert_for(value, target, where)))
                elif not allow_extra_params:
                    some = ", ".join(map(repr, itertools.islice(params, 8)))
                    close = f"{similar_names(name, arrays)}, or ".removeprefix(", or ")
                    raise BindError(
                        explain(
                            "copy_params_from",
                            f"{name!r} is not an {what} of this symbol",
                            given_by=f"a dict with {some}" + (", ..." if len(params) > 8 else ""),
                            hint=f"{close}allow_extra_params=True to skip such names",
                        )
                    )
        for target, fitted in writes:
            target.assign(*fitted)

    def feed(self, given: Mapping[str, Any]) -> None:
        """Writes new contents of arguments, all of them or, where one does not fit, none."""
        arrays = self._arg_dict or self.arg_dict
        writes = []
        for name, value in given.items():
            target = arrays.get(name)
            if target is None:
                raise UnknownArgumentError(
                    explain(
                        "forward", f"unknown argument {name!r}", hint=did_you_mean(name, arrays)
                    )
                )
            if value.__class__ is NDArray and is_assignable(value, target):
                writes.append((target, value.jax, True))
            else:
                writes.append((target, *_convert_input(value, target, name)))
        for target, contents, shared in writes:
            target.assign(contents, shared)


def _convert_input(value: Any, target: NDArray, name: str) -> FittedValue:
    """What ``forward`` was given for an argument, as that can be assigned it."""
    if not isinstance(value, NDArray | np.ndarray | jax.Array):
        raise BindError(
            explain(
                f"forward: {name!r}",
                f"{type_phrase(value)}, expected an NDArray, a NumPy or a JAX array",
            )
        )
    try:
        return transfer_batch(value, target, f"forward: {name!r}")
    except ShapeError as error:
        if value.shape[1:] != target.shape[1:]:
            raise
        grows = "allow_up_sizing=True, " if len(value) > len(target) else ""
        hint = f"executor.reshape({grows}{name}={tuple(value.shape)}, ...)"
        raise ShapeError(f"{error}\n  try: {hint}") from None


def _dict_by_name(names: Sequence[str], arrays: Sequence[Any], what: str) -> dict[str, Any]:
    found = dict(zip(names, arrays, strict=True))
    if len(found) != len(names):
        repeated = sorted({n for n in names if list(names).count(n) > 1})
        raise BindError(
            explain(
                "executor",
                f"{what} share a name: {', '.join(map(repr, repeated))}",
                hint="use the list of arrays, or give the variables different names",
            )
        )
    return found
