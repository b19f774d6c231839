"""``mx.contrib.onnx``: ONNX models, written and read (the functions of ``mx.onnx``)."""

import os
from typing import Any

from ...gluon import SymbolBlock
from ...onnx import (
    export_model as export_model,
    get_model_metadata as get_model_metadata,
    import_model as import_model,
)
from ...symbol import Variable
from . import onnx2mx as onnx2mx


def import_to_gluon(model_file: str | os.PathLike[str], ctx: Any) -> SymbolBlock:
    """Returns the block of a model, with its parameters on one context or a list of them; inputs
    are in the model's order. Raises as :func:`import_model` does."""
    output, arguments, states = import_model(model_file)
    names = set(output.list_arguments())
    inputs = [name for name, _ in get_model_metadata(model_file)["input_tensor_data"]]
    block = SymbolBlock(output, [Variable(name) for name in inputs if name in names])
    block.collect_params().load_dict(
        {**arguments, **states}, ctx, cast_dtype=True, dtype_source="saved"
    )
    return block
