"""Operators called on arrays: compiled once per attributes, run on the device of their inputs.

``jax.jit`` compiles per input shapes and dtypes; this file caches one jitted function per operator
and attributes. Inputs are checked by the operator's own rules when a function is traced, ``out``
arrays when it has run. Numbers that change from call to call (a scalar operand, a learning rate)
are passed as values where the operator allows it, so that a decaying rate compiles nothing.

NumPy evaluates small calls for good, by a plan for their shapes; that of an element-wise operator
serves other shapes too, so that ever-new shapes are not traced.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from ..arrays.handle import Handle
from ..arrays.random_state import next_key, next_key_data
from ..arrays.values import HOST_TYPES, HostContents, check_known_shape, filled, to_device
from ..context import Context, Device, current_context
from ..errors import AttributeValueError, InputTypeError, MXNetError
from ..jax_internals import in_x64
from ..ops import OpDef, Params, lookup
from ..ops.schema.traits import CALLS_PYTHON
from ..program import (
    SMALL_BYTES,
    CacheInfo,
    CodeCache,
    CompilationCounts,
    CompiledFunction,
    HostKey,
    Plan,
    deferred_errors,
    host_plans_allowed,
)
from .host_calls import are_on_host, host_call, on_host
from .later_calls import COPYING, later_call
from .recording import modes, recorder
from .resolved_calls import (
    NEEDS_VALUES_ERRORS,
    ArrayType,
    ResolvedCall,
    call_errors,
    check_inputs,
    check_targets,
    output_types,
    resolve,
    split_numbers,
    with_constants,
)


def assign_out(op: OpDef, out: Any, results: Sequence[jax.Array]) -> None:
    """Assigns results to the caller's arrays, all or none."""
    targets = [out] if isinstance(out, Handle) else out
    if not isinstance(targets, list | tuple) or not all(isinstance(t, Handle) for t in targets):
        raise InputTypeError(f"operator {op.name}", f"out is {out!r}, expected NDArrays")
    check_targets(f"operator {op.name}", targets, [(x.shape, x.dtype) for x in results])
    for target, value in zip(targets, results, strict=True):
        device = target.context.device
        target.assign(value if value.devices() == {device} else jax.device_put(value, device))


_counts = CompilationCounts()
#: The jitted function of each operator with its attributes. It has an executable for each shape.
_functions: CodeCache[CompiledFunction] = CodeCache("eager", 2048, 0.18)


def eager_cache_info() -> CacheInfo:
    """The use of the cache of eagerly called operators, by operator and attributes, so far."""
    return _functions.info(_counts.traces)


def clear_eager_cache() -> None:
    """Drops all compiled operators; the next calls compile again."""
    _functions.clear()


def function_of(key: tuple[Any, ...]) -> CompiledFunction:
    """The compiled function of a call, by :attr:`ResolvedCall.key` or ``train_key``."""
    return _functions.get_or_make(key, lambda: _jitted(*key))


def derived_function(
    key: tuple[Any, ...], make: Callable[[], CompiledFunction]
) -> CompiledFunction:
    """A function that follows from that of a call, such as its gradient; made once for a key."""
    return _functions.get_or_make(key, make)


def run_plain(resolved: ResolvedCall, cls: type[Handle], arrays: Sequence[Handle]) -> Any:
    """:func:`invoke` of a resolved call on one array or more."""
    if modes.active:
        if modes.recording and recorder().takes(arrays, None):
            return recorder().record(resolved, cls, arrays, None)
        if resolved.op.train_name is not None:
            return invoke(resolved.op, cls, arrays, dict(resolved.texts))
    for array in arrays:
        producer = array.storage.producer
        if producer is not None and producer.__class__ in COPYING:
            later = _later(resolved, cls, arrays, partial(run_plain, resolved, cls))
            if later is not None:
                return later
            break
    if resolved.op.host is not None:
        results = _run_on_host(resolved, cls, arrays)
        if results is not None:
            return results
    entry = _functions.get(resolved.key) or function_of(resolved.key)
    results = _host_results(entry, resolved, arrays, ()) if entry.host_plans else None
    if results is not None:
        return _delivered(resolved, cls, arrays, results, None)
    context = arrays[0].context
    values = [a.value if a.context is context else _moved(resolved.op, a, context) for a in arrays]
    try:
        results = entry(None, (), *values)
    except NEEDS_VALUES_ERRORS:
        return invoke(resolved.op, cls, arrays, resolved.params)
    if resolved.n_visible == 1:
        return cls.from_jax(results[0], context, shared=False)
    visible = results[: resolved.n_visible]
    return [cls.from_jax(value, context, shared=False) for value in visible]


def _run_on_host(resolved: ResolvedCall, cls: type[Handle], arrays: Sequence[Handle]) -> Any:
    """:func:`run_plain` of an operator that the host computes by itself; None where it does not."""
    own = _own_results(resolved, arrays)
    if own is not None:
        return _delivered(resolved, cls, arrays, own, None)
    return None if resolved.is_plain else invoke(resolved.op, cls, arrays, dict(resolved.texts))


