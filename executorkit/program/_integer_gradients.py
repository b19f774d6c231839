"""Gradients of integers, and through them: as MXNet's, in integer arithmetic.

JAX has no gradients of integers. MXNet computes them by the formulas for floating numbers and
truncates each result, of element-wise operators the derivative by itself: the gradient of an int32
value is int32, and a head gradient goes through ``Cast`` to int32 and back. Where a gradient
reaches an integer value, the graph is evaluated here: such values are *carried* as float64, which
JAX differentiates. Every operator around them computes its results from the integers; in the
backward pass it is differentiated as a function of floating numbers, and the results are truncated.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import jax
import jax.numpy as jnp

from .._support.annotations import Key, Operands, Raw, Tree
from ..jax_internals import in_x64
from ..lowering import Graph, GraphStep, infer, node_key, resolved_params, value_dtypes, walk
from ..ops import Params
from ..ops.schema.traits import STOPS_INTEGER_GRADIENT, TRUNCATES_DERIVATIVE
from ..ops.tensor.binary_arithmetic import convert, scalar_number
from ._activity import active_values, used_inputs
from ._train_step import Arrays

_CARRIER = jnp.dtype("float64")


def _is_integer(dtype: str | None) -> bool:
    return dtype is not None and dtype.startswith(("int", "uint", "bool"))


class IntegerGradients:
    """Evaluation of a graph in which some integer values are carried as floating numbers."""

    def __init__(self, graph: Graph, carried: dict[int, str]) -> None:
        self.graph = graph
        #: Numbers of these values, with their dtypes.
        self.carried = carried

    def carry_arguments(self, args: Arrays) -> list[Raw]:
        return self._carry(self.graph.arg_values, args)

    def restore_outputs(self, outputs: Arrays) -> Operands:
        """Returns the graph's outputs in their own dtypes."""
        pairs = zip(self.graph.heads, outputs, strict=True)
        return tuple(x.astype(self.carried.get(i, x.dtype)) for i, x in pairs)

    def argument_dtype(self, position: int) -> str | None:
        """Returns the dtype of a carried argument; None for another."""
        return self.carried.get(self.graph.arg_values[position])

    def evaluate(
        self, args: Arrays, aux: Arrays, key: Key, train: bool
    ) -> tuple[Operands, Operands]:
        """Returns outputs and new auxiliary states; carried values as floating numbers."""
        graph, new_aux = self.graph, list(aux)
        values = dict(graph.numbered(args, aux))
        resolved = resolved_params(graph, args, aux)

        def run(step: GraphStep, states: dict[int, Raw]) -> Arrays:
            inputs = [states.get(k, values[i]) for k, i in enumerate(step.inputs)]
            results = self._run(step, resolved.get(step.index, step.params), inputs, key, train)
            values.update(zip(step.outputs, results, strict=False))
            return results

        walk(graph.steps, run, new_aux)
        return tuple(values[i] for i in graph.heads), tuple(new_aux)

    def _run(
        self, step: GraphStep, params: Params, inputs: list[Raw], key: Key, train: bool
    ) -> Arrays:
        step_key = node_key(step, key, train)
        if not self.touches(step):
            return step.op.apply(params, inputs, key=step_key, train=train)

        def exact(*inputs: Raw) -> Operands:
            integers = self._restore(step.inputs, inputs)
            results = step.op.apply(params, integers, key=step_key, train=train)
            n = step.n_outputs
            return (*self._carry(step.outputs, results[:n]), *results[n:])

        dtype = self.carried.get(step.outputs[0])
        differentiate = _gradients
        if dtype is not None and "scalar" in params:
            number = scalar_number(params["scalar"], jnp.dtype(dtype))
            params = Params({**params, "scalar": float(number)})
        if dtype is not None and TRUNCATES_DERIVATIVE in step.op.traits:
            differentiate = partial(_truncated_gradients, dtype)
        smooth = _smooth(step, params, step_key, train)
        stops = STOPS_INTEGER_GRADIENT in step.op.traits

        def backward(residuals: Operands, cotangents: Operands) -> Operands:
            stopped = {k for k, i in enumerate(step.inputs) if stops and i in self.carried}
            argnums = [k for k, x in enumerate(residuals) if _is_floating(x) and k not in stopped]
            computed = differentiate(smooth, residuals, argnums, cotangents)
            gradients: list[Raw] = [None] * len(residuals)
            for k, gradient in zip(argnums, computed, strict=True):
                dtype = self.carried.get(step.inputs[k])
                truncated = gradient if dtype is None else convert(gradient, dtype)
                gradients[k] = truncated.astype(residuals[k].dtype)
            return tuple(gradients)

        run = jax.custom_vjp(exact)
        run.defvjp(lambda *inputs: (exact(*inputs), inputs), backward)
        return run(*inputs)

    def touches(self, step: GraphStep) -> bool:
        return not self.carried.keys().isdisjoint((*step.inputs, *step.outputs))

    def _carry(self, numbers: Iterable[int], arrays: Iterable[Raw]) -> list[Raw]:
        pairs = zip(numbers, arrays, strict=True)
        return [x.astype(_CARRIER) if i in self.carried else x for i, x in pairs]

    def _restore(self, numbers: Iterable[int], arrays: Iterable[Raw]) -> list[Raw]:
        pairs = zip(numbers, arrays, strict=True)
        return [x.astype(self.carried[i]) if i in self.carried else x for i, x in pairs]


