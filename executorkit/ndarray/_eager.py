"""Operators called on arrays: compiled once per attributes, run on the device of their inputs.

``jax.jit`` compiles per input shapes and dtypes; this file caches one jitted function per operator
and attributes. Inputs are checked by the operator's own rules when a function is traced, ``out``
arrays when it has run. Numbers that change from call to call (a scalar operand, a learning rate)
are passed as values where the operator allows it, so that a decaying rate compiles nothing.

NumPy evaluates small calls for good, by a plan for their shapes; that of an element-wise operator
serves other shapes too, so that ever-new shapes are not traced.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..context import Context, Device, current_context
from ..errors import (
    AttributeValueError,
    DTypeError,
    DynamicShapeError,
    InputTypeError,
    MXNetError,
    ShapeError,
    explain,
)
from ..ops import OpDef, Params, lookup
from ..ops.schema.attrs import to_text
from ..ops.schema.channels_last import layout_elementwise
from ..ops.schema.inference import ShapeFacts, TypeFacts
from ..ops.schema.traits import NEEDS_NUMBERS, NEEDS_VALUES
from ..program import (
    SMALL_BYTES,
    CacheInfo,
    CodeCache,
    CompilationCounts,
    CompiledFunction,
    deferred_errors,
    host_plans_allowed,
)
from .handle import Handle
from .random_state import next_key
from .storage import Storage
from .values import HostContents, check_known_shape, filled, to_device


def check_inputs(op: OpDef, p: Params, arrays: Sequence[Any]) -> None:
    """Applies the operator's own rules to the inputs; their errors name the input that is wrong."""
    names = op.inputs(p)
    if len(names) != len(arrays):
        raise MXNetError(
            f"operator {op.name}",
            f"it takes {len(names)} arrays with these attributes ({', '.join(names)}), "
            f"got {len(arrays)}",
        )
    outputs = {f"out{i}": None for i in range(len(op.outputs(p)))}
    try:
        op.infer_type(TypeFacts(op.name, _dtypes(names, arrays) | outputs), p)
        if op.infer_shape is not None:
            op.infer_shape(ShapeFacts(op.name, _shapes(names, arrays) | outputs), p)
    except (ShapeError, DTypeError) as error:
        problem, because, *_ = (*error.args, None)
        raise type(error)(
            explain(
                f"operator {op.name}",
                str(problem),
                because=because,
                given_by=describe_inputs(op, p, arrays),
            )
        ) from None


