"""``mx.metric``: agreement of predictions and labels over many batches.

Metrics accumulate on the device of the predictions, by one small compiled program for each of the
first shapes that a metric sees; nothing is copied to the host until a value is read. NumPy measures
small predictions on a CPU, larger ones of further shapes there, and arrays of NumPy. A list of
pairs compiles nothing for its length. Sums are in float64. ``ClassAxisError`` is a former name of
``MetricShapeError``.
"""

from typing import TYPE_CHECKING

from ..errors import MetricShapeError, MetricValueError
from ..errors import MetricShapeError as ClassAxisError
from ..unserved import attribute_getter as _attribute_getter
from ._accuracy import Accuracy, TopKAccuracy
from ._binary import F1, MCC
from ._composite import CompositeEvalMetric, create
from ._correlation import PCC, PearsonCorrelation
from ._custom import CustomMetric, np
from ._eval_metric import EvalMetric, alias, check_label_shapes, register
from ._likelihood import CrossEntropy, NegativeLogLikelihood, Perplexity
from ._loss import Caffe, Loss, Torch
from ._regression import MAE, MSE, RMSE

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "ClassAxisError",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "MetricShapeError",
    "MetricValueError",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__, lambda: __all__)
