"""StableHLO: the inference of a network as one file that needs only JAX and NumPy to run.

The file is an archive of NumPy's (``.npz``): the program, serialized by ``jax.export``, under the
name ``stablehlo``, and the parameters under their names in ``.params`` files. Without this package
it is loaded by::

    arrays = dict(numpy.load("resnet-50.stablehlo"))
    program = jax.export.deserialize(bytearray(arrays.pop("stablehlo")))
    outputs = jax.jit(program.call)(arrays, {"data": images})

(after ``import jax.export``). Parameters are arguments of the program, since a compiler spends
minutes on computing with constants.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export as jax_export

from .._files import write_atomically
from ..errors import (
    ArgumentValueError,
    FileFormatError,
    NotSupportedError,
    UnknownArgumentError,
    did_you_mean,
)
from ..jax_internals import in_x64
from ..ndarray.comparison import Comparison
from ..symbol import Symbol
from ._inference_graph import FREE_BATCH, BatchSize, InferenceNetwork, refuse_random
from ._parameter_files import read_npz, write_npz

#: The platforms that a program is exported for.
PLATFORMS = ("cpu", "cuda", "tpu")
_KNOWN_PLATFORMS = (*PLATFORMS, "rocm")
#: The archive's entry with the program.
_PROGRAM = "stablehlo"
_BFLOAT16 = np.dtype(jnp.bfloat16)


def to_stablehlo(
    path: str | os.PathLike[str],
    symbol: Symbol,
    params: Mapping[str, object],
    shapes: Mapping[str, Sequence[int]] | None = None,
    dtypes: Mapping[str, str] | None = None,
    *,
    batch: BatchSize = "free",
    platforms: Sequence[str] = PLATFORMS,
) -> Comparison:
    """Writes the inference of a network as one file; returns how its results differ from ours.

    params
        parameters and auxiliary states by name, as ``mx.nd.load`` gives them (``arg:fc_weight``;
        names without ``arg:`` and ``aux:`` are accepted): NDArrays, or arrays of NumPy or JAX.
    shapes, dtypes
        of the inputs; by default they follow from the parameters and their types.
    batch
        ``"free"``: any number of examples. A number: that many. Its axis is the first of every
        input in which it is as long as in the first input; or, if ``shapes`` have a 0 among their
        first two sizes, the axis of the 0.
    platforms
        of ``cpu``, ``cuda``, ``tpu`` and ``rocm``; one file serves all of them.

    The exported program takes a dict of parameters and a dict of inputs by name, and returns a dict
    of outputs by name (``softmax_output``). Labels are left out. After writing, the file is loaded
    again and run on random inputs beside an executor.

    Raises, before anything is written, MissingParameterError, ShapeError, ArgumentValueError, and
    NotSupportedError for a network that ``jax.export`` cannot express: one that draws random
    numbers at inference, that calls Python, or whose shapes do not allow a free batch size.
    """
    check_platforms(platforms)
    network = InferenceNetwork.of(symbol, params, shapes, dtypes)
    return export_network(path, network, batch, platforms)


def export_network(
    path: str | os.PathLike[str],
    network: InferenceNetwork,
    batch: BatchSize,
    platforms: Sequence[str],
) -> Comparison:
    refuse_random(network.symbol, "StableHLO")
    program = np.frombuffer(_exported(network, batch, tuple(platforms)).serialize(), np.uint8)
    arrays = {name: _stored(array) for name, array in network.parameters.items()}
    write_atomically(path, partial(write_npz, arrays={_PROGRAM: program, **arrays}))
    inputs = network.random_inputs(FREE_BATCH if batch == "free" else batch)
    return Comparison.of("output", network.run(inputs), load(path)(**inputs))


def check_platforms(platforms: Sequence[str]) -> None:
    if isinstance(platforms, str) or not platforms or set(platforms) - set(_KNOWN_PLATFORMS):
        hint = "one or more of " + ", ".join(_KNOWN_PLATFORMS)
        raise ArgumentValueError("export to StableHLO", f"platforms={platforms!r}", hint=hint)


@in_x64
def _exported(network: InferenceNetwork, batch: BatchSize, platforms: tuple[str, ...]) -> Any:
    function = network.symbol.to_jax()
    names = network.output_names

    def program(parameters: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        arrays = {n: _restored(x, network.parameters[n].dtype) for n, x in parameters.items()}
        arguments = {n[4:]: x for n, x in arrays.items() if n.startswith("arg:")}
        states = {n[4:]: x for n, x in arrays.items() if n.startswith("aux:")}
        outputs, _ = function({**arguments, **inputs}, states)
        return dict(zip(names, outputs, strict=True))

    stored = {n: _stored(array) for n, array in network.parameters.items()}
    specs = {n: jax.ShapeDtypeStruct(x.shape, x.dtype) for n, x in stored.items()}
    size = jax_export.symbolic_shape("batch")[0] if batch == "free" else batch
    inputs = {
        name: jax.ShapeDtypeStruct(shape, jnp.dtype(network.dtypes[name]))
        for name, shape in network.sizes(size).items()
    }
    try:
        return jax_export.export(jax.jit(program), platforms=platforms)(specs, inputs)
    except Exception as error:
        # Whatever JAX refuses, in any of its exception classes, cannot be exported.
        free = batch == "free"
        reason = str(error).strip().partition("\n")[0]
        raise NotSupportedError(
            "export to StableHLO",
            "JAX cannot express this network" + " with a free batch size" * free,
            because=f"{type(error).__name__}: {reason}",
            hint="a fixed batch size" if free else None,
        ) from error


def _stored(array: np.ndarray) -> np.ndarray:
    # NumPy's archives have no bfloat16: its bits are stored.
    return array.view(np.uint16) if array.dtype == _BFLOAT16 else array


def _restored(array: Any, dtype: np.dtype) -> Any:
    return jax.lax.bitcast_convert_type(array, jnp.bfloat16) if dtype == _BFLOAT16 else array


class StableHLOModel:
    """A network loaded from a file: ``model(data=images)`` computes its outputs.

    inputs, outputs
        shape and dtype of each by name; a free size is a symbol, such as ``batch``.
    parameters
        arrays by their names in ``.params`` files, on the default device.
    platforms
        the platforms that the program was exported for.
    """

    def __init__(self, program: Any, parameters: Mapping[str, Any]) -> None:
        (specs, inputs), _ = jax.tree.unflatten(program.in_tree, program.in_avals)
        outputs = jax.tree.unflatten(program.out_tree, program.out_avals)
        self.inputs: dict[str, Any] = inputs
        self.outputs: dict[str, Any] = outputs
        self.platforms: tuple[str, ...] = tuple(program.platforms)
        avals = (*specs.values(), *inputs.values(), *outputs.values())
        self._wide = any(aval.dtype.itemsize == 8 for aval in avals)
        with jax.enable_x64(self._wide):
            self.parameters = {name: jnp.asarray(x) for name, x in parameters.items()}
        self._call = jax.jit(program.call)

    def __call__(self, **inputs: object) -> dict[str, jax.Array]:
        """Returns the outputs by name for inputs by name: arrays of NumPy or JAX, converted to the
        program's types. Raises :class:`UnknownArgumentError` for a missing or unknown input; a
        shape that does not fit is JAX's ValueError."""
        missing = [name for name in self.inputs if name not in inputs]
        unknown = [name for name in inputs if name not in self.inputs]
        if missing or unknown:
            problem = f"no input {unknown[0]!r}" if unknown else f"missing: {', '.join(missing)}"
            hint = did_you_mean(unknown[0], self.inputs) if unknown else None
            raise UnknownArgumentError("inputs of the network", problem, hint=hint)
        with jax.enable_x64(self._wide):
            arrays = {n: jnp.asarray(x, self.inputs[n].dtype) for n, x in inputs.items()}
            return self._call(self.parameters, arrays)

    def __repr__(self) -> str:
        words = [f"{n} {x.dtype.name}{list(x.shape)}" for n, x in self.inputs.items()]
        return f"<StableHLOModel {', '.join(words)} -> {', '.join(self.outputs)}>"


def load(path: str | os.PathLike[str]) -> StableHLOModel:
    """Returns the network in a file of :func:`to_stablehlo`. The first call compiles for its
    shapes. Raises FileAccessError and FileFormatError."""
    arrays = read_npz(path)
    if _PROGRAM not in arrays:
        problem = f"it has no entry {_PROGRAM!r}: no program was exported to it"
        raise FileFormatError(os.fspath(path), problem)
    raw = arrays.pop(_PROGRAM)
    try:
        program = jax_export.deserialize(bytearray(raw.tobytes()))
    except Exception as error:
        # A damaged program fails in the reader of JAX's format, in any way.
        reason = str(error).strip().partition("\n")[0]
        problem = "its program cannot be read"
        raise FileFormatError(os.fspath(path), problem, because=reason) from error
    return StableHLOModel(program, arrays)