def _dtypes(names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    return {n: a.dtype.name for n, a in zip(names, arrays, strict=True)}


def _shapes(names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    return {n: a.shape for n, a in zip(names, arrays, strict=True)}


def describe_inputs(op: OpDef, p: Params, arrays: Sequence[Any]) -> str:
    """Names, dtypes and shapes of the inputs, for messages."""
    names = op.inputs(p)
    names = names if len(names) == len(arrays) else [f"array {i}" for i in range(len(arrays))]
    return ", ".join(
        f"{n} {a.dtype.name}{tuple(a.shape)}" for n, a in zip(names, arrays, strict=True)
    )


def assign_out(op: OpDef, out: Any, results: Sequence[jax.Array]) -> None:
    """Assigns results to the caller's arrays, all or none."""
    targets = [out] if isinstance(out, Handle) else out
    if not isinstance(targets, list | tuple) or not all(isinstance(t, Handle) for t in targets):
        raise InputTypeError(f"operator {op.name}", f"out is {out!r}, expected NDArrays")
    if len(targets) != len(results):
        problem = f"out holds {len(targets)} arrays, expected {len(results)}"
        raise MXNetError(f"operator {op.name}", problem)
    for target, value in zip(targets, results, strict=True):
        if target.shape != value.shape:
            problem = f"out is {target.shape}, expected {value.shape}"
            raise ShapeError(f"operator {op.name}", problem)
        if target.storage.dtype != value.dtype:
            problem = f"out is {target.dtype_name}, expected {value.dtype.name}"
            raise DTypeError(f"operator {op.name}", problem)
    for target, value in zip(targets, results, strict=True):
        device = target._context.device
        target.assign(value if value.devices() == {device} else jax.device_put(value, device))


#: Attributes that are passed as values to operators on floating arrays.
_DYNAMIC = frozenset(
    {"scalar", "lr", "wd", "rescale_grad", "t"}
    | {"lrs", "wds", "etas", "learning_rates", "step_count"}
)
#: Errors raised when Python code asks for a value that is only traced.
_NEEDS_VALUES = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, DynamicShapeError)
_counts = CompilationCounts()
#: The jitted function of each operator with its attributes. It has an executable for each shape.
_functions: CodeCache[CompiledFunction] = CodeCache("eager", 2048, 0.18)


def eager_cache_info() -> CacheInfo:
    """The use of the cache of eagerly called operators, by operator and attributes, so far."""
    return _functions.info(_counts.traces)


def clear_eager_cache() -> None:
    """Drops all compiled operators; the next calls compile again."""
    _functions.clear()


class ResolvedCall:
    """An operator with its attributes, and all that a call of it has to know about them.

    key
        of its jitted function in the cache, but for the device of a call without arrays.
    n_visible
        number of outputs that a call returns.
    is_plain
        whether a call has no effect but its results, and draws no random numbers.
    is_compiled
        whether it runs compiled: False for an operator that needs the values of its inputs, and
        for one of a user's that was found to need a value which a trace does not have.
    output_shapes
        of a plain call that computes each element for itself: the shapes of its results for those
        of arrays that are not empty, None where they do not fit. None for other calls.
    """

    __slots__ = (
        "aux", "constant_inputs", "is_compiled", "is_plain", "key", "n_visible", "op",
        "output_shapes", "params",
    )  # fmt: skip

    def __init__(self, op: OpDef, texts: tuple[tuple[str, str], ...], dynamic: tuple[str, ...]):
        self.op = op
        self.params = _parsed(op, texts)
        self.key = op, self.params.key, dynamic, None
        self.n_visible = op.visible(self.params)
        self.aux = op.aux_of(self.params)
        self.constant_inputs = op.constant_inputs(self.params)
        self.is_plain = op.key_name is None and not self.aux and not self.constant_inputs
        self.is_compiled = NEEDS_VALUES not in op.traits
        self.output_shapes = None
        if self.is_plain and op.output_shapes is not None and op.layout_rule is layout_elementwise:
            self.output_shapes = partial(op.output_shapes, self.params)


#: Calls with equal texts share what follows from them.
_resolved = lru_cache(maxsize=4096)(ResolvedCall)


def resolved_call(op: OpDef, attrs: Mapping[str, Any]) -> ResolvedCall | None:
    """The call of an operator on arrays, if :func:`run_plain` can run it: None if it has other
    effects, or attributes that are passed as values."""
    if not attrs.keys().isdisjoint(_DYNAMIC):
        return None
    resolved = _with_constants(op, attrs)
    return resolved if resolved.is_plain and resolved.is_compiled else None


def _with_constants(op: OpDef, attrs: Mapping[str, Any]) -> ResolvedCall:
    """The call with all attributes as constants."""
    return _resolved(op, _as_texts(attrs), ())


def _as_texts(attrs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple([(k, to_text(v)) for k, v in attrs.items()])


def _entry(key: tuple[Any, ...]) -> CompiledFunction:
    return _functions.get_or_make(key, lambda: _jitted(*key))


def run_plain(resolved: ResolvedCall, cls: type[Handle], arrays: Sequence[Handle]) -> Any:
    """:func:`invoke` of a resolved call on one array or more."""
    entry = _functions.get(resolved.key) or _entry(resolved.key)
    results = _host_results(entry, resolved, arrays, ()) if entry.host_plans else None
    if results is not None:
        return _delivered(resolved, cls, arrays, results, None)
    context = arrays[0]._context
    values = [a.value if a._context is context else _moved(resolved.op, a, context) for a in arrays]
    try:
        results = entry(None, (), *values)
    except _NEEDS_VALUES:
        return invoke(resolved.op, cls, arrays, resolved.params)
    if resolved.n_visible == 1:
        return cls.from_jax(results[0], context, shared=False)
    visible = results[: resolved.n_visible]
    return [cls.from_jax(value, context, shared=False) for value in visible]


def run_scalar(
    resolved: ResolvedCall, cls: type[Handle], array: Handle, number: float, out: Handle | None
) -> Any:
    """:func:`invoke` of a call with an array and a number that is passed as a value; None where
    that has to do it."""
    entry = _functions.get(resolved.key)
    if entry is None or not entry.host_plans:
        return None
    results = _host_results(entry, resolved, (array,), (number,))
    return None if results is None else _delivered(resolved, cls, (array,), results, out)


#: Types of contexts whose arrays are in the host's memory.
_HOST_TYPES = frozenset(Context.devstr2type[name] for name in ("cpu", "cpu_pinned", "cpu_shared"))


def _host_key(args: tuple[Any, ...]) -> Any:
    """The key of a call's plan on the host: shapes and dtypes of its arrays. None if it draws
    random numbers, has no arrays, or numbers of other types than float."""
    key, numbers, *arrays = args
    if key is not None or not arrays or any(n.__class__ is not float for n in numbers):
        return None
    return tuple([(a.shape, a.dtype) for a in arrays])


def _host_results(
    entry: CompiledFunction,
    resolved: ResolvedCall,
    arrays: Sequence[Handle],
    numbers: Sequence[Any],
) -> list[np.ndarray] | None:
    """The results of a call that the host computes for good; None for another one."""
    key = tuple([(a._shape, a.storage.dtype) for a in arrays])
    plan = entry.host_plans.get(key)
    if plan is None and resolved.output_shapes is not None:
        shapes = tuple([shape for shape, _ in key])
        empty = any(0 in shape for shape in shapes)
        out_shapes = None if empty else resolved.output_shapes(shapes)
        plan = None if out_shapes is None else entry.host_plan_for(key, out_shapes)
    if plan is None or not host_plans_allowed():
        return None
    operands: list[Any] = [np.float64(n) for n in numbers if n.__class__ is float]
    if len(operands) != len(numbers):
        return None
    for array in arrays:
        if array._context.device_typeid not in _HOST_TYPES:
            return None
        operands.append(array.host)
    return plan.run(operands)


def _delivered(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    results: Sequence[np.ndarray],
    out: Any,
) -> Any:
    """Results on the host as :func:`invoke` returns them."""
    context = arrays[0]._context
    if out is None and resolved.n_visible == 1 and not deferred_errors.open:
        return _on_host(cls, results[0], context)
    visible = results[: resolved.n_visible]
    if deferred_errors.open or not (out is None or _takes(out, visible, context)):
        device = context.device
        values = [to_device(x, device) for x in visible]
        if deferred_errors.open:
            deferred_errors.follow([a.value for a in arrays], values)
        if out is not None:
            assign_out(resolved.op, out, values)
            return out
        outputs = [cls.from_jax(value, context, shared=False) for value in values]
    elif out is not None:
        out.storage.defer(HostContents(visible[0], context))
        return out
    else:
        outputs = [_on_host(cls, x, context) for x in visible]
    return outputs[0] if len(outputs) == 1 else outputs


def _on_host(cls: type[Handle], x: np.ndarray, context: Context) -> Handle:
    """An array with contents on the host."""
    shape = x.shape
    storage = Storage(shape, x.dtype, producer=HostContents(x, context))
    return cls.from_storage(storage, 0, shape, context)


def _takes(out: Any, results: Sequence[np.ndarray], context: Context) -> bool:
    """True for an array that a call's only result replaces as it is."""
    return (
        isinstance(out, Handle)
        and len(results) == 1
        and out.covers_storage
        and out._shape == results[0].shape
        and out.storage.dtype == results[0].dtype
        and out._context == context
    )


def invoke(
    op: OpDef,
    cls: type[Handle],
    arrays: Sequence[Handle],
    attrs: Mapping[str, Any],
    out: Any = None,
    ctx: Any = None,
) -> Any:
    """Runs an operator on arrays, given in its own order, with attributes as they were given.

    Returns an array, or a list if the operator has several visible outputs; with ``out`` (an array
    or a list) results are assigned to it. Auxiliary inputs are updated, and inputs that the
    operator fixes to a constant (BatchNorm's gamma) are overwritten, as in MXNet. MXNetError for
    wrong attributes, and for shapes or dtypes that do not fit.
    """
    if op.in_place is not None and (out[0] if isinstance(out, list) else out) is arrays[0]:
        op = op.in_place
    texts, dynamic = _texts(op, attrs, arrays)
    resolved = _resolved(op, texts, tuple([k for k, _ in dynamic]))
    if dynamic and not resolved.is_compiled:
        resolved, dynamic = _with_constants(op, attrs), ()
    if arrays and resolved.is_plain:
        entry = _functions.get(resolved.key)
        if entry is not None and entry.host_plans:
            host = _host_results(entry, resolved, arrays, [v for _, v in dynamic])
            if host is not None:
                return _delivered(resolved, cls, arrays, host, out)
    if arrays:
        context = arrays[0]._context
    else:
        if op.has_shape_attribute and attrs.get("shape") is not None:
            check_known_shape(op.name, resolved.params.shape)
        context = out._context if isinstance(out, Handle) else _context(ctx)
    values = [a.value if a._context is context else _moved(op, a, context) for a in arrays]
    key = next_key(context) if op.key_name is not None else None
    device = None if arrays else context.device
    try:
        results = _run(resolved, dynamic, key, values, device)
    except _NEEDS_VALUES:
        resolved.is_compiled = False
        resolved = _with_constants(op, attrs)
        results = _run(resolved, (), key, values, device)
    visible = results[: resolved.n_visible]
    if out is not None:
        assign_out(op, out, visible)
    if not resolved.is_plain:
        _assign_states(resolved, arrays, results)
    if out is not None:
        return out
    outputs = [cls.from_jax(value, context, shared=False) for value in visible]
    return outputs[0] if len(outputs) == 1 else outputs


def _assign_states(
    resolved: ResolvedCall, arrays: Sequence[Handle], results: Sequence[jax.Array]
) -> None:
    """Writes the new auxiliary states and the constants that an operator fixes."""
    aux, constant_inputs = resolved.aux, resolved.constant_inputs
    if aux or constant_inputs:
        inputs = dict(zip(resolved.op.inputs(resolved.params), arrays, strict=True))
        for name, value in zip(aux, results[len(results) - len(aux) :], strict=True):
            inputs[name].assign(value)
        for name, number in constant_inputs.items():
            x = inputs[name]
            x.assign(filled(number, x._shape, x.storage.dtype, x._context.device))


def call(name: str, *arrays: Handle, **attrs: Any) -> Any:
    """:func:`invoke` by MXNet's name of the operator; results are of the first array's class."""
    op = lookup(name)
    assert op is not None, name
    return invoke(op, type(arrays[0]), arrays, attrs)


def _moved(op: OpDef, array: Handle, context: Context) -> jax.Array:
    """An input's value on the operator's device: as in MXNet, CPUs read each other's arrays."""
    device, source = context.device, array._context.device
    if device == source:
        return array.value
    if device.platform != "cpu" or source.platform != "cpu":
        problem = f"its inputs are in {context} and in {array._context}"
        raise MXNetError(f"operator {op.name}", problem, hint=f"x.as_in_context(mx.{context})")
    return jax.device_put(array.value, device)


def parse_attrs(op: OpDef, attrs: Mapping[str, Any]) -> Params:
    """The parsed attributes of a call; calls with equal texts share them."""
    return _parsed(op, _as_texts(attrs))


def _texts(
    op: OpDef, attrs: Mapping[str, Any], arrays: Sequence[Handle]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, Any], ...]]:
    """Attributes as texts (the key under which they are parsed once), and the dynamic ones as
    values."""
    if (
        attrs.keys().isdisjoint(_DYNAMIC)
        or NEEDS_NUMBERS in op.traits
        or not all(is_floating(a.storage.dtype) for a in arrays)
    ):
        return _as_texts(attrs), ()
    texts, dynamic = [], []
    for k, v in attrs.items():
        if k in _DYNAMIC and k in op.attrs and isinstance(v, int | float):
            dynamic.append((k, float(v) if op.attrs[k].annotation is float else v))
            texts.append((k, "1"))
        elif k in _DYNAMIC and k in op.attrs and isinstance(v, list | tuple):
            dynamic.append((k, tuple(v)))
            texts.append((k, to_text([1] * len(v))))
        else:
            texts.append((k, to_text(v)))
    return tuple(texts), tuple(dynamic)


