"""A symbol as a pure function of dictionaries of JAX arrays."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from .._support.annotations import Arrays, Function, Key, NamedArrays
from ..errors import (
    InputTypeError,
    MissingParameterError,
    MXNetError,
    ShapeError,
    UnknownArgumentError,
    did_you_mean,
)
from ..ops.schema.attrs import Shape
from ..ops.schema.inference import shape_text
from ..ops.tracing import is_known
from ._graph import Graph, memoize, optional_arguments, without_labels
from ._infer import infer
from ._lower import lower
from ._numbering import graph_of
from ._prepared_function import PreparedFunction, prepared_function

_WHERE = "to_jax function"


class JaxFunction:
    """The computation of a symbol, for ``jax.jit``, ``grad``, ``jvp``, ``vmap`` and ``shard_map``.

    ``function(args, aux=None, key=None, is_train=False) -> (outputs, new_aux)``; an instance's own
    docstring lists the names that it takes and returns, with the shapes that are known.

    args, aux
        Arrays of all arguments and auxiliary states by name: of JAX or NumPy, numbers, or NDArrays,
        whose contents are read. (``jax.jit`` takes no NDArray: pass ``array.jax``.) ``aux`` may be
        left out where the graph has no auxiliary state, as may arguments in :attr:`optional`.
    key
        A JAX PRNG key, for graphs that draw random numbers in this mode.
    is_train
        The mode, a Python bool (static, if the function is compiled).

    ``outputs`` is a tuple in the order of ``list_outputs``; ``new_aux`` maps every auxiliary state
    to its new value. 64-bit dtypes need 64-bit types enabled in your tracing. Sizes may be
    symbolic, as in ``jax.export``.

    Both modes of differentiation work, of any order and over each other; only Custom, which runs
    Python, has no forward mode. In reverse mode a loss head has the gradient of its loss, as MXNet
    defines it; forward mode differentiates the computed function (the softmax of a SoftmaxOutput).

    An unknown name raises :class:`UnknownArgumentError`, a missing one
    :class:`MissingParameterError`, a value that is not an array :class:`InputTypeError`, and shapes
    that do not fit :class:`ShapeError`, before anything is computed.
    """

    def __init__(self, symbol: Any, shapes: Mapping[str, Sequence[int]] | None = None) -> None:
        self._graph = graph = graph_of(symbol.heads)
        #: Names of the arguments, in the graph's order.
        self.arguments = tuple(graph.arg_names)
        #: Names of the arguments that only gradients read: labels.
        self.optional = optional_arguments(graph)
        #: Names of the auxiliary states, in the graph's order.
        self.auxiliary_states = tuple(graph.aux_names)
        #: Names of the outputs, in their order.
        self.outputs = tuple(graph.output_names)
        self.__name__ = self.__qualname__ = symbol.name or "graph"
        self.__doc__ = self._description(shapes or {})
        self._runs: dict[frozenset[str], tuple[Graph, Function]] = {}

    def __call__(
        self,
        args: NamedArrays,
        aux: NamedArrays | None = None,
        key: object = None,
        is_train: bool = False,
    ) -> tuple[tuple[jax.Array, ...], dict[str, jax.Array]]:
        if isinstance(is_train, Tracer):
            hint = 'jax.jit(function, static_argnames="is_train")'
            raise InputTypeError(_WHERE, "is_train is traced, expected a Python bool", hint=hint)
        aux = aux or {}
        self._check_names(args, aux)
        graph, run = self._run(frozenset(self.optional).difference(args))
        arrays = [_as_array(args[n], f"args[{n!r}]") for n in graph.arg_names]
        states = [_as_array(aux[n], f"aux[{n!r}]") for n in graph.aux_names]
        _check_shapes(graph, arrays, states)
        outputs, new_aux = run(arrays, states, key, bool(is_train))
        return outputs, dict(zip(graph.aux_names, new_aux, strict=True))

    def prepare(
        self,
        params: Mapping[str, Any],
        aux: NamedArrays | None = None,
        *,
        inputs: NamedArrays,
        key: Key = None,
    ) -> PreparedFunction:
        """Computes beforehand everything in inference that depends on parameters alone.

            prepared = function.prepare(params, aux, inputs={"data": (1, 3, 224, 224)})
            (output,) = jax.jit(lambda prepared, x: prepared({"data": x}))(prepared, x)

        params, aux
            The arguments that stay, and the auxiliary states, by name.
        inputs
            The arguments that will be fed, by name: an array or ``jax.ShapeDtypeStruct`` of their
            shape and dtype, or a shape (of float32).
        key
            A PRNG key, for a graph that draws random numbers in inference.

        Call it again for other shapes, and when a parameter changes. Raises the errors of a call
        for names and shapes.
        """
        avals = {name: _as_aval(x, f"inputs[{name!r}]") for name, x in inputs.items()}
        aux = aux or {}
        self._check_names({**params, **avals}, aux)
        graph, _ = self._run(frozenset(self.optional).difference(params, avals))
        arrays = {n: _as_array(params[n], f"args[{n!r}]") for n in graph.arg_names if n in params}
        states = {n: _as_array(aux[n], f"aux[{n!r}]") for n in graph.aux_names}
        everything = {**avals, **arrays}
        _check_shapes(graph, [everything[n] for n in graph.arg_names], list(states.values()))
        return prepared_function(graph, arrays, states, avals, key)

    def __repr__(self) -> str:
        return f"<JaxFunction {self.__name__}({', '.join(self.arguments)})>"

    def _run(self, absent: frozenset[str]) -> tuple[Graph, Function]:
        if absent in self._runs:
            return self._runs[absent]
        graph = without_labels(self._graph, absent) if absent else self._graph
        return memoize(self._runs, absent, (graph, lower(graph)))

    def _check_names(self, args: NamedArrays, aux: NamedArrays) -> None:
        groups = (
            ("args", "argument", args, self.arguments, self.auxiliary_states, "aux"),
            ("aux", "auxiliary state", aux, self.auxiliary_states, self.arguments, "args"),
        )
        absent = []
        for what, kind, arrays, names, _, _ in groups:
            if not isinstance(arrays, Mapping):
                problem = f"{what} is a {type(arrays).__name__}, expected a dict of arrays by name"
                raise InputTypeError(_WHERE, problem)
            known = {*arrays, *self.optional}
            absent.append((kind, [n for n in names if n not in known]))
        missing = "; ".join(f"missing {kind}s: {', '.join(ns)}" for kind, ns in absent if ns)
        for what, kind, arrays, names, others, other in groups:
            unknown = [n for n in arrays if n not in names]
            if unknown:
                name = unknown[0]
                problem = f"{what} names no {kind} of {self.__name__}: {', '.join(unknown)}"
                hint = f"{other}[{name!r}]" if name in others else did_you_mean(name, names)
                raise UnknownArgumentError(_WHERE, problem, because=missing or None, hint=hint)
        if missing:
            raise MissingParameterError(_WHERE, missing)

    def _description(self, shapes: Mapping[str, Sequence[int]]) -> str:
        known = self._known_shapes(shapes)
        aux = ", aux" if self.auxiliary_states else ""
        lines = [f"{self.__name__} as a pure function of JAX arrays.", ""]
        lines += [f"``function(args{aux}, key=None, is_train=False) -> (outputs, new_aux)``"]
        sections = (
            ("args, a dict", self.arguments),
            ("aux and new_aux, dicts", self.auxiliary_states),
            ("outputs, a tuple", self.outputs),
        )
        for (title, names), group in zip(sections, known, strict=True):
            if names:
                lines += ["", title, *self._rows(names, group)]
        if self._graph.uses_rng(True):
            mode = "in both modes" if self._graph.uses_rng(False) else "with is_train=True"
            lines += ["", f"key, a JAX PRNG key: random numbers are drawn {mode}."]
        return "\n".join(lines)

    def _rows(self, names: Sequence[str], shapes: Sequence[Shape | None]) -> Iterator[str]:
        width = max(map(len, names))
        for name, shape in zip(names, shapes, strict=True):
            text = "?" if shape is None else shape_text(shape)
            note = "  optional: only gradients read it" if name in self.optional else ""
            yield f"    {name:<{width}}  {text}{note}"

    def _known_shapes(self, shapes: Mapping[str, Sequence[int]]) -> tuple[Sequence[Any], ...]:
        names = (*self.arguments, *self.auxiliary_states)
        for name in shapes:
            if name not in names:
                problem = f"unknown argument {name!r}"
                raise MXNetError("to_jax", problem, hint=did_you_mean(name, names))
        try:
            inferred = infer(self._graph, shapes)
        except MXNetError:
            if shapes:
                raise
            # Declarations of variables that contradict each other: a caller's shapes win over them.
            groups = (self.arguments, self.auxiliary_states, self.outputs)
            return tuple([None] * len(group) for group in groups)
        return inferred.arg_shapes, inferred.aux_shapes, inferred.out_shapes


def _as_array(value: object, where: str) -> jax.Array:
    if isinstance(value, jax.Array):
        return value
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        problem = f"it is a {type(value).__name__}, expected an array"
        raise InputTypeError(f"{_WHERE}: {where}", problem) from None


def _as_aval(value: object, where: str) -> jax.ShapeDtypeStruct:
    # A shape alone means float32.
    if isinstance(value, tuple | list):
        return jax.ShapeDtypeStruct(tuple(value), jnp.float32)
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    array = _as_array(value, where)
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _check_shapes(graph: Graph, args: Arrays, aux: Arrays) -> None:
    # Symbolic sizes, and the empty and scalar shapes that graphs do not have, are left to
    # operators. An operator's exception about something else than shapes is left to its run.
    names = (*graph.arg_names, *graph.aux_names)
    shapes = {n: tuple(x.shape) for n, x in zip(names, (*args, *aux), strict=True)}
    if all(shape and is_known(*shape) and 0 not in shape for shape in shapes.values()):
        try:
            infer(graph, shapes, bound=True)
        except ShapeError as error:
            if isinstance(error.__context__, (MXNetError, TypeError, ValueError)):
                raise
