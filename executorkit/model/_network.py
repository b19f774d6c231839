"""A network with its parameters: how FeedForward is made, gets parameters, and is bound."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from .. import optimizer as opt
from ..context import Context, cpu
from ..errors import FeedForwardError, explain
from ..executor import Executor
from ..executor_manager import _check_arguments, _load_data
from ..initializer import Uniform
from ..io import DataDesc
from ..ndarray import NDArray
from ..symbol import Symbol

Params = Mapping[str, NDArray]


class Network:
    """The parts of :class:`FeedForward` that neither train nor predict."""

    def __init__(
        self,
        symbol: Symbol | Callable[[Any], Symbol],
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: str | opt.Optimizer = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - it has no state
        numpy_batch_size: int = 128,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "FeedForward is deprecated, as it is in MXNet; use mod.Module instead",
            DeprecationWarning,
            stacklevel=2,
        )
        if not isinstance(symbol, Symbol) and not callable(symbol):
            raise FeedForwardError(
                explain("FeedForward", f"a {type(symbol).__name__}, expected a Symbol or function")
            )
        self.symbol = symbol if isinstance(symbol, Symbol) else None
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        self.ctx = [cpu()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = dict(kwargs)
        self._pred_exec: Executor | None = None
        if self.symbol is not None:
            self._check_symbol(self.symbol)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pred_exec": None}

    def _symbol(self, where: str) -> Symbol:
        if self.symbol is None:
            raise FeedForwardError(explain(where, "there is no symbol", hint="fit first"))
        return self.symbol

    def _check_symbol(self, symbol: Symbol) -> None:
        """Refuses names that stand twice, and leaves out parameters if extra ones are allowed."""
        _check_arguments(symbol)
        if self.allow_extra_params:
            self.arg_params = _restricted_to(self.arg_params, symbol.list_arguments())
            self.aux_params = _restricted_to(self.aux_params, symbol.list_auxiliary_states())

    def _init_params(
        self, inputs: Sequence[Any], overwrite: bool = False
    ) -> tuple[list[str], list[str], list[str]]:
        """Gives the model all its parameters, and returns the names of arguments, parameters and
        auxiliary states.

        inputs
            a DataDesc, or (name, shape), of each input.
        overwrite
            initialises the parameters that there are already too.
        """
        symbol = self._symbol("_init_params")
        described = [d if isinstance(d, DataDesc) else DataDesc(*d) for d in inputs]
        arg_names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        arg_shapes, _, aux_shapes = symbol.infer_shape(**{d.name: d.shape for d in described})
        arg_types, _, aux_types = symbol.infer_type(**{d.name: d.dtype for d in described})
        if arg_shapes is None or arg_types is None:
            raise FeedForwardError(
                explain(
                    "FeedForward",
                    "the shapes of the parameters do not follow from those of the inputs",
                    given_by=", ".join(f"{d.name} {d.shape}" for d in described),
                )
            )
        given = {d.name for d in described}
        args = {
            name: nd.zeros(shape, dtype=dtype)
            for name, shape, dtype in zip(arg_names, arg_shapes, arg_types, strict=True)
            if name not in given
        }
        aux = {
            name: nd.zeros(shape, dtype=dtype)
            for name, shape, dtype in zip(aux_names, aux_shapes or (), aux_types or (), strict=True)
        }
        for new, old in ((args, self.arg_params), (aux, self.aux_params)):
            for name, array in new.items():
                if old and name in old and not overwrite:
                    array[:] = old[name]
                else:
                    with warnings.catch_warnings():
                        # By name alone, as in MXNet: annotations of the variables do not count.
                        warnings.filterwarnings("ignore", r"initializer\(str, NDArray\)")
                        self.initializer(name, array)
        self.arg_params, self.aux_params = args, aux
        return arg_names, list(args), aux_names

    def _predictor(self, data: Any) -> Executor:
        """An executor for an iterator's batches on the first device, with today's parameters."""
        symbol = self._symbol("predict")
        if self.arg_params is None:
            raise FeedForwardError(explain("predict", "arg_params is None", hint="fit first"))
        described = [d if isinstance(d, DataDesc) else DataDesc(*d) for d in data.provide_data]
        shapes = {name: a.shape for name, a in self.arg_params.items()}
        shapes.update({d.name: d.shape for d in described})
        bound = self._pred_exec
        if bound is None or any(bound.arg_dict[n].shape != s for n, s in shapes.items()):
            types = {name: a.dtype for name, a in self.arg_params.items()}
            types.update({d.name: d.dtype for d in described})
            bound = symbol.simple_bind(self.ctx[0], grad_req="null", type_dict=types, **shapes)
            self._pred_exec = bound
        bound.copy_params_from(self.arg_params, self.aux_params)
        return bound


def run_batch(executor: Executor, data: Any, batch: Any) -> None:
    """Runs an executor on a batch of an iterator."""
    names = [d[0] for d in data.provide_data]
    _load_data(batch, [executor.arg_dict[n] for n in names])
    executor.forward(is_train=False)


def _restricted_to(params: Params | None, names: Sequence[str]) -> Params | None:
    return params and {k: v for k, v in params.items() if k in names}
