"""``mx.contrib.onnx``: ONNX models, written and read (the functions of ``mx.onnx``)."""

from ..onnx import (
    export_model as export_model,
    get_model_metadata as get_model_metadata,
    import_model as import_model,
    import_to_gluon as import_to_gluon,
)
