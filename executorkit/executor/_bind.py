"""``Executor.reshape``: the same symbol for other shapes, in the same memory.

``bind`` and ``simple_bind``: from what the user gives to an Executor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context
from ..errors import BindError, DTypeError, MXNetError, ShapeError, did_you_mean, explain
from ..lowering import Graph, graph_of, infer, placements, reported_output_shapes
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ..ops.schema.attrs import dtype_name
from ..ops.schema.inference import is_fully_known, shape_text
from ..program._program_options import options_from_arguments
from ..symbol import Symbol
from ._buffers import lazy_zeros
from ._executor import Executor
from ._validation import check_contexts, ordered_arrays, parse_grad_req, parse_shape


def reshape(
    executor: Executor,
    partial_shaping: bool,
    allow_up_sizing: bool,
    given: Mapping[str, Sequence[int]],
) -> Executor:
    """See ``Executor.reshape``. All checks come first; the old executor is never changed."""
    from ._executor import Executor

    found = infer_new_shapes(executor, given, "reshape")
    _check_reshape(executor, found, given, partial_shaping, allow_up_sizing)

    def fitted(array: Any, shape: Any) -> NDArray:
        shared = shared_view(array, shape)
        if shared is not None:
            return shared
        return lazy_zeros(shape, array.dtype_name, array.context)

    grads = executor.grad_arrays or [None] * len(executor.arg_arrays)
    return Executor(
        executor._symbol,
        executor._ctx,
        [fitted(a, s) for a, s in zip(executor.arg_arrays, found.arg_shapes, strict=True)],
        [None if g is None else fitted(g, s) for g, s in zip(grads, found.arg_shapes, strict=True)],
        executor._grad_req,
        [fitted(a, s) for a, s in zip(executor.aux_arrays, found.aux_shapes, strict=True)],
        executor._group2ctx,
        options=executor._options,
    )


def infer_new_shapes(
    executor: Executor, given: Mapping[str, Sequence[int]], where: str
) -> InferenceResult:
    """What follows for the executor's graph from new shapes by name, all of it known."""
    graph = executor._graph
    names = [*graph.arg_names, *graph.aux_names]
    for name in given:
        if name not in names:
            raise MXNetError(
                explain(where, f"unknown argument {name!r}", hint=did_you_mean(name, names))
            )
    given = {n: parse_shape(s, f"{where}: {n!r}") for n, s in given.items()}
    arrays = [*executor.arg_arrays, *executor.aux_arrays]
    found = infer(
        graph,
        given,
        {n: a.dtype_name for n, a in zip(names, arrays, strict=True)},
    )
    for name, shape in zip(names, (*found.arg_shapes, *found.aux_shapes), strict=True):
        if not is_fully_known(shape):
            raise ShapeError(
                explain(
                    f"{where}: {name!r}",
                    "its new shape does not follow from the shapes given",
                    given_by=", ".join(f"{n}={s}" for n, s in given.items()) or "no shapes",
                    hint=f"give {name}=...",
                )
            )
    return found


def shared_view(array: NDArray, shape: tuple[int, ...]) -> NDArray | None:
    """The array, or a view of its first elements, in this shape; None if it has too few."""
    if array.shape == shape:
        return array
    return array.flat_view(shape) if math.prod(shape) <= array.size else None


def _check_reshape(
    executor: Executor,
    found: InferenceResult,
    given: Mapping[str, Any],
    partial_shaping: bool,
    allow_up_sizing: bool,
) -> None:
    graph = executor._graph
    for name, array, shape in zip(
        (*graph.arg_names, *graph.aux_names),
        (*executor.arg_arrays, *executor.aux_arrays),
        (*found.arg_shapes, *found.aux_shapes),
        strict=True,
    ):
        if array.shape == shape:
            continue
        assert shape is not None
        if name not in given and not partial_shaping:
            raise ShapeError(
                explain(
                    f"reshape: {name!r}",
                    f"its shape changes from {array.shape} to {shape}, but it is not named",
                    because="a parameter of another shape would no longer be shared",
                    hint=f"give {name}={shape}, or pass partial_shaping=True",
                )
            )
        if shared_view(array, shape) is None and not allow_up_sizing:
            raise ShapeError(
                explain(
                    f"reshape: {name!r}",
                    f"it grows from {array.shape} to {shape}",
                    because="memory is shared with the smaller array",
                    hint="bind the largest shape first, or pass allow_up_sizing=True",
                )
            )


