"""``mx.contrib``: 8-bit networks, vectors of words, SVRG, TensorBoard, ONNX, and the older place
of the operators in ``mx.sym.contrib`` and ``mx.nd.contrib``.

    anchors = mx.contrib.sym.MultiBoxPrior(features, sizes=(0.2, 0.3))

``contrib.symbol`` (``sym``) and ``contrib.ndarray`` (``nd``) hold the same operators.
"""

from __future__ import annotations

from typing import NoReturn

from ..errors import MissingDependencyError, explain
from ..unserved import ELSEWHERE, absent_attribute
from . import io, ndarray, onnx, quantization, svrg_optimization, symbol, tensorboard, text
from . import ndarray as nd
from . import quantization as quant
from . import symbol as sym

__all__ = [
    "io",
    "nd",
    "ndarray",
    "onnx",
    "quant",
    "quantization",
    "svrg_optimization",
    "sym",
    "symbol",
    "tensorboard",
    "text",
]


def __getattr__(name: str) -> NoReturn:
    hint = ELSEWHERE.get(f"contrib.{name}")
    if hint is None:
        raise AttributeError(absent_attribute(__name__, name, __all__))
    raise MissingDependencyError(f"contrib.{name}", "it is not part of executorkit", hint=hint)
