"""``mx.contrib``: 8-bit networks, vectors of words, SVRG, TensorBoard, and the older place of the
operators in ``mx.sym.contrib`` and ``mx.nd.contrib``.

    anchors = mx.contrib.sym.MultiBoxPrior(features, sizes=(0.2, 0.3))

``contrib.symbol`` (``sym``) and ``contrib.ndarray`` (``nd``) hold the same operators.
"""

from __future__ import annotations

from typing import NoReturn

from ..errors import MissingDependencyError, explain
from . import io, ndarray, quantization, svrg_optimization, symbol, tensorboard, text
from . import ndarray as nd
from . import quantization as quant
from . import symbol as sym

__all__ = [
    "io",
    "nd",
    "ndarray",
    "quant",
    "quantization",
    "svrg_optimization",
    "sym",
    "symbol",
    "tensorboard",
    "text",
]

#: Parts of MXNet's that are not here, with what to use instead.
_ELSEWHERE = {
    "amp": "compute_dtype='bfloat16' of Module and simple_bind",
    "autograd": "executor.backward(), or jax.grad of a function around symbol.to_jax()",
    "onnx": "mx.model.load_checkpoint, of the files that MXNet writes",
}


def __getattr__(name: str) -> NoReturn:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise MissingDependencyError(
        explain(f"contrib.{name}", "it is not part of executorkit", hint=_ELSEWHERE[name])
    )
