"""The ways in which a call is computed, and the choice among them.

:func:`invoke` resolves an operator with its attributes (``resolved_calls``), and :func:`run` takes
the first of these ways that fits:

1. *recorded*: autograd's recorder takes calls on arrays of a graph;
2. *later*: an input waits for what was recorded, and so does the call (``later_calls``);
3. *host function*: the operator has a function of NumPy arrays, for images of ever-new shapes;
4. *host plan*: NumPy evaluates small calls for good, since the call of a program takes longer; the
   plan of an element-wise operator serves other shapes too, so that these are not traced;
5. *compiled*: a function for each operator and attributes, which has an executable for each shape
   and interprets the first calls (``program``);
6. *at once*: an operator that needs the values of its inputs runs uncompiled.

A graph of operators (``CachedOp``) is recorded, computed by host functions, or is one program. The
functions of contents, :func:`forward` and :func:`backward`, are ways 4 and 5 without handles.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._support.annotations import Arrays, Operands, Raw, Tree
from ..arrays.handle import Handle
from ..arrays.random_state import next_key, next_key_data
from ..arrays.storage import Storage
from ..arrays.values import HOST_TYPES, check_known_shape, filled, to_device
from ..context import Context, Device, current_context
from ..errors import AttributeValueError, InputTypeError, MXNetError
from ..jax_internals import in_x64
from ..ops import OpDef, Params, lookup
from ..ops.schema.channels_last import layout_elementwise
from ..ops.schema.traits import CALLS_PYTHON
from ..program import (
    SMALL_BYTES,
    CacheInfo,
    CodeCache,
    CompilationCounts,
    CompiledFunction,
    HostContents,
    HostKey,
    compiler_options,
    deferred_errors,
    interpreter_enabled,
)
from .later_calls import later_call
from .recording import modes
from .resolved_calls import (
    NEEDS_VALUES_ERRORS,
    ArrayType,
    GraphCall,
    ResolvedCall,
    call_errors,
    check_inputs,
    check_targets,
    output_types,
    resolve,
    split_numbers,
)

H = TypeVar("H", bound=Handle)
_TYPE = attrgetter("shape", "storage.dtype")

_counts = CompilationCounts()
_functions: CodeCache[CompiledFunction] = CodeCache("eager", 2048, 0.18)


def eager_cache_info() -> CacheInfo:
    return _functions.info(_counts.traces)


def clear_eager_cache() -> None:
    _functions.clear()


def call(name: str, *arrays: Handle, **attrs: Any) -> Tree:
    op = lookup(name)
    assert op is not None, name
    return invoke(op, type(arrays[0]), arrays, attrs)


def invoke(
    op: OpDef,
    cls: type[Handle],
    arrays: Sequence[Handle],
    attrs: Mapping[str, Any],
    out: Any = None,
    ctx: Context | None = None,
) -> Any:
    """Runs an operator on arrays in its own order; MXNetError for wrong attributes."""
    if op.in_place is not None and (out[0] if isinstance(out, list) else out) is arrays[0]:
        op = op.in_place
    texts, numbers = split_numbers(op, attrs, arrays)
    resolved = resolve(op, texts, tuple([k for k, _ in numbers]))
    if not arrays and op.has_shape_attribute and attrs.get("shape") is not None:
        check_known_shape(op.name, resolved.params.shape)
    return run(resolved, cls, arrays, [v for _, v in numbers], out, ctx)


def run(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    numbers: Arrays = (),
    out: Any = None,
    ctx: Context | None = None,
) -> Any:
    """Runs a call in one of its ways; returns an array, or a list for several visible outputs.
    ``numbers`` are values of attributes, ``out`` takes results, ``ctx`` is for a call without
    arrays. Auxiliary inputs, and inputs that the operator fixes to a constant (BatchNorm's gamma),
    are overwritten, as in MXNet. MXNetError for shapes or dtypes that do not fit."""
    if modes.recording and modes.recorder.takes(arrays, out):
        return modes.recorder.record(resolved, cls, arrays, out, numbers)
    if numbers and not resolved.is_compiled:
        resolved, numbers = resolved.with_numbers(numbers), ()
    for array in arrays:
        producer = array.storage.producer
        if producer is not None and producer.copies:
            later = _later(resolved, cls, arrays, numbers, out)
            if later is not None:
                return later
            break
    op = resolved.op
    if arrays:
        computed = None if op.host is None else _from_host_function(resolved, arrays)
        if computed is None and resolved.is_plain:
            computed = _from_host_plan(resolved, arrays, numbers)
        if computed is not None:
            return _deliver_host(resolved, cls, arrays, computed, out)
        context, device = arrays[0].context, None
    else:
        context = out.context if isinstance(out, Handle) else _context(ctx)
        device = context.device
    values = [a.value if a.context is context else _moved(op, a, context) for a in arrays]
    key = next_key(context) if op.key_name is not None else None
    results = _compute(resolved, tuple(numbers), key, values, device)
    visible = results[: resolved.n_visible]
    if out is not None:
        _assign_out(op, out, visible)
    if not resolved.is_plain:
        _assign_states(resolved, arrays, results)
    if out is not None:
        return out
    outputs = [cls.from_jax(value, context, shared=False) for value in visible]
    return outputs[0] if len(outputs) == 1 else outputs


def _compute(
    resolved: ResolvedCall,
    numbers: Operands,
    key: Any,
    values: Sequence[jax.Array],
    device: Device | None,
) -> Sequence[jax.Array]:
    if not resolved.is_compiled:
        results = in_x64(resolved.op.apply)(resolved.params, values, key=key, train=modes.training)
        if deferred_errors.open:
            deferred_errors.follow(values, results)
        return results
    name = resolved.train_key if modes.training else resolved.key
    if device is not None:
        name = (*name[:-1], device)
    try:
        return (_functions.get(name) or function_of(name))(key, numbers, *values)
    except NEEDS_VALUES_ERRORS:
        resolved.is_compiled = False
        return _compute(resolved.with_numbers(numbers), (), key, values, device)


def _later(
    resolved: ResolvedCall, cls: type[Handle], arrays: Sequence[Handle], numbers: Arrays, out: Any
) -> Any:
    context = arrays[0].context
    plain = resolved.is_plain and resolved.is_compiled and resolved.op.train_name is None
    if not plain or resolved.has_effects or any(a.context is not context for a in arrays):
        return None
    input_types = tuple(map(_TYPE, arrays))
    try:
        types = output_types(resolved, resolved.op, input_types)
    except NEEDS_VALUES_ERRORS:
        return None
    if out is not None and not (_takes(out, types, context) and out.graph_entry is None):
        return None

    def compute(inputs: Sequence[Handle]) -> Any:
        results = run(resolved, cls, inputs, numbers)
        return results if len(types) > 1 else [results]

    results = later_call(compute, cls, arrays, types, out)
    return results if results is None or len(types) > 1 else results[0]


# -- in the host's memory ----------------------------------------------------------------------


def on_host(cls: type[H], x: np.ndarray, context: Context) -> H:
    """Returns an array of contents in the host's memory, which nothing may write to afterwards."""
    shape = x.shape
    storage = Storage(shape, x.dtype, producer=HostContents(x, context))
    return cls.from_storage(storage, 0, shape, context)


def _are_on_host(arrays: Sequence[Handle]) -> bool:
    in_memory = [x.context.device_typeid in HOST_TYPES for x in arrays]
    return all(in_memory) and interpreter_enabled()


def _from_host_function(
    resolved: ResolvedCall, arrays: Sequence[Handle]
) -> list[np.ndarray] | None:
    if not _are_on_host(arrays):
        return None
    key_data = None if resolved.op.key_name is None else next_key_data(arrays[0].context)
    with np.errstate(all="ignore"):
        result = _host_result(resolved, [a.host for a in arrays], key_data)
    return None if result is None else [result]


def _host_result(
    resolved: ResolvedCall, arrays: Sequence[np.ndarray], key_data: np.ndarray | None
) -> np.ndarray | None:
    """Returns a host function's result; None leaves the call, and its errors, to the operator."""
    op = resolved.op
    assert op.host is not None
    attrs = dict(resolved.params)
    if key_data is not None and op.key_name is not None:
        attrs[op.key_name] = tuple(key_data.tolist())
    try:
        result = op.host(*arrays, **attrs)
    except MXNetError:
        return None
    if result is None:
        return None
    if result.base is None:
        shared = any(result is x for x in arrays)
    else:
        shared = any(np.may_share_memory(result, x) for x in arrays)
    return result.copy() if shared else np.ascontiguousarray(result)


def run_graph_on_host(graph: GraphCall, cls: type[H], arrays: Sequence[Handle]) -> list[H] | None:
    if not _are_on_host(arrays):
        return None
    context = arrays[0].context
    values = dict(zip(graph.inputs, [x.host for x in arrays], strict=True))
    with np.errstate(all="ignore"):
        for resolved, numbers, (number, *_) in graph.calls:
            if resolved.op.host is None:
                return None
            key_data = next_key_data(context) if resolved.op.key_name is not None else None
            result = _host_result(resolved, [values[n] for n in numbers], key_data)
            if result is None:
                return None
            values[number] = result
    return [on_host(cls, values[n], context) for n in graph.outputs]


def _from_host_plan(
    resolved: ResolvedCall, arrays: Sequence[Handle], numbers: Arrays
) -> list[np.ndarray] | None:
    function = _functions.get(resolved.train_key if modes.training else resolved.key)
    if function is None or not function.host_plans:
        return None
    plan = function.host_plans[tuple(map(_TYPE, arrays))]
    if plan is None or not interpreter_enabled():
        return None
    operands: list[Raw] = []
    for number in numbers:
        if number.__class__ is not float:
            return None
        operands.append(np.float64(number))
    for array in arrays:
        if array.context.device_typeid not in HOST_TYPES:
            return None
        producer: Any = array.storage.producer
        is_whole = isinstance(producer, HostContents) and array.covers_storage
        host = producer.host if is_whole else None
        operands.append(array.host if host is None else host)
    return plan.run(operands)


def _deliver_host(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    results: Sequence[np.ndarray],
    out: Any,
) -> Any:
    context = arrays[0].context
    visible = results[: resolved.n_visible]
    if deferred_errors.open or not (
        out is None or _takes(out, [(x.shape, x.dtype) for x in visible], context)
    ):
        device = context.device
        values = [to_device(x, device) for x in visible]
        if deferred_errors.open:
            deferred_errors.follow([a.value for a in arrays], values)
        if out is not None:
            _assign_out(resolved.op, out, values)
            return out
        outputs = [cls.from_jax(value, context, shared=False) for value in values]
    elif out is not None:
        out.storage.defer(HostContents(visible[0], context))
        return out
    elif resolved.n_visible == 1:
        return on_host(cls, results[0], context)
    else:
        outputs = [on_host(cls, x, context) for x in visible]
    return outputs[0] if len(outputs) == 1 else outputs


def _takes(out: Any, types: Sequence[ArrayType], context: Context) -> bool:
    return (
        isinstance(out, Handle)
        and len(types) == 1
        and out.covers_storage
        and (out.shape, out.storage.dtype) == types[0]
        and out.context == context
    )


# -- results -----------------------------------------------------------------------------------


def _assign_out(op: OpDef, out: Any, results: Sequence[jax.Array]) -> None:
    targets = [out] if isinstance(out, Handle) else out
    if not isinstance(targets, list | tuple) or not all(isinstance(t, Handle) for t in targets):
        raise InputTypeError(f"operator {op.name}", f"out is {out!r}, expected NDArrays")
    check_targets(f"operator {op.name}", targets, [(x.shape, x.dtype) for x in results])
    for target, value in zip(targets, results, strict=True):
        device = target.context.device
        target.assign(value if value.devices() == {device} else jax.device_put(value, device))


def _assign_states(
    resolved: ResolvedCall, arrays: Sequence[Handle], results: Sequence[jax.Array]
) -> None:
    op, aux, constant_inputs = resolved.op, resolved.aux, resolved.constant_inputs
    # As in MXNet, training changes the states of its operators in backward alone.
    if modes.training and op.train_name is not None and CALLS_PYTHON not in op.traits:
        aux = ()
    if aux or constant_inputs:
        inputs = dict(zip(op.inputs(resolved.params), arrays, strict=True))
        for name, value in zip(aux, results[len(results) - len(aux) :], strict=True):
            inputs[name].assign(value)
        for name, number in constant_inputs.items():
            x = inputs[name]
            x.assign(filled(number, x.shape, x.storage.dtype, x.context.device))


def _moved(op: OpDef, array: Handle, context: Context) -> jax.Array:
    # As in MXNet, CPUs read each other's arrays.
    device, source = context.device, array.context.device
    if device == source:
        return array.value
    if device.platform != "cpu" or source.platform != "cpu":
        problem = f"its inputs are in {context} and in {array.context}"
        raise MXNetError(f"operator {op.name}", problem, hint=f"x.as_in_context(mx.{context})")
    return jax.device_put(array.value, device)


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
        problem = f"{ctx!r} is not a context"
        raise AttributeValueError("ctx", problem, hint="mx.cpu(0), or the text 'cpu(0)'") from None


# -- compiled functions ------------------------------------------------------------------------


def function_of(key: tuple[Any, ...]) -> CompiledFunction:
    return _functions.get_or_make(key, lambda: _jitted(*key))


def _shapes_and_types(*arrays: Any) -> HostKey:
    return tuple([(x.shape, x.dtype) for x in arrays])


def _host_key(args: Operands) -> HostKey | None:
    key, numbers, *arrays = args
    if key is not None or not arrays or not all(number.__class__ is float for number in numbers):
        return None
    return _shapes_and_types(*arrays)


def _jitted(
    op: OpDef,
    key: tuple[tuple[str, Any], ...],
    dynamic: tuple[str, ...],
    train: bool,
    device: Device,
) -> CompiledFunction:
    params = Params(key)

    def run(prng_key: Any, numbers: Operands, *arrays: Any) -> Operands:
        p = Params({**params, **dict(zip(dynamic, numbers, strict=True))})
        check_inputs(op, params, arrays)
        with call_errors(op, params, arrays):
            return op.apply(p, arrays, key=prng_key, train=train)

    run.__name__ = op.name
    checks = op.checks_values(params)
    output_shapes = None
    if op.output_shapes is not None and op.layout_rule is layout_elementwise:
        output_shapes = partial(op.output_shapes, params)
    return CompiledFunction(
        run,
        compiler_options=compiler_options([op], trains=False),
        checks=checks,
        executable_bytes=SMALL_BYTES,
        counts=_counts,
        host_key=None if checks else _host_key,
        output_shapes=output_shapes,
        device=device,
    )


# -- contents: NumPy or JAX arrays -------------------------------------------------------------


def forward(resolved: ResolvedCall, train: bool, key: Any, values: Arrays, on_host: bool) -> Arrays:
    function = function_of(resolved.train_key if train else resolved.key)
    if on_host and key is None and interpreter_enabled():
        plan = function.host_plans[_shapes_and_types(*values)]
        if plan is not None:
            return plan.run([np.asarray(v) for v in values])
    return function(key, (), *values)


def backward(
    resolved: ResolvedCall,
    op: OpDef,
    positions: tuple[int, ...],
    key: Any,
    heads: Operands,
    values: Arrays,
    on_host: bool,
) -> Arrays:
    """Returns gradients of the inputs at ``positions`` for head gradients of floating outputs;
    ``op`` is the operator in the mode in which it ran."""
    params = resolved.params
    name = op, params.key, positions, "gradient"
    function = _functions.get_or_make(name, lambda: _gradient(op, params, positions))
    if on_host and key is None and interpreter_enabled():
        plan = function.host_plans[_shapes_and_types(*heads, *values)]
        if plan is not None:
            return plan.run([np.asarray(x) for x in (*heads, *values)])
    return function(key, heads, *values)


def _gradient_host_key(args: Operands) -> HostKey | None:
    key, heads, *values = args
    return None if key is not None else _shapes_and_types(*heads, *values)


def _gradient(op: OpDef, params: Params, positions: tuple[int, ...]) -> CompiledFunction:
    def gradient(key: Any, heads: Operands, *values: Any) -> Operands:
        def floating_outputs(*differentiated: Any) -> Operands:
            inputs = list(values)
            for i, x in zip(positions, differentiated, strict=True):
                inputs[i] = x
            with call_errors(op, params, values):
                results = op.apply(params, inputs, key=key, train=True)
            outputs = results[: op.visible(params)]
            return tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))

        _, vjp = jax.vjp(floating_outputs, *[values[i] for i in positions])
        return vjp(heads)

    gradient.__name__ = f"{op.name}_gradient"
    return CompiledFunction(
        gradient,
        compiler_options=compiler_options([op]),
        executable_bytes=SMALL_BYTES,
        host_key=_gradient_host_key,
    )
