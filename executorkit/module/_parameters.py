"""Host copies of a module's parameters: initialised, sent to the devices, and read back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..context import cpu
from ..errors import InputTypeError, MissingParameterError, ShapeError
from ..initializer import InitDesc
from ..ndarray import NDArray
from ._arguments import ParameterSpec
from .executor_group import DataParallelExecutorGroup

Params = dict[str, NDArray]


class ParameterStore:
    """Parameters and auxiliary states by name, in host memory, shared by modules. ``arg_params``
    and ``aux_params`` are None before binding; ``stale`` while devices have newer values."""

    def __init__(self, arg_params: Params | None = None, aux_params: Params | None = None) -> None:
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.stale = False

    def add_missing(self, group: DataParallelExecutorGroup) -> None:
        self.arg_params = _with_zeros(self.arg_params, group.param_names, group.param_arrays)
        self.aux_params = _with_zeros(self.aux_params, group.aux_names, group.aux_arrays)

    @property
    def arrays(self) -> tuple[Params, Params]:
        assert self.arg_params is not None
        assert self.aux_params is not None
        return self.arg_params, self.aux_params

    def read(self, group: DataParallelExecutorGroup) -> None:
        if not self.stale:
            return
        args, aux = self.arrays
        group.get_params(args, aux)
        # The group of a bucket may have fewer parameters than the store.
        self.stale = len(group.param_names) < len(args) or len(group.aux_names) < len(aux)

    def write(self, group: DataParallelExecutorGroup) -> None:
        group.set_params(self.arg_params or {}, self.aux_params)
        self.stale = False

    def initialise(
        self,
        spec: ParameterSpec,
        attributes: Mapping[str, Mapping[str, str]],
        group: DataParallelExecutorGroup,
    ) -> None:
        """Initialises the parameters, all checked first, and writes them to a group."""
        actions: list[Callable[[], object]] = []
        args, aux = self.arg_params or {}, self.aux_params or {}
        for arrays, values in ((args, spec.arg_params), (aux, spec.aux_params)):
            for name, array in sorted(arrays.items()):
                if values is not None and name in values:
                    if values[name] is not array:
                        actions.append(_copy_action(name, values[name], array))
                    continue
                if values is not None and not spec.allow_missing:
                    problem = "it is not among the given parameters"
                    hint = "allow_missing=True initialises such parameters"
                    raise MissingParameterError(f"init_params: {name!r}", problem, hint=hint)
                if spec.initializer is not None or values is None:
                    attrs = attributes.get(name)
                    actions.append(_initialise_action(spec.initializer, name, attrs, array))
        self.read(group)
        for action in actions:
            action()
        self.write(group)


def _with_zeros(params: Params | None, names: Sequence[str], arrays: Sequence[Any]) -> Params:
    params = {} if params is None else params
    for name, replicas in zip(names, arrays, strict=True):
        if name not in params:
            params[name] = nd.zeros(replicas[0].shape, cpu(), dtype=replicas[0].dtype)
    return params


def _copy_action(name: str, value: Any, array: NDArray) -> Callable[[], Any]:
    if tuple(value.shape) != array.shape:
        raise ShapeError(f"init_params: {name!r}", f"shape {value.shape}, expected {array.shape}")
    return lambda: array.__setitem__(slice(None), value)


def _initialise_action(
    initializer: Any, name: str, attributes: Mapping[str, str] | None, array: NDArray
) -> Callable[[], Any]:
    if not callable(initializer):
        problem = f"the initializer is {initializer!r}, expected a function of name and array"
        raise InputTypeError(f"init_params: {name!r}", problem, hint="mx.init.Xavier()")
    return lambda: initializer(InitDesc(name, attributes), array)