def bind(
    symbol: Symbol,
    ctx: Context,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
    compute_dtype: str | None = None,
    remat: Any = None,
) -> Executor:
    """An executor on the user's own arrays; see ``Symbol.bind``.

    ``shared_exec`` is accepted: programs are shared between equal graphs anyway.
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
    given = [a for a in (*arg_arrays, *aux_arrays) if a is not None]
    places = _expected_contexts(graph, ctx, group2ctx, given)
    check_contexts(arg_arrays, names, places[: len(names)], "args")
    check_contexts(aux_arrays, aux_names, places[len(names) :], "aux_states")
    if grad_arrays is not None:
        check_contexts(grad_arrays, names, places[: len(names)], "args_grad")
    with options_from_arguments(compute_dtype, remat) as options:
        return Executor(
            symbol,
            ctx,
            [a for a in arg_arrays if a is not None],
            grad_arrays,
            reqs,
            [a for a in aux_arrays if a is not None],
            group2ctx,
            options=options,
        )


def _expected_contexts(
    graph: Graph, ctx: Context, group2ctx: Mapping[str, Context] | None, arrays: Sequence[NDArray]
) -> list[Context]:
    """Where the arrays of arguments and auxiliary states have to be. With group2ctx, one whose
    variable is in no group may be anywhere: it is copied to where it is read."""
    if not group2ctx:
        return [ctx] * len(arrays)
    placed = placements(graph, ctx, group2ctx)
    return [
        placed[node] if "__ctx_group__" in node.attrs else array.context
        for node, array in zip((*graph.args, *graph.aux), arrays, strict=True)
    ]


def simple_bind(
    symbol: Symbol,
    ctx: Context,
    grad_req: Any = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None,
    kwargs: Mapping[str, Sequence[int]] | None = None,
    compute_dtype: str | None = None,
    remat: Any = None,
) -> Executor:
    """An executor on new arrays of zeros, whose shapes follow from those in ``kwargs``.

    Arguments in ``shared_arg_names`` are those of ``shared_exec``; others come from
    ``shared_buffer`` where it has one that is large enough, and are put there where not (their
    gradients too, as ``grad of NAME``).
    """
    _check_context(ctx, group2ctx)
    _check_storage(stype_dict)
    graph = graph_of(symbol.heads)
    shapes = {n: parse_shape(s, f"simple_bind: {n!r}") for n, s in (kwargs or {}).items()}
    dtypes = {n: _parse_dtype(n, t) for n, t in (type_dict or {}).items() if t is not None}
    found = infer(graph, shapes, dtypes)
    unknown = [
        f"{name}: {shape_text(shape)}"
        for name, shape in (
            *zip(graph.arg_names, found.arg_shapes, strict=True),
            *zip(graph.aux_names, found.aux_shapes, strict=True),
            *zip(graph.output_names, reported_output_shapes(graph, found), strict=True),
        )
        if not is_fully_known(shape)
    ]
    if unknown:
        names = (*graph.arg_names, *graph.aux_names)
        stranger = next((n for n in shapes if n not in names), None)
        raise MXNetError(
            explain(
                "simple_bind",
                f"these shapes cannot be inferred: {', '.join(unknown)}",
                because=f"{stranger!r} is not an argument of the symbol" if stranger else None,
                given_by=", ".join(f"{n}={s}" for n, s in shapes.items()) or "no shapes",
                hint=did_you_mean(stranger, names)
                if stranger
                else "give their shapes as keyword arguments",
            )
        )
    reqs = parse_grad_req(grad_req, graph.arg_names)
    contexts = placements(graph, ctx, group2ctx) if group2ctx else {}
    make = _ArrayFactory(shared_arg_names, shared_exec, shared_buffer)
    arg_arrays, grad_arrays = [], []
    for node, shape, dtype, req in zip(
        graph.args, found.arg_shapes, found.arg_dtypes, reqs, strict=True
    ):
        assert shape is not None
        place = contexts.get(node, ctx)
        arg_arrays.append(make.argument(node.name, shape, dtype or "float32", place))
        grad_arrays.append(
            make.gradient(node.name, shape, dtype or "float32", place) if req != "null" else None
        )
    aux_arrays = [
        make.auxiliary(node.name, shape or (), dtype or "float32", contexts.get(node, ctx))
        for node, shape, dtype in zip(graph.aux, found.aux_shapes, found.aux_dtypes, strict=True)
    ]
    make.publish()
    with options_from_arguments(compute_dtype, remat) as options:
        return Executor(
            symbol, ctx, arg_arrays, grad_arrays, reqs, aux_arrays, group2ctx, options=options
        )


class _ArrayFactory:
    """Makes the arrays of a simple_bind, or finds them in what it may share."""

    def __init__(
        self,
        shared_names: Sequence[str] | None,
        shared_exec: Executor | None,
        buffer: dict[str, NDArray] | None,
    ) -> None:
        if shared_names and shared_exec is None:
            raise BindError(
                explain("simple_bind", "shared_arg_names needs the shared_exec that has them")
            )
        self.shared = set(shared_names or ())
        self.exec = shared_exec
        self.buffer = buffer
        self.new: dict[str, NDArray] = {}

    def argument(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if name in self.shared and self.exec is not None:
            return self._same(self.exec.arg_dict, name, shape, dtype)
        return self._buffered(name, shape, dtype, ctx)

    def gradient(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if name in self.shared and self.exec is not None:
            there = self.exec.grad_dict.get(name)
            if there is not None and there.shape == shape:
                return there
        return self._buffered(f"grad of {name}", shape, dtype, ctx)

    def _buffered(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if self.buffer is None:
            return lazy_zeros(shape, dtype, ctx)
        there = self.buffer.get(name)
        if there is not None and there.dtype_name == dtype and there.context == ctx:
            shared = shared_view(there, shape)
            if shared is not None:
                return shared
        self.new[name] = lazy_zeros(shape, dtype, ctx)
        return self.new[name]

    def auxiliary(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if self.exec is not None:
            there = self.exec.aux_dict.get(name)
            if there is not None and there.shape == shape and there.dtype_name == dtype:
                return there
        return lazy_zeros(shape, dtype, ctx)

    def publish(self) -> None:
        """Puts the new arrays into the shared buffer, once all of them could be made."""
        if self.buffer is not None:
            self.buffer.update(self.new)

    @staticmethod
    def _same(
        arrays: Mapping[str, NDArray], name: str, shape: tuple[int, ...], dtype: str
    ) -> NDArray:
        there = arrays.get(name)
        wanted = f"{dtype} {shape}"
        found = "no such argument"
        if there is not None:
            found = f"{there.dtype_name} {there.shape}"
        if there is None or found != wanted:
            raise ShapeError(
                explain(
                    f"simple_bind: shared argument {name!r}",
                    f"shared_exec has {found}, expected {wanted}",
                )
            )
        return there


def _check_context(ctx: Any, group2ctx: Mapping[str, Any] | None) -> None:
    groups = {f"group2ctx[{name!r}]": context for name, context in (group2ctx or {}).items()}
    for where, context in {"ctx": ctx, **groups}.items():
        if not isinstance(context, Context):
            raise TypeError(
                explain(
                    f"bind: {where}",
                    f"{context!r} is no Context",
                    hint="mx.cpu(), mx.gpu(0) or mx.tpu(0)",
                )
            )
        _ = context.device


def _parse_dtype(name: str, dtype: Any) -> str:
    try:
        return dtype_name(dtype)
    except DTypeError as error:
        raise DTypeError(f"simple_bind: type_dict[{name!r}]: {error}") from None


def _check_storage(stype_dict: Mapping[str, str] | None) -> None:
    sparse = {n: s for n, s in (stype_dict or {}).items() if s not in (None, "default")}
    if sparse:
        raise BindError(
            explain(
                "simple_bind: stype_dict",
                ", ".join(f"{n}={s!r}" for n, s in sparse.items()) + ", expected 'default'",
                because="sparse storage is not served",
            )
        )
