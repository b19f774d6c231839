"""Shapes of a network's inputs, deduced from the shapes of its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..errors import MXNetError
from ..lowering import InferenceResult, graph_of, infer, optional_arguments
from ..symbol import Symbol
from ..symbol.node import topological_order
from ..symbol.symbol_view import is_parameter
from ._image_size import ImageSize, Shape, image_size

#: Numbers of axes that inputs have, most frequent first.
_RANKS = (4, 2, 3, 5, 1)
#: Maximum numbers of parameters looked at one by one, and of inputs tried one by one.
_FIRST_PARAMETERS, _MAX_INPUTS = 8, 12


def label_names(symbol: Symbol) -> list[str]:
    """The arguments that inference does not read: labels, which matter to gradients only."""
    return list(optional_arguments(graph_of(symbol.heads)))


def required_names(symbol: Symbol) -> list[str]:
    """The variables that a checkpoint has to hold: auxiliary states, and what operators read as
    weights."""
    labels = set(label_names(symbol))
    is_weight: dict[str, bool] = {}
    for node in topological_order(symbol.heads):
        for k, (child, _) in enumerate(node.inputs):
            if child.is_variable:
                weight = "__init__" in child.attrs or is_parameter(child, node, k)
                is_weight[child.name] = is_weight.get(child.name, True) and weight
    arguments = (n for n in symbol.list_arguments() if is_weight.get(n) and n not in labels)
    return [*arguments, *symbol.list_auxiliary_states()]


def inferred(symbol: Symbol, shapes: Mapping[str, Shape]) -> InferenceResult | None:
    """The shapes that follow from some; None if they contradict each other."""
    try:
        return infer(graph_of(symbol.heads), shapes)
    except MXNetError:
        return None


def deduce_inputs(
    symbol: Symbol, parameters: Mapping[str, Shape], shapes: Mapping[str, Shape] | None = None
) -> dict[str, Shape | None]:
    """The shapes of the arguments that are no parameters, as far as the parameters tell them.

    parameters, shapes
        the shapes of the parameters, and those of inputs that are known, by name.

    Returns a shape by name, labels last; 0 stands for a size that is free or unknown, such as that
    of the batch, and None for a shape of which nothing is known. Raises ShapeError if ``shapes``
    contradict each other.
    """
    arguments = symbol.list_arguments()
    known = dict(shapes or {})
    infer(graph_of(symbol.heads), known)
    labels = label_names(symbol)
    weight_names = {*parameters, *required_names(symbol)}
    names = [name for name in arguments if name not in weight_names and name not in labels]
    weights = {name: parameters[name] for name in symbol.list_inputs() if name in parameters}
    best = next(_ranked(symbol, names, weights, known), known)
    result = inferred(symbol, {**weights, **best}) or inferred(symbol, best)
    values = dict(zip(arguments, result.arg_shapes, strict=True)) if result is not None else {}
    return {name: values.get(name) for name in (*names, *labels) if name not in weight_names}


def _ranked(
    symbol: Symbol,
    names: Sequence[str],
    weights: Mapping[str, Shape],
    known: Mapping[str, Shape],
) -> Iterator[dict[str, Shape]]:
    """Shapes of the inputs with which something follows from the parameters: from all of them; from
    one of the first, if not all fit together; at last, from the symbol alone."""
    first = list(weights)[:_FIRST_PARAMETERS]
    for some in (weights, *({name: weights[name]} for name in first)):
        start = inferred(symbol, {**some, **known})
        if start is None:
            continue
        shapes = dict(zip(symbol.list_arguments(), start.arg_shapes, strict=True))
        unknown = [name for name in names if shapes[name] is None]
        if not unknown:
            yield {**known, **{n: s for n in names if (s := shapes[n]) is not None}}
        for rank in _RANKS:
            trial = {**known, **dict.fromkeys(unknown, (0,) * rank)}
            sizes = _sizes_of(symbol, unknown, {**some, **trial})
            if sizes:
                yield {**known, **sizes}
        if len(unknown) == 1:
            yield from _flat(symbol, unknown[0], some, known)
        elif len(unknown) <= _MAX_INPUTS:
            yield _one_by_one(symbol, unknown, some, known)
    unknown = [name for name in names if name not in known]
    trials = [{**known, **dict.fromkeys(unknown, (0,) * rank)} for rank in _RANKS]
    accepted = [trial for trial in trials if inferred(symbol, trial) is not None]
    if unknown and len(accepted) == 1:
        yield accepted[0]


def _flat(
    symbol: Symbol, name: str, weights: Mapping[str, Shape], known: Mapping[str, Shape]
) -> Iterator[dict[str, Shape]]:
    """Vectors as the input of a network that flattens it: as long as the rows of a weight."""
    required = set(required_names(symbol))
    matrix = next((s for n, s in weights.items() if len(s) == 2 and n in required), None)
    trial = {**known, name: (0, matrix[1])} if matrix else {}
    if trial and inferred(symbol, {**weights, **trial}) is not None:
        yield trial


def _sizes_of(
    symbol: Symbol, names: Sequence[str], shapes: Mapping[str, Shape]
) -> dict[str, Shape] | None:
    """The shapes of inputs that follow from a guess of their axes; None if no size of any does."""
    result = inferred(symbol, shapes)
    if result is None:
        return None
    values = dict(zip(symbol.list_arguments(), result.arg_shapes, strict=True))
    sizes = {name: shape for name in names if (shape := values[name]) is not None}
    return sizes if any(map(any, sizes.values())) else None


def _one_by_one(
    symbol: Symbol, names: Sequence[str], weights: Mapping[str, Shape], known: Mapping[str, Shape]
) -> dict[str, Shape]:
    """The inputs that have a number of axes with which a size of theirs follows."""
    shapes = dict(known)
    for name in names:
        for rank in _RANKS:
            sizes = _sizes_of(symbol, [name], {**weights, **shapes, name: (0,) * rank})
            if sizes:
                shapes.update(sizes)
                break
    return shapes


def example_shapes(
    symbol: Symbol, parameters: Mapping[str, Shape], inputs: Mapping[str, Shape | None]
) -> tuple[dict[str, Shape], ImageSize]:
    """Shapes of the inputs for one example, to count operations for.

    Returns them, and the size of images that was filled in: one that follows from the parameters,
    or a usual one. What cannot be filled in is 0.
    """
    known = {name: shape for name, shape in inputs.items() if shape is not None}
    variables = set(symbol.list_inputs())
    weights = {name: shape for name, shape in parameters.items() if name in variables}
    single = {name: (shape[0] or 1, *shape[1:]) for name, shape in known.items() if shape}
    images = [name for name, s in single.items() if len(s) == 4 and s[1] and 0 in s[2:]]
    if not images:
        return single, ImageSize(None)
    labels = set(label_names(symbol))
    fed = {name: shape for name, shape in single.items() if name not in labels}
    size = image_size(symbol, weights, fed, images)
    filled = {
        n: tuple(d or size.size or 0 for d in s) if n in images else s for n, s in fed.items()
    }
    return filled, size
