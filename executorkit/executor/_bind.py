"""``bind`` and ``simple_bind``: an Executor from the user's arrays, or from shapes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..context import Context, warn_of_shared_cpus
from ..errors import BindError, DTypeError, MXNetError, ShapeError, did_you_mean, explain
from ..lowering import Graph, graph_of, infer, placements, reported_output_shapes
from ..ndarray import NDArray
from ..ops.schema.attrs import dtype_name
from ..ops.schema.inference import is_fully_known, shape_text
from ..program import options_from_arguments
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
            group2ctx,
            options=options,
        )


def _expected_contexts(
    graph: Graph, ctx: Context, group2ctx: Mapping[str, Context] | None, arrays: Sequence[NDArray]
) -> list[Context]:
    """The contexts in which the arrays of arguments and auxiliary states have to be. With
    group2ctx, one whose variable is in no group may be anywhere: it is copied to its readers."""
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

    Arguments in ``shared_arg_names`` are those of ``shared_exec``, or new ones without it; others
    come from ``shared_buffer`` where it has one that is large enough, and are put there where not
    (their gradients too, as ``grad of NAME``). A value in ``kwargs`` that is no shape is ignored,
    with one warning for all. Arguments that share a name are a BindError: nobody could tell their
    arrays apart. (``bind``, which is given the arrays, takes them.)
    """
    _check_context(ctx, group2ctx)
    _check_storage(stype_dict)
    graph = graph_of(symbol.heads)
    check_distinct_names(graph, "simple_bind")
    shapes, ignored = _parse_shapes(kwargs or {})
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
        raise MXNetError(
            "simple_bind",
            f"these shapes cannot be inferred: {', '.join(unknown)}",
            because=because or (f"{ignored} is no shape" if ignored else None),
            given_by=", ".join(f"{n}={s}" for n, s in shapes.items()) or "no shapes",
            hint=did_you_mean(extra, names) if extra else "give their shapes as keyword arguments",
        )
    if ignored:
        text = explain("simple_bind", f"ignored: {ignored}", because="a shape is a tuple or a list")
        warnings.warn(text, UserWarning, stacklevel=3)
    reqs = parse_grad_req(grad_req, graph.arg_names)
    contexts = placements(graph, ctx, group2ctx) if group2ctx else {}
    arrays = _ArrayFactory(shared_arg_names, shared_exec, shared_buffer)
    arg_arrays, grad_arrays = [], []
    for node, shape, dtype, req in zip(
        graph.args, inferred.arg_shapes, inferred.arg_dtypes, reqs, strict=True
    ):
        assert shape is not None
        context = contexts.get(node, ctx)
        arg_arrays.append(arrays.argument(node.name, shape, dtype or "float32", context))
        grad_arrays.append(
            arrays.gradient(node.name, shape, dtype or "float32", context)
            if req != "null"
            else None
        )
    aux_arrays = [
        arrays.auxiliary(node.name, shape or (), dtype or "float32", contexts.get(node, ctx))
        for node, shape, dtype in zip(
            graph.aux, inferred.aux_shapes, inferred.aux_dtypes, strict=True
        )
    ]
    arrays.publish()
    with options_from_arguments(compute_dtype, remat) as options:
        return Executor(
            symbol, ctx, arg_arrays, grad_arrays, reqs, aux_arrays, group2ctx, options=options
        )


class _ArrayFactory:
    """The arrays of a simple_bind: new ones, or those of an executor or a buffer that is shared."""

    def __init__(
        self,
        shared_names: Sequence[str] | None,
        shared_exec: Executor | None,
        buffer: dict[str, NDArray] | None,
    ) -> None:
        self.shared = set(shared_names or ())
        self.exec = shared_exec
        self.buffer = buffer
        self.new: dict[str, NDArray] = {}

    def argument(self, name: str, shape: tuple[int, ...], dtype: str, ctx: Context) -> NDArray:
        if name not in self.shared:
            return self._buffered(name, shape, dtype, ctx)
        if self.exec is None:
            return lazy_zeros(shape, dtype, ctx)
        return self._shared_argument(self.exec.arg_dict, name, shape, dtype)

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
        """Puts the new arrays into the shared buffer, once all of them could be made."""
        if self.buffer is not None:
            self.buffer.update(self.new)

    @staticmethod
    def _shared_argument(
        arrays: Mapping[str, NDArray], name: str, shape: tuple[int, ...], dtype: str
    ) -> NDArray:
        array = arrays.get(name)
        expected = f"{dtype} {shape}"
        actual = "no such argument" if array is None else f"{array.dtype_name} {array.shape}"
        if array is None or actual != expected:
            raise ShapeError(
                f"simple_bind: shared argument {name!r}",
                f"shared_exec has {actual}, expected {expected}",
            )
        return array


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
    if groups:
        warn_of_shared_cpus([ctx, *groups.values()])


def _parse_shapes(values: Mapping[str, Any]) -> tuple[dict[str, tuple[int, ...]], str]:
    """The shapes among keyword arguments; and the others, as a text."""
    others = [n for n, s in values.items() if not isinstance(s, tuple | list | np.ndarray)]
    shapes = {
        n: parse_shape(s, f"simple_bind: {n!r}") for n, s in values.items() if n not in others
    }
    return shapes, ", ".join(f"{n}={values[n]!r}" for n in others)


def _parse_dtype(name: str, dtype: Any) -> str:
    try:
        return dtype_name(dtype)
    except DTypeError as error:
        raise DTypeError(f"simple_bind: type_dict[{name!r}]: {error}") from None


def _check_storage(stype_dict: Mapping[str, str] | None) -> None:
    sparse = {n: s for n, s in (stype_dict or {}).items() if s not in (None, "default")}
    if sparse:
        raise BindError(
            "simple_bind: stype_dict",
            ", ".join(f"{n}={s!r}" for n, s in sparse.items()) + ", expected 'default'",
            because="sparse storage is not served",
        )
