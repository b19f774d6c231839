"""Shapes of a network's inputs, deduced from the shapes of its parameters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import MXNetError
from ..lowering import graph_of, infer, optional_arguments
from ..ops.schema.inference import is_fully_known
from ..symbol import Symbol
from ..symbol.node import topological_order
from ..symbol.symbol_view import is_parameter

#: A shape; 0 is an unknown size.
Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

#: Numbers of axes that inputs have, most frequent first.
_RANKS = (4, 2, 3, 5, 1)
#: Maximum numbers of parameters looked at one by one, and of inputs tried one by one.
_FIRST_PARAMETERS, _MAX_INPUTS = 8, 12
#: Heights of images that are tried first.
_COMMON = (224, 300, 512)
#: Heights that networks are made for.
_USUAL = (28, 32, 64, 96, 112, 128, 160, 192, 224, 227, 256, 299, 300, 320, 331, 384, 416, 448, 512)
#: The largest height looked for, and how much larger than the least a usual one may be.
_LARGEST, _ROUNDING = 2048, 1.3


def label_names(symbol: Symbol) -> list[str]:
    """Returns the labels: arguments that matter to gradients only."""
    return list(optional_arguments(graph_of(symbol.heads)))


def required_names(symbol: Symbol) -> list[str]:
    labels = set(label_names(symbol))
    is_weight: dict[str, bool] = {}
    for node in topological_order(symbol.heads):
        for k, (child, _) in enumerate(node.inputs):
            if child.is_variable:
                weight = "__init__" in child.attrs or is_parameter(child, node, k)
                is_weight[child.name] = is_weight.get(child.name, True) and weight
    arguments = (n for n in symbol.list_arguments() if is_weight.get(n) and n not in labels)
    return [*arguments, *symbol.list_auxiliary_states()]


def inferred(symbol: Symbol, shapes: Shapes) -> dict[str, Shape | None] | None:
    graph = graph_of(symbol.heads)
    try:
        result = infer(graph, shapes)
    except MXNetError:
        return None
    names = (*graph.arg_names, *graph.aux_names)
    return dict(zip(names, (*result.arg_shapes, *result.aux_shapes), strict=True))


def known_shapes(shapes: Mapping[str, Shape | None]) -> dict[str, Shape]:
    return {name: shape for name, shape in shapes.items() if shape is not None}


def deduce_inputs(
    symbol: Symbol, parameters: Shapes, shapes: Shapes | None = None
) -> dict[str, Shape | None]:
    """Returns the shapes of the inputs, as far as the parameters tell them; labels last.

    ``parameters`` and ``shapes`` hold the shapes of parameters and of known inputs by name. 0
    stands for a size that is free or unknown, None for an unknown shape. Raises ShapeError if
    ``shapes`` contradict each other.
    """
    arguments = symbol.list_arguments()
    known = dict(shapes or {})
    infer(graph_of(symbol.heads), known)
    labels = label_names(symbol)
    weight_names = {*parameters, *required_names(symbol)}
    names = [name for name in arguments if name not in weight_names and name not in labels]
    weights = {name: parameters[name] for name in symbol.list_inputs() if name in parameters}
    best = next(_ranked(symbol, names, weights, known), known)
    values = inferred(symbol, {**weights, **best}) or inferred(symbol, best) or {}
    return {name: values.get(name) for name in (*names, *labels) if name not in weight_names}


def _ranked(
    symbol: Symbol, names: Sequence[str], weights: Shapes, known: Shapes
) -> Iterator[dict[str, Shape]]:
    # From all inputs; from one of the first, if not all fit; at last from the symbol alone.
    first = list(weights)[:_FIRST_PARAMETERS]
    for some in (weights, *({name: weights[name]} for name in first)):
        shapes = inferred(symbol, {**some, **known})
        if shapes is None:
            continue
        unknown = [name for name in names if shapes[name] is None]
        if not unknown:
            yield {**known, **known_shapes({name: shapes[name] for name in names})}
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


def _flat(symbol: Symbol, name: str, weights: Shapes, known: Shapes) -> Iterator[dict[str, Shape]]:
    required = set(required_names(symbol))
    matrix = next((s for n, s in weights.items() if len(s) == 2 and n in required), None)
    trial = {**known, name: (0, matrix[1])} if matrix else {}
    if trial and inferred(symbol, {**weights, **trial}) is not None:
        yield trial


def _sizes_of(symbol: Symbol, names: Sequence[str], shapes: Shapes) -> dict[str, Shape] | None:
    values = inferred(symbol, shapes)
    if values is None:
        return None
    sizes = known_shapes({name: values[name] for name in names})
    return sizes if any(map(any, sizes.values())) else None


def _one_by_one(
    symbol: Symbol, names: Sequence[str], weights: Shapes, known: Shapes
) -> dict[str, Shape]:
    shapes = dict(known)
    for name in names:
        for rank in _RANKS:
            sizes = _sizes_of(symbol, [name], {**weights, **shapes, name: (0,) * rank})
            if sizes:
                shapes.update(sizes)
                break
    return shapes


def example_shapes(
    symbol: Symbol, parameters: Shapes, inputs: Mapping[str, Shape | None]
) -> tuple[dict[str, Shape], ImageSize]:
    """Returns shapes of the inputs for one example, and the size of images that was filled in: it
    follows from the parameters, or is a usual one. Unknown sizes are 0."""
    variables = set(symbol.list_inputs())
    weights = {name: shape for name, shape in parameters.items() if name in variables}
    single = {name: (shape[0] or 1, *shape[1:]) for name, shape in inputs.items() if shape}
    images = [name for name, s in single.items() if len(s) == 4 and s[1] and 0 in s[2:]]
    if not images:
        return single, ImageSize(None)
    labels = set(label_names(symbol))
    fed = {name: shape for name, shape in single.items() if name not in labels}
    search = _ImageSearch(symbol, weights, fed, images)
    image = search.size()
    return search.filled(image.size or 0), image


@dataclass(frozen=True, slots=True)
class ImageSize:
    """Height and width of square images: ``size``, or the parameter ``conflict`` that no size fits.
    ``determined`` if the parameters fit no other size."""

    size: int | None
    determined: bool = False
    conflict: str | None = None


@dataclass
class _ImageSearch:
    """The search for the size of ``images`` among the inputs, whose other sizes are known;
    ``conflict`` is the parameter that the last size tried did not fit."""

    symbol: Symbol
    weights: Shapes
    inputs: Shapes
    images: Sequence[str]
    conflict: str | None = None

    def size(self) -> ImageSize:
        # The lengths of the rows of weights grow with the image: bisection.
        shapes = inferred(self.symbol, self.inputs)
        if shapes is not None and all(is_fully_known(shapes[name]) for name in self.weights):
            return ImageSize(next((size for size in _COMMON if self._order(size) == 0), None))
        if self._order(_COMMON[0]) == 0:
            return ImageSize(_COMMON[0], determined=True)
        least = bisect_left(range(_LARGEST), 0, lo=1, key=self._order)
        if self._order(least) != 0:
            return ImageSize(None, conflict=self.conflict)
        rounded = [s for s in _USUAL if least < s < least * _ROUNDING and self._order(s) == 0]
        is_usual = least in _USUAL or not rounded
        return ImageSize(least if is_usual else rounded[0], determined=True)

    def filled(self, size: int) -> dict[str, Shape]:
        return {
            name: tuple(d or size for d in shape) if name in self.images else shape
            for name, shape in self.inputs.items()
        }

    def _order(self, size: int) -> int:
        shapes = inferred(self.symbol, self.filled(size))
        if shapes is None:
            return -1  # nothing is left of the image
        for name, shape in shapes.items():
            stored = self.weights.get(name)
            if stored is None or shape is None or len(shape) != len(stored):
                continue
            for ours, theirs in zip(shape, stored, strict=True):
                if ours and ours != theirs:
                    self.conflict = name
                    return 1 if ours > theirs else -1
        return 0
