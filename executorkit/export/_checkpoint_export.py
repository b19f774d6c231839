"""A checkpoint's files as a file of another format: checked, written, loaded again, compared."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ArgumentValueError
from ..ndarray.comparison import Comparison
from ..onnx import OPSET, require_onnx, run_model, save_model, to_onnx
from ..symbol import load as load_symbol
from . import _parameter_files as files
from ._inference_graph import FREE_BATCH, BatchSize, InferenceNetwork
from ._stablehlo import PLATFORMS, check_platforms, export_network

#: Endings of the files, by format.
ENDINGS = {
    "stablehlo": ".stablehlo",
    "onnx": ".onnx",
    "safetensors": ".safetensors",
    "npz": ".npz",
    "params": ".params",
}
#: The formats that hold a network, and not parameters alone.
NETWORK_FORMS = ("stablehlo", "onnx")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The file that was written, its format, its size in bytes, and how it differs from ours."""

    path: str
    form: str
    size: int
    comparison: Comparison


def export_checkpoint(
    symbol: str | os.PathLike[str] | None,
    params: str | os.PathLike[str],
    form: str,
    output: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    *,
    batch: BatchSize = "free",
    platforms: Sequence[str] = PLATFORMS,
    opset: int = OPSET,
) -> ExportReport:
    """Writes a checkpoint as ``stablehlo``, ``onnx``, ``safetensors``, ``npz`` or ``params``.

    symbol, params
        the symbol file (None for parameters alone), and ``.params``, ``.safetensors`` or ``.npz``.
    output
        the file to write; by default the parameters' path with the format's ending.
    shapes, batch, platforms
        as for :func:`to_stablehlo`.
    opset
        the version of ONNX's operators.

    Everything is checked before anything is written. Raises the errors of reading, of
    :func:`to_stablehlo`, and ArgumentValueError for an unknown format.
    """
    if form not in ENDINGS:
        hint = "one of: " + ", ".join(ENDINGS)
        raise ArgumentValueError("export", f"unknown format {form!r}", hint=hint)
    if form == "onnx":
        require_onnx()
    if "safetensors" in (form, os.fspath(params).rpartition(".")[2]):
        files.require_safetensors()
    check_platforms(platforms)
    if batch != "free" and batch < 1:
        raise ArgumentValueError("export", f"batch={batch}, expected 'free' or a number")
    stem = re.sub(r"\.(params|safetensors|npz)$", "", os.fspath(params))
    path = os.fspath(output) if output is not None else stem + ENDINGS[form]
    for source in (symbol, params):
        if source is not None and os.path.exists(path) and os.path.samefile(path, source):
            problem = "it would be written over the file that is exported"
            raise ArgumentValueError(path, problem, hint="another --output")
    arrays = files.read_parameters(params)
    if form not in NETWORK_FORMS:
        files.write_parameters(path, arrays, form)
        with files.open_parameters(path) as written:
            comparison = Comparison.of("array", arrays, written)
    elif symbol is None:
        problem = "a network is exported, and no symbol file is given"
        raise ArgumentValueError(f"export to {form}", problem)
    else:
        network = InferenceNetwork.of(load_symbol(symbol), arrays, shapes)
        if form == "stablehlo":
            comparison = export_network(path, network, batch, platforms)
        else:
            comparison = _export_onnx(path, network, batch, opset)
    return ExportReport(path, form, os.path.getsize(path), comparison)


def _export_onnx(path: str, network: InferenceNetwork, batch: BatchSize, opset: int) -> Comparison:
    shapes = network.sizes(None if batch == "free" else batch)
    free = network.sizes("batch") if batch == "free" else None
    model = to_onnx(
        network.symbol, network.parameters, shapes, network.dtypes, free=free, opset_version=opset
    )
    save_model(model, path)
    inputs = network.random_inputs(FREE_BATCH if batch == "free" else batch)
    results, _, _ = run_model(path, inputs)
    return Comparison.of(
        "output", network.run(inputs), dict(zip(network.output_names, results, strict=True))
    )