def _later(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    run: Callable[[Sequence[Handle]], Any],
    out: Any = None,
) -> Any:
    """The results of a call that waits for what was recorded, as :func:`invoke` returns them;
    ``run`` computes them. None if it is to be computed now."""
    context = arrays[0].context
    plain = resolved.is_plain and resolved.is_compiled and resolved.op.train_name is None
    if not plain or resolved.has_effects or any(a.context is not context for a in arrays):
        return None
    input_types = tuple([(a.shape, a.storage.dtype) for a in arrays])
    try:
        types = output_types(resolved, resolved.op, input_types)
    except NEEDS_VALUES_ERRORS:
        return None
    if out is not None and (out.graph_entry is not None or not _takes(out, types, context)):
        return None
    several = len(types) > 1
    results = later_call(lambda x: run(x) if several else [run(x)], cls, arrays, types, out)
    return results if results is None or several else results[0]


def run_scalar(
    resolved: ResolvedCall, cls: type[Handle], array: Handle, number: float, out: Handle | None
) -> Any:
    """:func:`invoke` of a call with an array and a number that is passed as a value; None where
    that has to do it."""
    if modes.recording or array.storage.producer.__class__ in COPYING:
        return None
    entry = _functions.get(resolved.key)
    if entry is None or not entry.host_plans:
        return None
    results = _host_results(entry, resolved, (array,), (number,))
    return None if results is None else _delivered(resolved, cls, (array,), results, out)


def _own_results(resolved: ResolvedCall, arrays: Sequence[Handle]) -> list[np.ndarray] | None:
    """The results of an operator's function of NumPy arrays; None where it leaves the call."""
    if not are_on_host(arrays):
        return None
    key_data = None if resolved.op.key_name is None else next_key_data(arrays[0].context)
    with np.errstate(all="ignore"):
        result = host_call(resolved, [a.host for a in arrays], key_data)
    return None if result is None else [result]


def _computed_on_host(
    resolved: ResolvedCall, arrays: Sequence[Handle], dynamic: Sequence[tuple[str, Any]]
) -> list[np.ndarray] | None:
    """The results of a call that the host computes, by a function or a plan; None for others."""
    own = None if resolved.op.host is None else _own_results(resolved, arrays)
    if own is not None or not resolved.is_plain:
        return own
    entry = _functions.get(resolved.train_key if modes.training else resolved.key)
    if entry is None or not entry.host_plans:
        return None
    return _host_results(entry, resolved, arrays, [v for _, v in dynamic])


def _host_key(args: tuple[Any, ...]) -> Any:
    """The key of a call's plan on the host: shapes and dtypes of its arrays. None if it draws
    random numbers, has no arrays, or numbers of other types than float."""
    key, numbers, *arrays = args
    if key is not None or not arrays or any(n.__class__ is not float for n in numbers):
        return None
    return tuple([(a.shape, a.dtype) for a in arrays])


def host_plan(entry: CompiledFunction, resolved: ResolvedCall, key: HostKey) -> Plan | None:
    """The plan by which the host computes a call for good, for shapes and dtypes of its arrays;
    None if it does not."""
    plan = entry.host_plans.get(key)
    if plan is None and resolved.output_shapes is not None:
        shapes = tuple([shape for shape, _ in key])
        empty = any(0 in shape for shape in shapes)
        out_shapes = None if empty else resolved.output_shapes(shapes)
        plan = None if out_shapes is None else entry.host_plan_for(key, out_shapes)
    return plan if host_plans_allowed() else None


def _host_results(
    entry: CompiledFunction,
    resolved: ResolvedCall,
    arrays: Sequence[Handle],
    numbers: Sequence[Any],
) -> list[np.ndarray] | None:
    """The results of a call that the host computes for good; None for another one."""
    plan = host_plan(entry, resolved, tuple([(a.shape, a.storage.dtype) for a in arrays]))
    if plan is None:
        return None
    operands: list[Any] = []
    for number in numbers:
        if number.__class__ is not float:
            return None
        operands.append(np.float64(number))
    for array in arrays:
        if array.context.device_typeid not in HOST_TYPES:
            return None
        producer: Any = array.storage.producer
        is_whole = producer.__class__ is HostContents and array.covers_storage
        operands.append(producer.host if is_whole else array.host)
    return plan.run(operands)


def _delivered(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    results: Sequence[np.ndarray],
    out: Any,
) -> Any:
    """Results on the host as :func:`invoke` returns them."""
    context = arrays[0].context
    if out is None and resolved.n_visible == 1 and not deferred_errors.open:
        return on_host(cls, results[0], context)
    visible = results[: resolved.n_visible]
    if deferred_errors.open or not (
        out is None or _takes(out, [(x.shape, x.dtype) for x in visible], context)
    ):
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
        outputs = [on_host(cls, x, context) for x in visible]
    return outputs[0] if len(outputs) == 1 else outputs


