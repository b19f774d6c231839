"""Networks to export: a symbol, its parameters, and the shapes of its inputs, checked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import (
    MissingParameterError,
    NotSupportedError,
    ShapeError,
    UnknownArgumentError,
    check_names,
    listed,
)
from ..inspection import check_parameters, deduce_inputs, example_shapes, label_names, plain_name
from ..lowering import graph_of, infer, value_dtypes
from ..ndarray.comparison import host_arrays, random_inputs
from ..onnx import run_symbol
from ..ops.schema.inference import is_fully_known
from ..symbol import Symbol

Shape = tuple[int, ...]
BatchSize = int | Literal["free"]

#: Number of examples in a comparison of a network with a free batch size.
FREE_BATCH = 2
#: Maximum number of problems that a message lists.
_LISTED = 8


@dataclass(frozen=True, slots=True)
class InferenceNetwork:
    """A network with its ``arguments`` and ``states`` (arrays by name), the shapes and dtypes of
    its ``inputs`` but labels, in the order of ``list_arguments``, and their axes of the batch."""

    symbol: Symbol
    arguments: dict[str, np.ndarray]
    states: dict[str, np.ndarray]
    inputs: dict[str, Shape]
    dtypes: dict[str, str]
    batch_axes: dict[str, int]

    @classmethod
    def of(
        cls,
        symbol: Symbol,
        params: Mapping[str, object],
        shapes: Mapping[str, Sequence[int]] | None = None,
        dtypes: Mapping[str, str] | None = None,
    ) -> InferenceNetwork:
        """Checks that parameters and shapes fit; names everything missing at once.

        Without ``shapes`` of the inputs, they follow from the parameters, for one example (and
        images of 224 x 224 if any size fits). A 0 among the first two sizes marks the batch, as in
        (35, 0, 200); without any, it is the first axis of each input as long as the first input's.
        """
        arrays = {plain_name(name): array for name, array in host_arrays(params).items()}
        stored = {name: array.shape for name, array in arrays.items()}
        sizes = {name: tuple(int(d) for d in shape) for name, shape in (shapes or {}).items()}
        arguments = symbol.list_arguments()
        usual = [n for n in arguments if n not in stored]
        check_names("the shape of", sizes, arguments, usual, UnknownArgumentError)
        marked = {name: shape.index(0) for name, shape in sizes.items() if 0 in shape[:2]}
        sizes = {n: _with_size(shape, marked.get(n), 1) for n, shape in sizes.items()}
        deduced = deduce_inputs(symbol, stored, sizes)
        known = {name: shape for name, shape in deduced.items() if shape is not None}
        _check_fit(symbol, arrays, known)
        labels = label_names(symbol)
        whole, _ = example_shapes(symbol, stored, deduced)
        inputs = {name: whole.get(name) for name in deduced if name not in labels}
        unknown = [name for name, shape in inputs.items() if not is_fully_known(shape)]
        if unknown:
            problem = f"shapes of {listed(unknown, _LISTED)} do not follow from the parameters"
            hint = f"give them, such as {unknown[0]}=(1, 3, 224, 224)"
            raise ShapeError("inputs", problem, hint=hint)
        used = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
        types = {name: array.dtype.name for name, array in arrays.items() if name in used}
        types.update(dtypes or {})
        graph = graph_of(symbol.heads)
        values = value_dtypes(graph, types)
        all_types = {node.name: values[number] or "float32" for node, number in graph.variables}
        states = set(symbol.list_auxiliary_states())
        fed = {name: shape for name, shape in inputs.items() if shape is not None}
        return cls(
            symbol,
            {n: a for n, a in arrays.items() if n in used and n not in states},
            {n: a for n, a in arrays.items() if n in states},
            fed,
            {name: all_types[name] for name in fed},
            marked or _first_axes(fed),
        )

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """All arrays, by their names in files of parameters."""
        return {
            **{f"arg:{name}": array for name, array in self.arguments.items()},
            **{f"aux:{name}": array for name, array in self.states.items()},
        }

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs in their order; a name that occurs before gets a number."""
        names: list[str] = []
        for name in self.symbol.list_outputs():
            count = sum(n == name or n.startswith(f"{name}#") for n in names)
            names.append(f"{name}#{count}" if count else name)
        return names

    def sizes(self, batch: object = None) -> dict[str, tuple[Any, ...]]:
        """Returns the shapes of the inputs for ``batch`` examples, if given."""
        if batch is None:
            return dict(self.inputs)
        return {n: _with_size(s, self.batch_axes.get(n), batch) for n, s in self.inputs.items()}

    def random_inputs(self, batch: int) -> dict[str, np.ndarray]:
        """Returns random inputs for ``batch`` examples; inputs with up to two axes hold indices."""
        sizes = self.sizes(batch)
        indices = {name for name, shape in sizes.items() if len(shape) < 3}
        return random_inputs(sizes, self.dtypes, indices=indices)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the outputs by name, computed by an executor."""
        outputs = run_symbol(self.symbol, self.parameters, inputs)
        return dict(zip(self.output_names, outputs, strict=True))


def _with_size(shape: tuple[object, ...], axis: int | None, size: object) -> tuple[Any, ...]:
    return shape if axis is None else (*shape[:axis], size, *shape[axis + 1 :])


def _first_axes(inputs: Mapping[str, Shape]) -> dict[str, int]:
    sizes = [shape[0] for shape in inputs.values() if shape]
    return {name: 0 for name, shape in inputs.items() if shape and shape[0] == sizes[0]}


def refuse_random(symbol: Symbol, form: str) -> None:
    # A file has no random streams.
    graph = graph_of(symbol.heads)
    names = [step.node.name for step in graph.steps if step.op.uses_rng(step.params, False)]
    if names:
        problem = f"nodes that draw random numbers at inference: {listed(names, _LISTED)}"
        raise NotSupportedError(f"export to {form}", problem)


def _check_fit(
    symbol: Symbol, arrays: Mapping[str, np.ndarray], inputs: Mapping[str, Shape]
) -> None:
    shapes = {name: array.shape for name, array in arrays.items()}
    check = check_parameters(symbol, arrays, shapes, inputs)
    if check.missing:
        names = listed(check.missing, _LISTED)
        problem = f"{len(check.missing)} that the symbol needs are missing: {names}"
        raise MissingParameterError("parameters", problem)
    if check.misshaped:
        name, (shape, expected) = next(iter(check.misshaped.items()))
        raise ShapeError(f"parameter {name!r}", f"it is {shape}, expected {expected}")
    # The message of a contradiction names the node.
    infer(graph_of(symbol.heads), {**{n: shapes[n] for n in shapes}, **inputs})
