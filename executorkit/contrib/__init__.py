"""``mx.contrib``: mixed precision, 8-bit networks, vectors of words, SVRG, TensorBoard, ONNX, and
the former namespaces of operators: ``contrib.symbol`` (``sym``) is ``mx.sym.contrib``,
``contrib.ndarray`` (``nd``) is ``mx.nd.contrib``."""

from typing import NoReturn

from .._support.unserved import ELSEWHERE, absent_attribute
from ..errors import MissingDependencyError, explain
from . import (
    amp as amp,
    autograd as autograd,
    io as io,
    ndarray as nd,
    ndarray as ndarray,
    onnx as onnx,
    quantization as quant,
    quantization as quantization,
    svrg_optimization as svrg_optimization,
    symbol as sym,
    symbol as symbol,
    tensorboard as tensorboard,
    text as text,
)


def __getattr__(name: str) -> NoReturn:
    hint = ELSEWHERE.get(f"contrib.{name}")
    if hint is None:
        raise AttributeError(absent_attribute(__name__, name))
    raise MissingDependencyError(f"contrib.{name}", "it is not part of executorkit", hint=hint)
