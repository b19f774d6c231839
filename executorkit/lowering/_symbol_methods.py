"""Methods of ``Symbol`` that infer and lower."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._support.shape_semantics import is_known, numpy_shapes
from ..errors import MXNetError
from ..ops.schema.attrs import Shape
from ..ops.schema.calls import numpy_dtype_name
from ..symbol import Symbol
from ._infer import SHAPE_TEXT, graph_types, infer, reported_output_shapes
from ._jax_function import JaxFunction
from ._numbering import graph_of
from .summary import Summary

#: Facts about arguments, outputs and auxiliary states.
Inferred = tuple[Any, Any, Any]


def infer_shape(symbol: Symbol, /, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
    """Infers shapes of arguments, outputs and auxiliary states from the shapes of some inputs.

    Shapes are given by name, or by position in the order of ``list_arguments`` (None for unknown);
    0 is an unknown dimension, or -1 under :func:`executorkit.util.np_shape`. Returns three lists of
    shapes; three times None, with a warning that names the unknown ones, if they do not follow.
    Raises :class:`ShapeError` for a contradiction and :class:`MXNetError` for an unknown name.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> net.infer_shape(data=(32, 10))
    ([(32, 10), (3, 10), (3,)], [(32, 3)], [])
    """
    result = _infer_shapes(symbol, args, kwargs)
    return _complete(symbol, result, "shapes", lambda s: s is None or not is_known(s))


def infer_shape_partial(
    symbol: Symbol, /, *args: Shape | None, **kwargs: Shape
) -> tuple[Any, Any, Any]:
    """Returns the known part of :meth:`infer_shape`, more than MXNet knows: () for an unknown
    shape, 0 for an unknown dimension; under :func:`executorkit.util.np_shape` None and -1."""
    inferred = _infer_shapes(symbol, args, kwargs)
    return inferred if numpy_shapes() else _mapped(lambda s: () if s is None else s, inferred)


def infer_type(symbol: Symbol, /, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
    """Infers element types of arguments, outputs and auxiliary states, as NumPy scalar classes.

    Types are given by name or by position, as anything that NumPy takes for a dtype. Returns three
    times None, with a warning, if they do not follow. Raises :class:`DTypeError` for a
    contradiction and :class:`MXNetError` for an unknown name.
    """
    result = infer_type_partial(symbol, *args, **kwargs)
    return _complete(symbol, result, "types", lambda t: t is None)


def infer_type_partial(symbol: Symbol, /, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
    """Returns the known part of :meth:`infer_type`: None for an unknown type."""
    inferred = graph_types(graph_of(symbol.heads), _known_types(symbol, args, kwargs))
    return _mapped(lambda t: None if t is None else np.dtype(t).type, inferred)


def summary(
    symbol: Symbol, /, type_dict: Mapping[str, object] | None = None, **shapes: Sequence[int]
) -> Summary:
    """Summarizes output shapes, parameters, FLOPs and bytes of every layer.

    Shapes, usually of the inputs, and types in ``type_dict`` are given by name; unknown results are
    shown as "?". Returns a :class:`~executorkit.lowering.Summary`: a table when it is printed, with
    the sums as attributes and the layers as items.

    FLOPs count one forward pass at inference, before XLA fuses anything: two for each product of a
    convolution (products with its padding too) or of matrices, one for each other element computed.
    Nothing is compiled. Raises :class:`ShapeError` for a contradiction and :class:`MXNetError` for
    an unknown name. MXNet has no such method; see ``mx.viz.print_summary`` for its table.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> net.summary(data=(32, 784))
    Symbol fc: 1 operator
    inputs: data (32, 784)
    layer  operator        output shape  parameters  FLOPs    output
    -----  --------------  ------------  ----------  -----  --------
    fc     FullyConnected  (32, 10)           7,850  502 k  1.25 KiB
    -----  --------------  ------------  ----------  -----  --------
    sum                                       7,850  502 k  1.25 KiB
    parameters (learned): 7,850, 30.7 KiB
    one forward pass: 502 kFLOPs, with 251 kMACs in convolutions and matrix products
    """
    known_shapes = {name: tuple(sizes) for name, sizes in shapes.items()}
    types = _known_types(symbol, (), type_dict or {})
    return Summary.of(symbol, _known_shapes(symbol, (), known_shapes), types)


def to_jax(symbol: Symbol, /, **shapes: Sequence[int]) -> JaxFunction:
    """Returns the graph as a pure JAX function; see :class:`executorkit.lowering.JaxFunction`.

    Shapes of inputs, by name, let the function's docstring list all others that follow.

    >>> import jax
    >>> import executorkit as mx
    >>> function = (mx.sym.Variable("x") ** 2).to_jax()
    >>> gradient = jax.grad(lambda x: function({"x": x})[0][0])
    >>> float(gradient(3.0))
    6.0
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> print(net.to_jax(data=(32, 784)).__doc__)
    fc as a pure function of JAX arrays.
    <BLANKLINE>
    ``function(args, key=None, is_train=False) -> (outputs, new_aux)``
    <BLANKLINE>
    args, a dict
        data       (32, 784)
        fc_weight  (10, 784)
        fc_bias    (10,)
    <BLANKLINE>
    outputs, a tuple
        fc_output  (32, 10)
    """
    return JaxFunction(symbol, shapes)


for _method in (infer_shape, infer_shape_partial, infer_type, infer_type_partial, summary, to_jax):
    setattr(Symbol, _method.__name__, _method)


#: Two lengths of axes that have none: other lengths are linear in theirs.
_LENGTHS_FOR_EMPTY = (5040, 10080)


def _infer_shapes(symbol: Symbol, args: Sequence[object], kwargs: Mapping[str, object]) -> Inferred:
    graph = graph_of(symbol.heads)
    known = _known_shapes(symbol, args, kwargs)

    def inferred(length_for_empty: int = 0) -> Inferred:
        lengths = {n: [d or length_for_empty for d in shape] for n, shape in known.items()}
        result = infer(graph, lengths)
        outputs = reported_output_shapes(graph, result)
        return list(result.arg_shapes), outputs, list(result.aux_shapes)

    if not numpy_shapes():
        return inferred()
    if all(all(shape) for shape in known.values()):
        return _mapped(lambda s: s and tuple(d or -1 for d in s), inferred())
    first, second = map(inferred, _LENGTHS_FOR_EMPTY)
    arguments, outputs, states = (
        [_without_elements(*pair) for pair in zip(*parts, strict=True)]
        for parts in zip(first, second, strict=True)
    )
    return arguments, outputs, states


def _without_elements(first: Shape | None, second: Shape | None) -> Shape | None:
    if first is None or second is None:
        return None
    return tuple(max(2 * a - b, 0) if a else -1 for a, b in zip(first, second, strict=True))


def _mapped(function: Callable[[Any], Any], inferred: Inferred) -> Inferred:
    arguments, outputs, states = (list(map(function, part)) for part in inferred)
    return arguments, outputs, states


def _by_name(
    symbol: Symbol, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, Any]:
    if args and kwargs:
        raise ValueError("give shapes or types by position or by name, not both")
    names = symbol.list_arguments()
    if len(args) > len(names):
        raise TypeError(f"{len(args)} given, but there are {len(names)} arguments")
    inputs = symbol.list_inputs()
    for name in kwargs:
        if name not in inputs:
            hint = f"one of: {', '.join(inputs)}"
            raise MXNetError(f"{symbol!r}", f"unknown argument {name!r}", hint=hint)
    by_position = zip(names, args, strict=False)
    return {name: value for name, value in by_position if value is not None} | dict(kwargs)


def _known_shapes(
    symbol: Symbol, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, Shape]:
    shapes = _by_name(symbol, args, kwargs)
    for name, shape in shapes.items():
        if not isinstance(shape, tuple):
            raise TypeError(f"shape of {name!r} is {shape!r}, expected a tuple")
    known = {name: tuple(int(d) for d in shape) for name, shape in shapes.items()}
    if not numpy_shapes():
        return known
    # Under MXNet's own semantics () and 0 declare nothing.
    attrs = symbol.attr_dict()
    texts = {n: attrs.get(n, {}).get("__shape__") for n in symbol.list_inputs()}
    declared = {n: SHAPE_TEXT.read(n, text) for n, text in texts.items() if text}
    return {n: shape for n, shape in declared.items() if 0 in shape or not shape} | known


def _known_types(
    symbol: Symbol, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, str]:
    return {name: numpy_dtype_name(t) for name, t in _by_name(symbol, args, kwargs).items()}


def _complete(
    symbol: Symbol, inferred: Inferred, noun: str, unknown: Callable[[Any], bool]
) -> Inferred:
    names = (symbol.list_arguments(), symbol.list_outputs(), symbol.list_auxiliary_states())
    missing = [
        [n for n, value in zip(part, values, strict=True) if unknown(value)]
        for part, values in zip(names, inferred, strict=True)
    ]
    if not any(missing):
        return inferred
    first = missing[0] or missing[2] or missing[1]
    warnings.warn(f"{noun} do not follow for {', '.join(first)}; give them", stacklevel=3)
    return None, None, None
