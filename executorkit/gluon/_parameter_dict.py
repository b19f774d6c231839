"""ParameterDict: parameters by their full names."""

import copy
import os
from collections import OrderedDict
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np

from .. import initializer
from .._support.annotations import Attrs
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
from ._parameter import Constant, Parameter, shape_lengths


class ParameterDict:
    """Parameters by their full names, in the order in which they were added.

    prefix
        The beginning of the names that ``get`` and ``get_constant`` create.
    shared
        Another dictionary, whose parameters of the same names these two methods return.

    Use ``len(params.keys())``: as in MXNet, the dictionary has no ``len``.

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
            problem = f"parameter {key!r} does not exist"
            raise UnknownNameError("ParameterDict", problem, hint=hint) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Returns the parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Returns pairs of name and parameter."""
        return self._params.items()

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """Returns the parameter ``prefix + name`` of this or the shared dictionary, or creates it.
        ``kwargs`` are arguments of :class:`Parameter`; an existing parameter takes them for its
        attributes that are None, and for unknown lengths of its shape. Raises AssertionError
        (ArgumentValueError), and changes nothing, if an attribute has another value."""
        name = self._prefix + name
        parameter = self._existing(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
            return parameter
        for attribute, value in _new_attributes(parameter, kwargs).items():
            setattr(parameter, attribute, value)
        return parameter

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """Returns the constant ``prefix + name`` of this or the shared dictionary, or creates it.
        Without a value the result may also be a parameter. Raises KeyError (UnknownNameError) if
        there is neither a constant nor a value, AssertionError (ArgumentValueError) if its value
        differs, or if it is a parameter."""
        name = self._prefix + name
        constant = self._existing(name)
        if constant is None:
            if value is None:
                raise UnknownNameError(f"constant {name!r}", "there is none", hint="give its value")
            constant = self._params[name] = Constant(name, value)
            return constant
        if value is not None:
            if not isinstance(constant, Constant):
                raise ArgumentValueError(f"constant {name!r}", "it is a parameter, not a constant")
            new = (value if isinstance(value, NDArray) else array(value)).asnumpy()
            if not np.array_equal(new, constant.value.asnumpy()):
                raise ArgumentValueError(f"constant {name!r}", "it exists with another value")
        return constant

    def _existing(self, name: str) -> Parameter | None:
        parameter = self._params.get(name)
        if parameter is None and self._shared is not None and name in self._shared:
            parameter = self._params[name] = self._shared[name]
        return parameter

    def update(self, other: "ParameterDict | Mapping[str, Parameter]") -> None:
        """Adds the parameters of another dictionary. Raises AssertionError (ArgumentValueError),
        and adds nothing, if two parameters have one name."""
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
        """Calls :meth:`Parameter.initialize` of all parameters, in order.

        init
            The initializer of parameters without their own.
        verbose
            Whether to log a line for each parameter.

        Raises ValueError (ArgumentValueError), and initializes none, if a shape is unknown that may
        not be.
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
        """Sets all gradients to zero."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Calls :meth:`Parameter.reset_ctx` of all parameters."""
        for parameter in self.values():
            parameter._check_has_contexts()
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Returns all contexts of the parameters."""
        return list(dict.fromkeys(ctx for p in self.values() for ctx in p.list_ctx()))

    def setattr(self, name: str, value: object) -> None:
        """Sets an attribute of all parameters: ``params.setattr("grad_req", "null")``."""
        for parameter in self.values():
            setattr(parameter, name, value)

    # Files

    def save(self, filename: str | os.PathLike[str], strip_prefix: str = "") -> None:
        """Writes the parameters by name to a file of ``mx.nd.save``: means over their contexts.
        Names lose ``strip_prefix``; one without it raises ValueError (ArgumentValueError)."""
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
        """Reads parameters from the file ``filename`` of ``mx.nd.save``; :meth:`load_dict`
        describes the other arguments. InputTypeError for a file whose arrays have no names."""
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
        """Sets parameters to arrays by name; ``arg:`` and ``aux:`` before a name are ignored.

        ctx
            The contexts of parameters that are not initialized.
        allow_missing, ignore_extra
            Whether parameters may lack an array, and arrays a parameter.
        restore_prefix
            A prefix to add to the names of the arrays.
        filename
            A name for messages of errors.
        cast_dtype
            Whether dtypes may differ.
        dtype_source
            Which dtype remains then: 'current' (the parameter's) or 'saved'.

        Raises AssertionError for a missing parameter, an extra array, and a shape, dtype or context
        that does not fit; then all parameters are unchanged.
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
            problem = f"it has {listed(map(repr, extra), 8)}, which is not a parameter here"
            hint = f"ignore_extra=True; parameters are {listed(self._params, 8) or 'none'}"
            raise UnknownNameError(source, problem, hint=hint)
        plans = [
            self._params[name]._load_plan(value, ctx, cast_dtype, dtype_source)
            for name, value in arrays.items()
            if name in self._params
        ]
        complete(lambda: [plan() for plan in plans])


def _new_attributes(parameter: Parameter, attributes: Mapping[str, Any]) -> Attrs:
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
    stored: Any = parameter.shape
    lengths = shape_lengths(shape)
    if len(lengths) != len(stored) or any(
        a > 0 and b > 0 and a != b for a, b in zip(lengths, stored, strict=True)
    ):
        raise _contradiction(parameter, "shape", shape)
    return tuple(b if b > 0 else a for a, b in zip(lengths, stored, strict=True))


def _contradiction(parameter: Parameter, attribute: str, value: object) -> ArgumentValueError:
    stored = getattr(parameter, attribute)
    problem = f"it exists with {attribute}={stored!r}, {value!r} is asked for"
    return ArgumentValueError(f"parameter {parameter.name!r}", problem)
