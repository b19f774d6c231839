"""Checks of the arguments of bind, forward and backward before anything runs, and their conversion
to the graph's order and the bound dtypes and devices."""

import itertools
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .._support.annotations import Arrays
from .._support.shape_semantics import numpy_shapes
from ..arrays.values import FittedValue, fit
from ..context import Context
from ..display import many
from ..errors import BindError, DTypeError, InputTypeError, ShapeError, similar_names
from ..lowering import Graph, InferenceResult, infer
from ..ndarray import NDArray
from ..ops.schema.inference import is_fully_known

GRAD_REQS = ("null", "write", "add")


def parse_shape(value: Any, where: str) -> tuple[int, ...]:
    try:
        return tuple(operator.index(d) for d in value)
    except TypeError:
        raise BindError(where, f"{value!r} is not a shape, expected a tuple of integers") from None


def ordered_arrays(
    arrays: Any, names: Sequence[str], what: str, *, optional: bool = False
) -> list[NDArray | None]:
    """Returns NDArrays in the order of ``names``; other names in a dict are ignored, as in MXNet.
    ``optional`` allows missing entries (None)."""
    if isinstance(arrays, Mapping):
        missing = [n for n in names if arrays.get(n) is None]
        if missing and not optional:
            problem = f"no array for {', '.join(map(repr, missing))}"
            given_by = f"a dict with {', '.join(map(repr, arrays)) or 'no entries'}"
            hint = f"add {missing[0]!r} to {what}, or let simple_bind make the arrays"
            raise BindError(f"bind: {what}", problem, given_by=given_by, hint=hint)
        ordered = [arrays.get(n) for n in names]
    elif isinstance(arrays, Sequence) and not isinstance(arrays, str):
        if len(arrays) != len(names):
            problem = f"{many(len(arrays), 'array')}, expected {len(names)}: {', '.join(names)}"
            raise BindError(f"bind: {what}", problem)
        ordered = list(arrays)
    else:
        problem = f"{type_phrase(arrays)}, expected a list or a dict of NDArray"
        raise InputTypeError(f"bind: {what}", problem)
    for name, array in zip(names, ordered, strict=True):
        if not isinstance(array, NDArray) and not (array is None and optional):
            problem = f"{type_phrase(array)}, expected an NDArray"
            raise InputTypeError(f"bind: {what}[{name!r}]", problem, hint="mx.nd.array(value)")
    return ordered


def parse_grad_req(grad_req: Any, names: Sequence[str]) -> list[str]:
    """Returns 'null', 'write' or 'add' for every argument; 'null' for one missing from a dict."""
    if isinstance(grad_req, str):
        reqs = [grad_req] * len(names)
    elif isinstance(grad_req, Mapping):
        reqs = [grad_req.get(name, "null") for name in names]
    elif isinstance(grad_req, Sequence):
        reqs = list(grad_req)
        if len(reqs) != len(names):
            problem = f"{len(reqs)} for {many(len(names), 'argument')}: {', '.join(names)}"
            raise BindError("bind: grad_req", problem)
    else:
        problem = f"{grad_req!r}, expected a text, a list or a dict of them"
        raise BindError("bind: grad_req", problem)
    for name, req in zip(names, reqs, strict=True):
        if req not in GRAD_REQS:
            problem = f"{req!r}, expected one of {', '.join(GRAD_REQS)}"
            raise BindError(f"bind: grad_req of {name!r}", problem)
    return reqs


def check_contexts(
    arrays: Sequence[NDArray | None], names: Sequence[str], expected: Sequence[Context], what: str
) -> None:
    for name, array, context in zip(names, arrays, expected, strict=True):
        if array is not None and array.context != context:
            raise BindError(
                f"bind: {what}[{name!r}]",
                f"it is in {array.context}, expected {context}",
                because="arrays are in the context that is bound to, or in their "
                "ctx_group's, and gradients beside their arguments",
                hint=f"{name}.as_in_context(mx.{context})",
            )


def is_assignable(value: NDArray, target: NDArray) -> bool:
    source, destination = value.context, target.context
    return (
        value.shape == target.shape
        and value.storage.dtype == target.storage.dtype
        and (source is destination or source == destination)
    )


def convert_for(value: Any, target: NDArray, where: str) -> FittedValue:
    """Returns a value converted to be assigned to ``target``: shape (checked), dtype, device."""
    if isinstance(value, NDArray) and is_assignable(value, target):
        return FittedValue(value.jax, True)
    if not isinstance(value, NDArray | np.ndarray | jax.Array):
        raise InputTypeError(
                where, f"{type_phrase(value)}, expected an NDArray, a NumPy or a JAX array",
                hint="mx.nd.array(value)",
            )  # fmt: skip
    if value.shape != target.shape:
        raise ShapeError(where, f"shape {tuple(value.shape)}, expected {target.shape}")
    return fit(value, target.shape, target.storage.dtype, target.context.device, where)


def check_input(value: Any, name: str) -> None:
    if not isinstance(value, NDArray | np.ndarray | jax.Array):
        problem = f"{type_phrase(value)}, expected an NDArray, a NumPy or a JAX array"
        raise BindError(f"forward: {name!r}", problem)