@lru_cache(maxsize=64)
def is_floating(dtype: Any) -> bool:
    """True for dtypes of real and complex numbers."""
    return jnp.issubdtype(dtype, jnp.floating)


@lru_cache(maxsize=4096)
def _parsed(op: OpDef, texts: tuple[tuple[str, str], ...]) -> Params:
    return op.parse(dict(texts))


def _context(ctx: Any) -> Context:
    if ctx is None:
        return current_context()
    if isinstance(ctx, Context):
        return ctx
    kind, bracket, number = str(ctx).strip().partition("(")
    try:
        if not bracket:
            raise ValueError
        return Context(kind, int(number.removesuffix(")")))
    except (KeyError, ValueError):
        problem = f"{ctx!r} is no context"
        raise AttributeValueError("ctx", problem, hint="mx.cpu(0), or the text 'cpu(0)'") from None


def _run(
    resolved: ResolvedCall,
    dynamic: tuple[tuple[str, Any], ...],
    key: Any,
    values: Sequence[jax.Array],
    device: Device | None,
) -> tuple[jax.Array, ...]:
    if not resolved.is_compiled:
        with jax.enable_x64(True):
            results = resolved.op.apply(resolved.params, values, key=key)
        if deferred_errors.open:
            deferred_errors.follow(values, results)
        return results
    cache_key = resolved.key if device is None else (*resolved.key[:-1], device)
    return _entry(cache_key)(key, tuple([v for _, v in dynamic]), *values)


def _jitted(
    op: OpDef, key: tuple[tuple[str, Any], ...], dynamic: tuple[str, ...], device: Any
) -> CompiledFunction:
    params = Params(key)

    def run(prng_key: Any, numbers: tuple[Any, ...], *arrays: Any) -> tuple[Any, ...]:
        p = Params({**params, **dict(zip(dynamic, numbers, strict=True))})
        check_inputs(op, params, arrays)
        try:
            return op.apply(p, arrays, key=prng_key, train=False)
        except _NEEDS_VALUES:
            raise
        except MXNetError as error:
            error.add_note(f"in operator {op.name}: {describe_inputs(op, params, arrays)}")
            raise
        except (TypeError, ValueError) as error:
            given_by = describe_inputs(op, params, arrays)
            raise ShapeError(f"operator {op.name}", str(error), given_by=given_by) from error

    run.__name__ = op.name
    checks = op.checks_values(params)
    return CompiledFunction(
        run,
        checks=checks,
        executable_bytes=SMALL_BYTES,
        counts=_counts,
        host_key=None if checks else _host_key,
        device=device,
    )
