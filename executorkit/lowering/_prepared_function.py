"""A symbol's inference as a pure function of the fed inputs, with everything else prepared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from .._support.annotations import Arrays, NamedArrays, Operands, Raw
from ..errors import MissingParameterError, ShapeError
from ..jax_internals import in_x64
from ._batch_norm_folding import lower_for_inference
from ._graph import Graph
from .staging import Stages, two_stages

_WHERE = "prepared function"


@jax.tree_util.register_pytree_node_class
class PreparedFunction:
    """Inference of a symbol for inputs of certain shapes, with its parameters prepared: batch
    normalisations folded into weights, weights transposed and packed for the device.

    ``prepared(inputs, key=None) -> outputs``: ``inputs`` maps the names of the fed arguments to
    arrays of the prepared shapes and dtypes; ``outputs`` is a tuple in the order of
    ``list_outputs``. Results equal inference but for rounding. Raises
    :class:`MissingParameterError` for a missing input, :class:`ShapeError` for another shape.

    It is a pytree of its ``arrays``, so that it can be an argument of a compiled function::

        run = jax.jit(lambda prepared, inputs: prepared(inputs))
    """

    def __init__(
        self, stages: Stages, inputs: Mapping[str, jax.ShapeDtypeStruct], arrays: Arrays
    ) -> None:
        self._stages = stages
        self._inputs = inputs
        self.names = tuple(inputs)
        self.arrays = tuple(arrays)

    def __call__(self, inputs: NamedArrays, key: object = None) -> tuple[jax.Array, ...]:
        missing = [name for name in self.names if name not in inputs]
        if missing:
            raise MissingParameterError(_WHERE, f"missing inputs: {', '.join(missing)}")
        arrays = [jax.numpy.asarray(inputs[n], aval.dtype) for n, aval in self._inputs.items()]
        for (name, aval), x in zip(self._inputs.items(), arrays, strict=True):
            if x.shape != aval.shape:
                problem = f"its shape is {x.shape}, expected {aval.shape}"
                because = "weights are prepared for inputs of one shape"
                hint = "prepare(...) once for each shape"
                raise ShapeError(f"{_WHERE}: {name!r}", problem, because=because, hint=hint)
        keys = [] if key is None else [key]
        # Operators may count in 64 bits.
        return in_x64(self._stages.run)(*arrays, *keys, *self.arrays)

    def tree_flatten(self) -> tuple[Operands, tuple[Any, ...]]:
        return self.arrays, (self._stages, tuple(self._inputs.items()))

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], arrays: Arrays) -> PreparedFunction:
        stages, inputs = static
        return cls(stages, dict(inputs), arrays)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n}: {x.dtype}{list(x.shape)}" for n, x in self._inputs.items())
        return f"<PreparedFunction of {sizes}: {len(self.arrays)} arrays>"


def prepared_function(
    graph: Graph,
    params: Mapping[str, object],
    aux: Mapping[str, jax.Array],
    inputs: Mapping[str, jax.ShapeDtypeStruct],
    key: object = None,
) -> PreparedFunction:
    """Prepares a graph's inference: ``params`` and ``aux`` are arrays by name, ``inputs`` shapes
    and dtypes of all other arguments, ``key`` any random key if inference draws numbers."""
    run = lower_for_inference(graph)
    fed = [name for name in graph.arg_names if name not in params]
    keys = [] if key is None else [key]
    staying = [params[n] for n in graph.arg_names if n in params]
    staying += [aux[n] for n in graph.aux_names]

    def evaluate(*arrays: Raw) -> Operands:
        values = iter(arrays)
        by_name = {name: next(values) for name in fed}
        own_key = next(values) if keys else None
        by_name |= {name: next(values) for name in graph.arg_names if name in params}
        return run([by_name[name] for name in graph.arg_names], tuple(values), own_key)

    arguments = [*(inputs[name] for name in fed), *keys, *staying]
    first = len(arguments) - len(staying)
    stay = [i >= first for i in range(len(arguments))]
    stages = in_x64(two_stages)(evaluate, arguments, stay, jax.default_backend())
    prepared = in_x64(jax.jit(stages.prepare))(*(arguments[i] for i in stages.sources))
    held = [arguments[i] for i in stages.held]
    return PreparedFunction(stages, {name: inputs[name] for name in fed}, (*held, *prepared))
