"""Networks to export: a symbol, its parameters, and the shapes of its inputs, checked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..context import cpu
from ..errors import (
    MissingParameterError,
    NotSupportedError,
    ShapeError,
    UnknownArgumentError,
    explain,
)
from ..inspection import check_parameters, deduce_inputs, example_shapes, label_names, plain_name
from ..lowering import graph_of, infer, value_dtypes
from ..ops.schema.inference import is_fully_known
from ..symbol import Symbol
from ._parameter_files import as_ndarray, host_arrays

Shape = tuple[int, ...]

#: Number of examples in a comparison of a network with a free batch size.
FREE_BATCH = 2
#: Maximum number of problems that a message lists.
_LISTED = 8


@dataclass(frozen=True, slots=True)
class InferenceNetwork:
    """A network with everything that its inference needs.

    arguments, states
        arrays of the parameters and of the auxiliary states by name.
    inputs, dtypes
        shape and element type of each input in the order of ``list_arguments``; labels are not
        among them.
    """

    symbol: Symbol
    arguments: dict[str, np.ndarray]
    states: dict[str, np.ndarray]
    inputs: dict[str, Shape]
    dtypes: dict[str, str]

    @classmethod
    def of(
        cls,
        symbol: Symbol,
        params: Mapping[str, Any],
        shapes: Mapping[str, Sequence[int]] | None = None,
        dtypes: Mapping[str, str] | None = None,
    ) -> InferenceNetwork:
        """Checks that parameters and shapes fit; what is missing is named at once.

        shapes
            of the inputs; without, they follow from the parameters, for one example (and for images
            of 224 x 224 where their size is free).
        """
        arrays = {plain_name(name): array for name, array in host_arrays(params).items()}
        stored = {name: array.shape for name, array in arrays.items()}
        sizes = {name: tuple(int(d) for d in shape) for name, shape in (shapes or {}).items()}
        _check_names(symbol, sizes, stored)
        deduced = deduce_inputs(symbol, stored, sizes)
        known = {name: shape for name, shape in deduced.items() if shape is not None}
        _check_fit(symbol, arrays, known)
        labels = label_names(symbol)
        whole, _ = example_shapes(symbol, stored, deduced)
        inputs = {name: whole.get(name) for name in deduced if name not in labels}
        unknown = [name for name, shape in inputs.items() if not is_fully_known(shape)]
        if unknown:
            raise ShapeError(
                explain(
                    "shapes of the inputs",
                    f"those of {', '.join(unknown[:_LISTED])} do not follow from the parameters",
                    hint=f"give them, such as {unknown[0]}=(1, 3, 224, 224)",
                )
            )
        used = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
        types = {name: array.dtype.name for name, array in arrays.items() if name in used}
        types.update(dtypes or {})
        graph = graph_of(symbol.heads)
        values = value_dtypes(graph, types)
        all_types = {node.name: values[number] or "float32" for node, number in graph.variables}
        states = set(symbol.list_auxiliary_states())
        return cls(
            symbol,
            {n: a for n, a in arrays.items() if n in used and n not in states},
            {n: a for n, a in arrays.items() if n in states},
            {name: shape for name, shape in inputs.items() if shape is not None},
            {name: all_types[name] for name in inputs},
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

    def free_inputs(self) -> list[str]:
        """The inputs whose first axis is that of the batch: it is as long as that of the first
        input."""
        sizes = [shape[0] for shape in self.inputs.values() if shape]
        return [name for name, shape in self.inputs.items() if shape and shape[0] == sizes[0]]

    def sizes(self, batch: int | None = None) -> dict[str, Shape]:
        """The shapes of the inputs; for ``batch`` examples, if given."""
        free = self.free_inputs() if batch is not None else []
        return {n: (batch or 0, *s[1:]) if n in free else s for n, s in self.inputs.items()}

    def random_inputs(self, batch: int) -> dict[str, np.ndarray]:
        """Inputs of random numbers for ``batch`` examples: normal ones, and for up to two axes
        numbers from 0 to 2, because they may be those of entries in a table."""
        random = np.random.default_rng(0)
        arrays = {}
        for name, shape in self.sizes(batch).items():
            dtype = jnp.dtype(self.dtypes[name])
            is_table = len(shape) < 3 or dtype.kind in "iub"
            numbers = random.uniform(0, 2, shape) if is_table else random.standard_normal(shape)
            arrays[name] = np.asarray(numbers).astype(dtype)
        return arrays

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, computed by an executor."""
        shapes = {name: array.shape for name, array in inputs.items()}
        weights = {name: array.shape for name, array in self.arguments.items()}
        sizes, _, _ = self.symbol.infer_shape(**shapes, **weights)
        arrays = {**self.arguments, **inputs}
        arguments = {
            name: as_ndarray(arrays[name] if name in arrays else np.zeros(size, np.float32))
            for name, size in zip(self.symbol.list_arguments(), sizes, strict=True)
        }
        states = {name: as_ndarray(array) for name, array in self.states.items()}
        executor = self.symbol.bind(cpu(), arguments, grad_req="null", aux_states=states)
        outputs = executor.forward(is_train=False)
        return {n: x.asnumpy() for n, x in zip(self.output_names, outputs, strict=True)}


def refuse_random(symbol: Symbol, form: str) -> None:
    """Raises NotSupportedError if inference draws random numbers: a file has no random streams."""
    graph = graph_of(symbol.heads)
    names = [step.node.name for step in graph.steps if step.op.uses_rng(step.params, False)]
    if names:
        listed = ", ".join(names[:_LISTED])
        raise NotSupportedError(
            explain(f"export to {form}", f"nodes that draw random numbers at inference: {listed}")
        )


def _check_names(symbol: Symbol, sizes: Mapping[str, Shape], stored: Mapping[str, Shape]) -> None:
    inputs = [n for n in symbol.list_arguments() if n not in stored]
    unknown = [name for name in sizes if name not in symbol.list_arguments()]
    if unknown:
        raise UnknownArgumentError(
            explain(
                f"the shape of {unknown[0]!r}",
                "it is not an argument of this symbol",
                hint="one of: " + ", ".join(inputs[:_LISTED]),
            )
        )


def _check_fit(
    symbol: Symbol, arrays: Mapping[str, np.ndarray], inputs: Mapping[str, Shape]
) -> None:
    shapes = {name: array.shape for name, array in arrays.items()}
    check = check_parameters(symbol, arrays, shapes, inputs)
    if check.missing:
        listed = ", ".join(check.missing[:_LISTED])
        count = len(check.missing)
        raise MissingParameterError(
            explain("parameters", f"{count} that the symbol needs are missing: {listed}")
        )
    if check.misshaped:
        name, (shape, expected) = next(iter(check.misshaped.items()))
        raise ShapeError(explain(f"parameter {name!r}", f"it is {shape}, expected {expected}"))
    # The message of a contradiction names the node.
    infer(graph_of(symbol.heads), {**{n: shapes[n] for n in shapes}, **inputs})
