"""``bind`` and ``simple_bind``: an Executor from the user's arrays, or from shapes."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..context import Context, current_context, warn_of_shared_cpus
from ..errors import (
    BindError,
    DTypeError,
    InputTypeError,
    MXNetError,
    NotSupportedError,
    ShapeError,
    did_you_mean,
    explain,
)
from ..lowering import Graph, graph_of, infer, placements, reported_output_shapes
from ..ndarray import NDArray
from ..ops.schema.attrs import dtype_name
from ..ops.schema.inference import is_fully_known, shape_text
from ..program import current_options, options_from_arguments
from ..symbol import Symbol
from ._buffers import lazy_zeros
from ._executor import Executor
from ._reshape import shared_view
from ._validation import (
    check_contexts,
    check_distinct_names,
    ordered_arrays,
    parse_grad_req,
    parse_shape,
)


def bind(
    symbol: Symbol,
    /,
    ctx: Context,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Any = None,
    shared_exec: Any = None,
    compute_dtype: str | None = None,
    remat: Any = None,
) -> Executor:
    """Returns an executor of this graph over the caller's arrays; see
    :class:`executorkit.Executor`.

    ctx
        the device that it runs on.
    args, aux_states
        NDArrays of all arguments and auxiliary states, a list in the order of ``list_arguments()``
        and ``list_auxiliary_states()``, or a dict by name. The executor reads them as they are
        written to.
    args_grad
        NDArrays that gradients are written to, in the same form. Gradients that are None or missing
        from a dict are not computed.
    grad_req
        'write', 'add' or 'null', or a list or dict of these by argument.
    group2ctx
        contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
    shared_exec
        accepted; executors of equal graphs share their programs anyway.
    compute_dtype, remat
        precision and rematerialization, as for :meth:`simple_bind`.

    Raises ValueError for a missing array or one that does not fit (ShapeError, which names the
    node), TypeError for an object that is not an NDArray. Nothing is compiled until it runs.

    >>> import executorkit as mx
    >>> x, grad = mx.nd.array([1, 2, 3]), mx.nd.zeros((3,))
    >>> executor = (mx.sym.Variable("x") ** 2).bind(mx.cpu(), [x], [grad])
    >>> executor.forward(is_train=True)[0].asnumpy().tolist()
    [1.0, 4.0, 9.0]
    >>> executor.backward(mx.nd.ones((3,)))
    >>> grad.asnumpy().tolist()
    [2.0, 4.0, 6.0]
    """
    _check_context(ctx, group2ctx)
    graph = graph_of(symbol.heads)
    names, aux_names = graph.arg_names, graph.aux_names
    arg_arrays = ordered_arrays(args, names, "args")
    aux_arrays = ordered_arrays({} if aux_states is None else aux_states, aux_names, "aux_states")
    reqs = parse_grad_req(grad_req, names)
    grad_arrays = None
    if args_grad is not None:
        grad_arrays = ordered_arrays(args_grad, names, "args_grad", optional=True)
    arrays = [a for a in (*arg_arrays, *aux_arrays) if a is not None]
    expected = _expected_contexts(graph, ctx, group2ctx, arrays)
    check_contexts(arg_arrays, names, expected[: len(names)], "args")
    check_contexts(aux_arrays, aux_names, expected[len(names) :], "aux_states")
    if grad_arrays is not None:
        check_contexts(grad_arrays, names, expected[: len(names)], "args_grad")
    with options_from_arguments(compute_dtype, remat) as options:
        return Executor(
            symbol,
            ctx,
            [a for a in arg_arrays if a is not None],
            grad_arrays,
            reqs,
            [a for a in aux_arrays if a is not None],
            group2ctx=group2ctx,
            options=options,
        )


def _expected_contexts(
    graph: Graph, ctx: Context, group2ctx: Mapping[str, Context] | None, arrays: Sequence[NDArray]
) -> list[Context]:
    """Returns the contexts of arguments and states; with group2ctx, a variable in no group may be
    anywhere, since it is copied to its readers."""
    if not group2ctx:
        return [ctx] * len(arrays)
    placed = placements(graph, ctx, group2ctx)
    return [
        placed[node] if "__ctx_group__" in node.attrs else array.context
        for node, array in zip((*graph.args, *graph.aux), arrays, strict=True)
    ]


def simple_bind(
    symbol: Symbol,
    /,
    ctx: Context,
    grad_req: Any = "write",
    type_dict: Any = None,
    stype_dict: Any = None,
    group2ctx: Any = None,
    shared_arg_names: Any = None,
    shared_exec: Any = None,
    shared_buffer: Any = None,
    compute_dtype: Any = None,
    remat: Any = None,
    **kwargs: Any,
) -> Executor:
    """Returns an executor of this graph over new arrays of zeros, from the shapes of some inputs.

    ctx
        the device that it runs on.
    grad_req
        'write', 'add' or 'null', or a list or dict of these by argument. Every argument, data
        included, gets a gradient unless 'null'. None is 'null'.
    type_dict
        types of arguments by name; by default inferred, else float32.
    stype_dict
        storage types by name: only 'default' is supported.
    group2ctx
        contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
    shared_arg_names, shared_exec, shared_buffer
        arguments whose arrays are taken from another executor; that executor; a dict by name, from
        which other arrays are taken if they fit, and to which new ones are added (gradients as
        ``grad of NAME``).
    compute_dtype
        'bfloat16' or 'float16': float32 arrays are cast to it inside the program; the bound ones
        stay as they are, so that weights are master weights.
    remat
        the values that backward computes again instead of storing them: 'mirror' (all but
        convolutions and matrix products), 'full' (all but those between segments of the graph,
        about as many as each has operators), or a policy of ``jax.checkpoint_policies``. The
        temporaries of a training step of ResNet-50 on 8 images of 64x64, by
        ``executor.program.memory()``, are 166 MiB without, 137 MiB and 77 MiB.
    kwargs
        shapes of arguments by name; others are ignored, with one warning for all.

    ``compute_dtype`` and ``remat``, which MXNet does not have, default to ``mx.program.options``.

    Raises RuntimeError naming the missing shapes, :class:`ShapeError` for a contradiction, naming
    the node, and ValueError (and RuntimeError, as in MXNet) for two arguments of one name.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> executor = net.simple_bind(mx.cpu(), data=(2, 4))
    >>> {name: array.shape for name, array in executor.arg_dict.items()}
    {'data': (2, 4), 'fc_weight': (3, 4), 'fc_bias': (3,)}
    """
    _check_context(ctx, group2ctx)
    sparse = {n: s for n, s in (stype_dict or {}).items() if s not in (None, "default")}
    if sparse:
        problem = ", ".join(f"{n}={s!r}" for n, s in sparse.items()) + ", expected 'default'"
        raise BindError("simple_bind: stype_dict", problem, because="sparse storage is not served")
    graph = graph_of(symbol.heads)
    others = {n: s for n, s in kwargs.items() if not isinstance(s, tuple | list | np.ndarray)}
    ignored = ", ".join(f"{n}={s!r}" for n, s in others.items())
    shapes = {
        n: parse_shape(s, f"simple_bind: {n!r}") for n, s in kwargs.items() if n not in others
    }
    dtypes = {n: _parse_dtype(n, t) for n, t in (type_dict or {}).items() if t is not None}
    inferred = infer(graph, shapes, dtypes, default_dtype="float32")
    unknown = [
        f"{name}: {shape_text(shape)}"
        for name, shape in (
            *zip(graph.arg_names, inferred.arg_shapes, strict=True),
            *zip(graph.aux_names, inferred.aux_shapes, strict=True),
            *zip(graph.output_names, reported_output_shapes(graph, inferred), strict=True),
        )
        if not is_fully_known(shape)
    ]
    if unknown:
        names = (*graph.arg_names, *graph.aux_names)
        extra = next((n for n in shapes if n not in names), None)
        because = f"{extra!r} is not an argument of the symbol" if extra else None
        problem = f"these shapes cannot be inferred: {', '.join(unknown)}"
        because = because or (f"{ignored} is not a shape" if ignored else None)
        given_by = ", ".join(f"{n}={s}" for n, s in shapes.items()) or "no shapes"
        hint = did_you_mean(extra, names) if extra else "give their shapes as keyword arguments"
        raise MXNetError("simple_bind", problem, because=because, given_by=given_by, hint=hint)
    check_distinct_names(graph, "simple_bind")
    if ignored:
        text = explain("simple_bind", f"ignored: {ignored}", because="a shape is a tuple or a list")
        warnings.warn(text, UserWarning, stacklevel=2)
    reqs = parse_grad_req("null" if grad_req is None else grad_req, graph.arg_names)
    contexts = placements(graph, ctx, group2ctx) if group2ctx else {}
    arrays = _ArrayFactory(shared_arg_names or (), shared_exec, shared_buffer)
    args, grads = [], []
    arguments = zip(graph.args, inferred.arg_shapes, inferred.arg_dtypes, reqs, strict=True)
    for node, shape, dtype, req in arguments:
        assert shape is not None
        form = (node.name, shape, dtype or "float32", contexts.get(node, ctx))
        args.append(arrays.argument(*form))
        grads.append(None if req == "null" else arrays.gradient(*form))
    states = zip(graph.aux, inferred.aux_shapes, inferred.aux_dtypes, strict=True)
    aux = [
        arrays.auxiliary(node.name, shape or (), dtype or "float32", contexts.get(node, ctx))
        for node, shape, dtype in states
    ]
    arrays.publish()
    with options_from_arguments(compute_dtype, remat) as options:
        return Executor(symbol, ctx, args, grads, reqs, aux, group2ctx=group2ctx, options=options)


def eval(symbol: Symbol, /, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
    """Returns the outputs for the given arrays, by one forward.

    >>> import executorkit as mx
    >>> (mx.sym.Variable("a") + 1).eval(a=mx.nd.array([1, 2]))[0].asnumpy().tolist()
    [2.0, 3.0]
    """
    return symbol.bind(current_context() if ctx is None else ctx, kwargs).forward()


for _method in (bind, simple_bind, eval):
    setattr(Symbol, _method.__name__, _method)


@dataclass
class _ArrayFactory:
    shared: Sequence[str]
    exec: Executor | None
    buffer: dict[str, NDArray] | None
    new: dict[str, NDArray] = field(default_factory=dict)

    def argument(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if name not in self.shared:
            return self._buffered(name, shape, dtype, ctx)
        if self.exec is None:
            return lazy_zeros(shape, dtype, ctx)
        array = self.exec.arg_dict.get(name)
        expected = f"{dtype} {shape}"
        actual = "no such argument" if array is None else f"{array.dtype_name} {array.shape}"
        if array is None or actual != expected:
            problem = f"shared_exec has {actual}, expected {expected}"
            raise ShapeError(f"simple_bind: shared argument {name!r}", problem)
        return array

    def gradient(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if name not in self.shared:
            return self._buffered(f"grad of {name}", shape, dtype, ctx)
        gradient = None if self.exec is None else self.exec.grad_dict.get(name)
        if gradient is not None and gradient.shape == shape:
            return gradient
        return lazy_zeros(shape, dtype, ctx)

    def auxiliary(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if self.exec is not None:
            state = self.exec.aux_dict.get(name)
            if state is not None and state.shape == shape and state.dtype_name == dtype:
                return state
        return lazy_zeros(shape, dtype, ctx)

    def _buffered(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if self.buffer is None:
            return lazy_zeros(shape, dtype, ctx)
        array = self.buffer.get(name)
        if array is not None and array.dtype_name == dtype and array.context == ctx:
            view = shared_view(array, shape)
            if view is not None:
                return view
        self.new[name] = lazy_zeros(shape, dtype, ctx)
        return self.new[name]

    def publish(self) -> None:
        if self.buffer is not None:
            self.buffer.update(self.new)


def _check_context(ctx: Any, group2ctx: Mapping[str, Any] | None) -> None:
    width = current_options().model_parallel
    if width > 1:
        raise NotSupportedError(
            "bind", f"an executor is on one device, and model_parallel={width}",
            hint="mx.mod.Module(symbol, context=[...]), or mx.program.options(model_parallel=1)",
        )  # fmt: skip
    groups = {f"group2ctx[{name!r}]": context for name, context in (group2ctx or {}).items()}
    for where, context in {"ctx": ctx, **groups}.items():
        if not isinstance(context, Context):
            problem = f"{context!r} is not a Context"
            raise InputTypeError(f"bind: {where}", problem, hint="mx.cpu(), mx.gpu(0) or mx.tpu(0)")
        _ = context.device
    if groups:
        warn_of_shared_cpus([ctx, *groups.values()])


def _parse_dtype(name: str, dtype: Any) -> str:
    try:
        return dtype_name(dtype)
    except DTypeError as error:
        raise DTypeError(f"simple_bind: type_dict[{name!r}]: {error}") from None
