"""Free dimensions: shapes are inferred again with each doubled; lengths that change are free."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import MXNetError, ShapeError
from ..lowering import Graph, InferenceResult, infer
from ..ops.schema.attrs import Shape
from ..ops.schema.inference import is_fully_known, shape_text

#: The lengths of each input: a number is fixed, a text names a free dimension, None is nameless.
FreeShapes = Mapping[str, Sequence[int | str | None]]
#: An axis of an input.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FreeDimension:
    """A length that may vary, the axes of inputs that have it, and another length to ``probe``."""

    name: str
    size: int
    probe: int
    places: tuple[Place, ...]
    values: tuple[Shape | None, ...]


#: For each axis of a value the free dimension of which its length is a multiple, and the factor.
Origins = tuple[tuple[FreeDimension, int] | None, ...]


@dataclass(frozen=True, slots=True)
class OpenShapes:
    values: tuple[Shape | None, ...]
    dimensions: tuple[FreeDimension, ...]

    def shape(self, number: int) -> tuple[int | None, ...]:
        sizes = self.values[number] or ()
        probed = [d.values[number] or () for d in self.dimensions]
        return tuple(
            None if any(probe[axis] != size for probe in probed) else size
            for axis, size in enumerate(sizes)
        )

    def origins(self, number: int) -> Origins:
        return tuple(self._origin(number, axis) for axis in range(len(self.values[number] or ())))

    def _origin(self, number: int, axis: int) -> tuple[FreeDimension, int] | None:
        size = (self.values[number] or ())[axis]
        varying = [d for d in self.dimensions if (d.values[number] or ())[axis] != size]
        if len(varying) != 1 or not varying[0].size:
            return None
        (dimension,) = varying
        factor, remainder = divmod(size, dimension.size)
        if remainder or (dimension.values[number] or ())[axis] != factor * dimension.probe:
            return None
        return dimension, factor


def open_shapes(
    graph: Graph,
    shapes: Mapping[str, Shape],
    fixed: Mapping[str, Shape],
    dtypes: Mapping[str, str],
    free: FreeShapes | Literal["batch"] | None,
) -> OpenShapes:
    """Returns shapes of a graph's values, and which dimensions of inputs vary (``free`` of
    :func:`to_onnx`). :class:`ShapeError` for a named one that other inputs contradict."""
    inferred = infer(graph, {**fixed, **shapes}, dtypes)
    inputs = {name: _known(graph, inferred, name) for name in shapes}
    dimensions: list[FreeDimension] = []
    for name, places in _requests(inputs, free):
        if any(place in d.places for d in dimensions for place in places):
            continue
        try:
            dimensions.append(_probed(graph, inputs, fixed, dtypes, name, places))
        except MXNetError as error:
            if name is not None and free != "batch":
                problem = "it cannot vary"
                raise ShapeError(f"dimension {name!r}", problem, because=str(error)) from None
    return OpenShapes(inferred.values, tuple(dimensions))


def _known(graph: Graph, inferred: InferenceResult, name: str) -> Shape:
    return {node.name: inferred.values[i] for node, i in graph.variables}[name] or ()


def _requests(
    inputs: Mapping[str, Shape], free: FreeShapes | Literal["batch"] | None
) -> list[tuple[str | None, list[Place]]]:
    if free is None:
        return []
    if free == "batch":
        return [("batch", [(name, 0)]) for name in list(inputs)[:1] if inputs[name]]
    named: dict[str, list[Place]] = {}
    unnamed: list[tuple[str | None, list[Place]]] = []
    for name, lengths in free.items():
        if len(lengths) != len(inputs[name]):
            problem = f"{len(lengths)} lengths for an input of shape {shape_text(inputs[name])}"
            raise ShapeError(f"free dimensions of {name!r}", problem)
        for axis, length in enumerate(lengths):
            if isinstance(length, str):
                named.setdefault(length, []).append((name, axis))
            elif length is None:
                unnamed.append((None, [(name, axis)]))
    return [*named.items(), *unnamed]


def _probed(
    graph: Graph,
    inputs: Mapping[str, Shape],
    fixed: Mapping[str, Shape],
    dtypes: Mapping[str, str],
    name: str | None,
    places: Sequence[Place],
) -> FreeDimension:
    first, first_axis = places[0]
    size = inputs[first][first_axis]
    probe = max(2 * size, 2)
    partial = {
        other: tuple(
            probe if (other, axis) in places else 0 if n == size and other != first else n
            for axis, n in enumerate(shape)
        )
        for other, shape in inputs.items()
    }
    inferred = infer(graph, {**fixed, **partial}, dtypes)
    complete = {other: _completed(graph, inferred, other, inputs[other]) for other in inputs}
    inferred = infer(graph, {**fixed, **complete}, dtypes)
    if not all(is_fully_known(s) for s in inferred.values if s is not None):
        raise ShapeError("shapes are not known with another length")
    moved = tuple(
        (other, axis)
        for other, shape in inputs.items()
        for axis, n in enumerate(shape)
        if complete[other][axis] != n
    )
    return FreeDimension(name or f"{first}_{first_axis}", size, probe, moved, inferred.values)


def _completed(graph: Graph, inferred: InferenceResult, name: str, shape: Shape) -> Shape:
    known = _known(graph, inferred, name) or (0,) * len(shape)
    return tuple(a or b for a, b in zip(known, shape, strict=True))
