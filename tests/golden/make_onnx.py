"""Asks the real MXNet 1.9.1 for the operators that it exports to ONNX, and for signatures.

    python tests/golden/make_onnx.py

Runs under MXNet's environment (see ``make.py``) with the package ``onnx`` (1.14) beside it.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import mxnet as mx
import mxnet.onnx
from mxnet.contrib import onnx as contrib

ANSWERS = Path(__file__).parent / "data" / "onnx.json"


def main() -> None:
    """Writes the answers."""
    functions = {
        "onnx.export_model": mx.onnx.export_model,
        "contrib.onnx.get_model_metadata": contrib.get_model_metadata_,
        "contrib.onnx.import_model": contrib.import_model_,
        "contrib.onnx.import_to_gluon": contrib.import_to_gluon_,
    }
    answers = {
        "operators": sorted(mx.onnx.get_operator_support(13)),
        "parameters": {n: list(inspect.signature(f).parameters) for n, f in functions.items()},
    }
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