def _is_floating(x: Raw) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _smooth(step: GraphStep, params: Params, key: Key, train: bool) -> Callable[..., Operands]:
    """Returns the step as a function of floating numbers: without conversions to integers."""
    changed = dict(params)
    if _is_integer(changed.get("dtype")):
        changed["dtype"] = _CARRIER.name

    def smooth(*inputs: Raw) -> Operands:
        floats = [x if _is_floating(x) else x.astype(_CARRIER) for x in inputs]
        results = step.op.apply(Params(changed), floats, key=key, train=train)
        return tuple(x.astype(_CARRIER) for x in results[: step.n_outputs])

    return smooth


def _gradients(
    smooth: Callable[..., Operands], inputs: Arrays, argnums: Sequence[int], cotangents: Arrays
) -> Operands:
    def function(*differentiated: Raw) -> Operands:
        full = list(inputs)
        for k, x in zip(argnums, differentiated, strict=True):
            full[k] = x
        return smooth(*full)

    chosen = [inputs[k] for k in argnums]
    try:
        outputs, vjp = jax.vjp(function, *chosen)
    except (TypeError, ValueError):
        return tuple(jnp.zeros_like(x) for x in chosen)
    return vjp(
        tuple(
            jnp.zeros_like(x) if c.dtype == jax.dtypes.float0 else c.astype(x.dtype)
            for x, c in zip(outputs, cotangents, strict=False)
        )
    )


def _truncated_gradients(
    dtype: str,
    smooth: Callable[..., Operands],
    inputs: Arrays,
    argnums: Sequence[int],
    cotangents: Arrays,
) -> list[Raw]:
    """Differentiates an element-wise ``smooth`` with derivatives truncated to ``dtype``; products
    with the head gradient and sums over broadcast axes are in integers."""
    (head,) = cotangents
    full = [jnp.broadcast_to(x, head.shape) for x in inputs]
    derivatives = _gradients(smooth, full, argnums, [jnp.ones_like(head)])
    gradients = []
    for k, derivative in zip(argnums, derivatives, strict=True):
        shape = inputs[k].shape
        padded = (*[1] * (head.ndim - len(shape)), *shape)
        stretched = [i for i, n in enumerate(padded) if n != head.shape[i]]
        product = head.astype(dtype) * convert(derivative, dtype)
        gradients.append(jnp.sum(product, stretched, dtype=dtype, keepdims=True).reshape(shape))
    return gradients


def integer_gradients(
    graph: Graph, argnums: Sequence[int], args: Arrays, aux: Arrays
) -> IntegerGradients | None:
    """Returns the evaluation for these gradients, or None if none reaches an integer."""
    arrays = dict(zip((*graph.arg_names, *graph.aux_names), (*args, *aux), strict=True))
    types = {name: x.dtype.name for name, x in arrays.items()}
    dtypes = value_dtypes(graph, types)
    active = active_values(graph, argnums)
    integers = {i: t for i, t in enumerate(dtypes) if t and active[i] and _is_integer(t)}
    if not integers:
        return None
    shapes = infer(graph, {name: tuple(x.shape) for name, x in arrays.items()}, types).values
    reached = set(graph.heads)
    for step in reversed(graph.steps):
        if reached.isdisjoint(step.outputs):
            continue
        avals = [jax.ShapeDtypeStruct(shapes[i] or (), dtypes[i] or "float32") for i in step.inputs]
        for k, i in enumerate(step.inputs):
            if active[i] and (i not in integers or _has_gradient(step, k, avals)):
                reached.add(i)
    carried = {i: dtype for i, dtype in integers.items() if i in reached}
    return IntegerGradients(graph, carried) if carried else None


def _has_gradient(step: GraphStep, position: int, avals: Arrays) -> bool:
    if STOPS_INTEGER_GRADIENT in step.op.traits:
        return False
    smooth = _smooth(step, step.params, jax.random.key(0) if step.op.key_name else None, True)
    floats = [x if _is_floating(x) else jax.ShapeDtypeStruct(x.shape, _CARRIER) for x in avals]

    def gradient(cotangents: Arrays, *inputs: Raw) -> Tree:
        return _gradients(smooth, inputs, [position], cotangents)

    try:
        outputs = in_x64(jax.eval_shape)(smooth, *floats)
        return any(used_inputs(gradient, outputs, *floats))
    except (TypeError, ValueError):
        return False