def _takes(out: Any, types: Sequence[ArrayType], context: Context) -> bool:
    """True for an array that a call's only result, of that shape and dtype, replaces as it is."""
    return (
        isinstance(out, Handle)
        and len(types) == 1
        and out.covers_storage
        and (out.shape, out.storage.dtype) == types[0]
        and out.context == context
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
    if modes.recording and recorder().takes(arrays, out):
        return _recorded(op, cls, arrays, attrs, out)
    texts, dynamic = split_numbers(op, attrs, arrays)
    resolved = resolve(op, texts, tuple([k for k, _ in dynamic]))
    if dynamic and not resolved.is_compiled:
        resolved, dynamic = with_constants(op, attrs), ()
    if COPYING and any(a.storage.producer.__class__ in COPYING for a in arrays):
        plain_out = out is None or isinstance(out, Handle)
        run = partial(_invoke_later, op, cls, attrs)
        later = _later(resolved, cls, arrays, run, out) if ctx is None and plain_out else None
        if later is not None:
            return later
    computed = _computed_on_host(resolved, arrays, dynamic) if arrays else None
    if computed is not None:
        return _delivered(resolved, cls, arrays, computed, out)
    if not arrays and op.has_shape_attribute and attrs.get("shape") is not None:
        check_known_shape(op.name, resolved.params.shape)
    context = _context_of_call(arrays, out, ctx)
    values = [a.value if a.context is context else _moved(op, a, context) for a in arrays]
    key = next_key(context) if op.key_name is not None else None
    device = None if arrays else context.device
    try:
        results = _run(resolved, dynamic, key, values, device)
    except NEEDS_VALUES_ERRORS:
        resolved.is_compiled = False
        resolved = with_constants(op, attrs)
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


def _invoke_later(
    op: OpDef, cls: type[Handle], attrs: Mapping[str, Any], arrays: Sequence[Handle]
) -> Any:
    return invoke(op, cls, arrays, attrs)


def _recorded(
    op: OpDef, cls: type[Handle], arrays: Sequence[Handle], attrs: Mapping[str, Any], out: Any
) -> Any:
    """The outputs of a call that is recorded."""
    texts, dynamic = split_numbers(op, attrs, arrays)
    numbers = {k: v for k, v in dynamic if v.__class__ is float}
    if len(numbers) == len(dynamic) != 0:
        resolved = resolve(op, texts, tuple(numbers))
        return recorder().record_numbers(resolved, cls, arrays, numbers, out)
    return recorder().record(with_constants(op, attrs), cls, arrays, out)


def _assign_states(
    resolved: ResolvedCall, arrays: Sequence[Handle], results: Sequence[jax.Array]
) -> None:
    """Writes the new auxiliary states and the constants that an operator fixes.

    As in MXNet, training changes the states of its operators in backward alone.
    """
    op, aux, constant_inputs = resolved.op, resolved.aux, resolved.constant_inputs
    if modes.training and op.train_name is not None and CALLS_PYTHON not in op.traits:
        aux = ()
    if aux or constant_inputs:
        inputs = dict(zip(op.inputs(resolved.params), arrays, strict=True))
        for name, value in zip(aux, results[len(results) - len(aux) :], strict=True):
            inputs[name].assign(value)
        for name, number in constant_inputs.items():
            x = inputs[name]
            x.assign(filled(number, x.shape, x.storage.dtype, x.context.device))


def call(name: str, *arrays: Handle, **attrs: Any) -> Any:
    """:func:`invoke` by MXNet's name of the operator; results are of the first array's class."""
    op = lookup(name)
    assert op is not None, name
    return invoke(op, type(arrays[0]), arrays, attrs)


def _moved(op: OpDef, array: Handle, context: Context) -> jax.Array:
    """An input's value on the operator's device: as in MXNet, CPUs read each other's arrays."""
    device, source = context.device, array.context.device
    if device == source:
        return array.value
    if device.platform != "cpu" or source.platform != "cpu":
        problem = f"its inputs are in {context} and in {array.context}"
        raise MXNetError(f"operator {op.name}", problem, hint=f"x.as_in_context(mx.{context})")
    return jax.device_put(array.value, device)


def _context_of_call(arrays: Sequence[Handle], out: Any, ctx: Any) -> Context:
    """The context of the results: that of the first array, of ``out``, or the one named."""
    if arrays:
        return arrays[0].context
    return out.context if isinstance(out, Handle) else _context(ctx)


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
        apply = in_x64(resolved.op.apply)
        results = apply(resolved.params, values, key=key, train=modes.training)
        if deferred_errors.open:
            deferred_errors.follow(values, results)
        return results
    cache_key = resolved.train_key if modes.training else resolved.key
    if device is not None:
        cache_key = (*cache_key[:-1], device)
    return function_of(cache_key)(key, tuple([v for _, v in dynamic]), *values)


def _jitted(
    op: OpDef, key: tuple[tuple[str, Any], ...], dynamic: tuple[str, ...], train: bool, device: Any
) -> CompiledFunction:
    params = Params(key)

    def run(prng_key: Any, numbers: tuple[Any, ...], *arrays: Any) -> tuple[Any, ...]:
        p = Params({**params, **dict(zip(dynamic, numbers, strict=True))})
        check_inputs(op, params, arrays)
        with call_errors(op, params, arrays):
            return op.apply(p, arrays, key=prng_key, train=train)

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