def convert_input(value: Any, target: NDArray, name: str) -> FittedValue:
    check_input(value, name)
    try:
        return convert_for(value, target, f"forward: {name!r}")
    except ShapeError as error:
        if value.shape[1:] != target.shape[1:]:
            raise
        grows = "allow_up_sizing=True, " if len(value) > len(target) else ""
        hint = f"executor.reshape({grows}{name}={tuple(value.shape)}, ...)"
        raise ShapeError(f"{error}\n  try: {hint}") from None


def parse_is_train(is_train: Any) -> bool:
    try:
        return bool(is_train)
    except ValueError:
        problem = f"{type_phrase(is_train)}, expected True or False"
        hint = "give arrays by name: forward(is_train=False, data=...)"
        raise InputTypeError("forward: is_train", problem, hint=hint) from None


def type_phrase(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def check_arrays(
    graph: Graph,
    arg_arrays: Sequence[NDArray],
    aux_arrays: Sequence[NDArray],
    grad_arrays: Sequence[NDArray | None] | None,
) -> InferenceResult:
    """Infers the graph from the bound arrays; ShapeError or DTypeError names a wrong one."""
    arrays = [
        *zip(graph.arg_names, arg_arrays, strict=True),
        *zip(graph.aux_names, aux_arrays, strict=True),
    ]
    inferred = infer(
        graph,
        {name: array.shape for name, array in arrays},
        {name: array.dtype_name for name, array in arrays},
        bound=True,
    )
    shapes = (*inferred.arg_shapes, *inferred.aux_shapes)
    for (name, array), shape in zip(arrays, shapes, strict=True):
        if array.shape != shape:
            raise ShapeError(f"bind: argument {name!r}", f"shape {array.shape}, expected {shape}")
    for name, shape in zip(graph.output_names, inferred.out_shapes, strict=True):
        if not is_fully_known(shape) and (shape is None or not numpy_shapes()):
            raise ShapeError(f"bind: output {name!r}", f"its shape {shape} cannot be inferred")
    for name, array, grad in zip(
        graph.arg_names, arg_arrays, grad_arrays or [None] * len(arg_arrays),
        strict=True,
    ):  # fmt: skip
        if grad is None:
            continue
        where = f"bind: args_grad[{name!r}]"
        if grad.shape != array.shape:
            problem = f"shape {grad.shape}, expected {array.shape}"
            raise ShapeError(where, problem, because=f"that is the shape of argument {name!r}")
        if grad.dtype != array.dtype:
            problem = f"{grad.dtype_name}, expected {array.dtype_name}"
            raise DTypeError(where, problem, because=f"that is the type of argument {name!r}")
    return inferred


# -- arrays by name --------------------------------------------------------------------------------


def is_input_name(name: str) -> bool:
    """Returns whether an argument is data or a label by its name, as in MXNet's interfaces."""
    return name.endswith(("data", "label"))


def dict_by_name(names: Sequence[str], arrays: Arrays, what: str) -> dict[str, Any]:
    by_name = dict(zip(names, arrays, strict=True))
    if len(by_name) != len(names):
        problem = f"{what} share a name: {', '.join(map(repr, _repeated(names)))}"
        hint = "use the list of arrays, or give the variables different names"
        raise BindError("executor", problem, hint=hint)
    return by_name


def check_distinct_names(graph: Graph, binding: str) -> None:
    """Raises BindError by ``binding`` if two arguments, or two states, have one name. One variable
    that several operators read is one argument; two of one name would be two arrays that cannot be
    told apart."""
    for names, what in ((graph.arg_names, "arguments"), (graph.aux_names, "auxiliary states")):
        if len(set(names)) == len(names):
            continue
        repeated = _repeated(names)
        layers = _repeated([step.node.name for step in graph.steps])
        if layers:
            because = f"several layers are called {', '.join(map(repr, layers[:5]))}"
            hint = "give each layer a name of its own (name=...), or none"
        else:
            because = f"several variables are called {repeated[0]!r}"
            hint = "create the variable once and pass it to each layer that shares it"
        problem = f"{what} share a name: {', '.join(map(repr, repeated))}"
        raise BindError(binding, problem, because=because, hint=hint)


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


#: Parameters by name, the arrays that they are written to, and the kind of array in words.
Parameters = tuple[Mapping[str, Any], Mapping[str, NDArray], str]


def parameter_writes(
    args: Parameters, aux: Parameters, allow_extra: bool
) -> list[tuple[NDArray, FittedValue]]:
    for params, _, _ in (args, aux):
        if not isinstance(params, Mapping):
            problem = f"{type_phrase(params)}, expected a dict of NDArray"
            raise InputTypeError("copy_params_from", problem)
    writes = []
    for params, arrays, what in (args, aux):
        for name, value in params.items():
            target = arrays.get(name)
            if target is not None:
                where = f"copy_params_from: {what} {name!r}"
                writes.append((target, convert_for(value, target, where)))
            elif not allow_extra:
                raise _unknown_parameter(name, params, arrays, what)
    return writes


def _unknown_parameter(
    name: str, params: Mapping[str, Any], arrays: Mapping[str, NDArray], what: str
) -> BindError:
    names = ", ".join(map(repr, itertools.islice(params, 8))) + (", ..." if len(params) > 8 else "")
    similar = f"{similar_names(name, arrays)}, or ".removeprefix(", or ")
    return BindError(
        "copy_params_from",
        f"{name!r} is not an {what} of this symbol",
        given_by=f"a dict with {names}",
        hint=f"{similar}allow_extra_params=True to skip such names",
    )
