"""ParameterDict: parameters by their full names."""

import copy
import os
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np

from .. import initializer
from ..calls.rollback import complete
from ..context import Context
from ..errors import (
    ArgumentValueError,
    InputTypeError,
    MissingParameterError,
    UnknownNameError,
    did_you_mean,
    listed,
)
from ..ndarray import NDArray, array, load, save
from ..ops.schema.calls import numpy_dtype_name
from ._parameter import Constant, Parameter


class ParameterDict:
    """Parameters by their full names, in the order in which they were added.

    prefix
        the beginning of the names that ``get`` and ``get_constant`` make.
    shared
        another dictionary, whose parameters these two return if they have the name.

    There is no ``len``: ``len(params.keys())``.

    >>> import executorkit as mx
    >>> params = mx.gluon.ParameterDict("net_")
    >>> params.get("weight", shape=(2, 3)) is params["net_weight"]
    True
    >>> params
    net_ (
      Parameter net_weight (shape=(2, 3), dtype=<class 'numpy.float32'>)
    )
    """

    def __init__(self, prefix: str = "", shared: "ParameterDict | None" = None) -> None:
        self._prefix = prefix
        self._params: OrderedDict[str, Parameter] = OrderedDict()
        self._shared = shared

    def __repr__(self) -> str:
        name = f"{self._prefix} " if self._prefix else ""
        lines = "\n".join(f"  {parameter!r}" for parameter in self.values())
        return f"{name}(\n{lines}\n)"

    @property
    def prefix(self) -> str:
        """The beginning of the names of new parameters."""
        return self._prefix

    # Entries

    def __getitem__(self, key: str) -> Parameter:
        try:
            return self._params[key]
        except KeyError:
            hint = did_you_mean(str(key), self._params) if self._params else None
            problem = f"there is no parameter {key!r}"
            raise UnknownNameError("ParameterDict", problem, hint=hint) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Pairs of name and parameter."""
        return self._params.items()

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter ``prefix + name``: that of this dictionary, or of the shared one, or a new
        one.

        kwargs
            arguments of :class:`Parameter`. An existing parameter takes those attributes that are
            None, and lengths of its shape that are unknown. AssertionError (ArgumentValueError) if
            an attribute has another value; nothing is changed then.
        """
        name = self._prefix + name
        parameter = self._existing(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
            return parameter
        for attribute, value in _new_attributes(parameter, kwargs).items():
            setattr(parameter, attribute, value)
        return parameter

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """The constant ``prefix + name``: that of this dictionary, or of the shared one, or a new
        one of ``value``.

        Without a value it may be a parameter, too. KeyError (UnknownNameError) if there is none and
        no value. AssertionError (ArgumentValueError) if it has another value, or is no constant.
        """
        name = self._prefix + name
        constant = self._existing(name)
        if constant is None:
            if value is None:
                raise UnknownNameError(f"constant {name!r}", "there is none", hint="give its value")
            constant = self._params[name] = Constant(name, value)
            return constant
        if value is not None:
            if not isinstance(constant, Constant):
                raise ArgumentValueError(f"constant {name!r}", "it is a parameter, and no constant")
            new = (value if isinstance(value, NDArray) else array(value)).asnumpy()
            if not np.array_equal(new, constant.value.asnumpy()):
                raise ArgumentValueError(f"constant {name!r}", "it exists with another value")
        return constant

    def _existing(self, name: str) -> Parameter | None:
        """The parameter of a full name; one of the shared dictionary is added."""
        parameter = self._params.get(name)
        if parameter is None and self._shared is not None and name in self._shared:
            parameter = self._params[name] = self._shared[name]
        return parameter

    def update(self, other: "ParameterDict | Mapping[str, Parameter]") -> None:
        """Adds the parameters of another dictionary. AssertionError (ArgumentValueError) if it has
        another parameter of the same name; nothing is added then."""
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                problem = f"there are two different parameters called {name!r}"
                raise ArgumentValueError("ParameterDict: update", problem)
        self._params.update(other.items())

    # All parameters

    def initialize(
        self,
        init: Any = initializer.Uniform(),  # noqa: B008
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """:meth:`Parameter.initialize` of all, in order; ``init`` serves those that have none.

        verbose
            whether a line is logged for each. ValueError (ArgumentValueError), before the first
            one, if one has an unknown shape and cannot wait.
        """
        if verbose:
            init = copy.copy(initializer.create(init))
            init.set_verbosity(verbose=verbose)
        for parameter in self.values():
            if not parameter._allow_deferred_init:
                parameter._check_shape()
        for parameter in self.values():
            parameter.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Writes zeros into all gradients."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """:meth:`Parameter.reset_ctx` of all."""
        for parameter in self.values():
            parameter._check_has_contexts()
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """All contexts that some parameter is on."""
        return list(dict.fromkeys(ctx for p in self.values() for ctx in p.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute of all parameters: ``params.setattr("grad_req", "null")``."""
        for parameter in self.values():
            setattr(parameter, name, value)

    # Files

    def save(self, filename: str | os.PathLike[str], strip_prefix: str = "") -> None:
        """Writes the parameters by name to a file, as ``mx.nd.save`` does; of several contexts the
        mean.

        strip_prefix
            left out of the names. ValueError (ArgumentValueError) if a name does not begin with it.
        """
        for name in self.keys():
            if not name.startswith(strip_prefix):
                problem = f"parameter {name!r} does not begin with strip_prefix={strip_prefix!r}"
                hint = "name_scope() for children, and parameters that are not shared"
                raise ArgumentValueError("ParameterDict: save", problem, hint=hint)
        start = len(strip_prefix)
        save(filename, {name[start:]: parameter._reduce() for name, parameter in self.items()})

    def load(
        self,
        filename: str | os.PathLike[str],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """:meth:`load_dict` of a file's arrays."""
        arrays = load(filename)
        if not isinstance(arrays, dict):
            problem = "its arrays have no names, expected a file of parameters"
            raise InputTypeError(os.fspath(filename), problem)
        self.load_dict(
            arrays,
            ctx,
            allow_missing=allow_missing,
            ignore_extra=ignore_extra,
            restore_prefix=restore_prefix,
            filename=os.fspath(filename),
            cast_dtype=cast_dtype,
            dtype_source=dtype_source,
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Takes the contents of parameters from arrays by name; ``arg:`` and ``aux:`` before a name
        are left out.

        ctx
            the contexts of parameters that are not initialized.
        allow_missing, ignore_extra
            whether parameters may lack an array, and arrays a parameter.
        restore_prefix
            put before the names of the arrays.
        filename
            named by errors.
        cast_dtype, dtype_source
            whether dtypes may differ, and whose remains: 'current' or 'saved'.

        AssertionError if a parameter is missing, an array has no parameter, or a shape, dtype or
        context does not fit. All is checked first: after an error every parameter is as before.
        """
        source = "param_dict" if filename is None else filename
        for name in self.keys():
            if not name.startswith(restore_prefix):
                problem = f"parameter {name!r} does not begin with {restore_prefix!r}"
                raise ArgumentValueError(f"{source}: restore_prefix", problem)
        prefixes = ("arg:", "aux:")
        arrays = {
            restore_prefix + (name[4:] if name.startswith(prefixes) else name): value
            for name, value in param_dict.items()
        }
        missing = [name for name in self.keys() if name not in arrays]
        if missing and not allow_missing:
            problem = f"it has no parameter {listed(map(repr, missing), 8)}"
            hint = f"allow_missing=True; it has {listed(arrays, 8) or 'none'}"
            raise MissingParameterError(source, problem, hint=hint)
        extra = [name for name in arrays if name not in self._params]
        if extra and not ignore_extra:
            problem = f"it has {listed(map(repr, extra), 8)}, which is no parameter here"
            hint = f"ignore_extra=True; parameters are {listed(self._params, 8) or 'none'}"
            raise UnknownNameError(source, problem, hint=hint)
        plans = [
            self._params[name]._load_plan(value, ctx, cast_dtype, dtype_source)
            for name, value in arrays.items()
            if name in self._params
        ]
        complete(lambda: _run(plans))


def _run(plans: Sequence[Callable[[], None]]) -> None:
    for plan in plans:
        plan()


def _new_attributes(parameter: Parameter, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that an existing parameter takes over; ArgumentValueError if one of them
    contradicts its own."""
    new = {}
    for attribute, value in attributes.items():
        stored = getattr(parameter, attribute, None)
        if stored is None:
            if value is not None:
                new[attribute] = value
        elif value is None or value is stored:
            continue
        elif attribute == "shape":
            new[attribute] = _merged_shape(parameter, value)
        elif attribute == "dtype":
            if numpy_dtype_name(value) != numpy_dtype_name(stored):
                raise _contradiction(parameter, attribute, value)
        elif value != stored:
            raise _contradiction(parameter, attribute, value)
    return new


def _merged_shape(parameter: Parameter, shape: Any) -> tuple[int, ...]:
    """The lengths that either of two shapes knows."""
    stored: Any = parameter.shape
    lengths = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if len(lengths) != len(stored) or any(
        a > 0 and b > 0 and a != b for a, b in zip(lengths, stored, strict=True)
    ):
        raise _contradiction(parameter, "shape", shape)
    return tuple(b if b > 0 else a for a, b in zip(lengths, stored, strict=True))


def _contradiction(parameter: Parameter, attribute: str, value: Any) -> ArgumentValueError:
    stored = getattr(parameter, attribute)
    problem = f"it exists with {attribute}={stored!r}, {value!r} is asked for"
    return ArgumentValueError(f"parameter {parameter.name!r}", problem)
