"""``mx.metric``: agreement of predictions and labels over many batches.

Metrics accumulate on the device of the predictions, by one small compiled program for each of the
first shapes that a metric sees; nothing is copied to the host until a value is read. NumPy measures
small predictions on a CPU, larger ones of further shapes there, and arrays of NumPy. A list of
pairs compiles nothing for its length. Sums are in float64.
"""

from typing import TYPE_CHECKING

from .. import ndarray as ndarray
from .._support.unserved import attribute_getter as _attribute_getter
from ..errors import MetricShapeError as MetricShapeError, MetricValueError as MetricValueError
from ._accuracy import Accuracy as Accuracy, TopKAccuracy as TopKAccuracy
from ._binary import F1 as F1, MCC as MCC
from ._composite import CompositeEvalMetric as CompositeEvalMetric, create as create
from ._correlation import PCC as PCC, PearsonCorrelation as PearsonCorrelation
from ._custom import CustomMetric as CustomMetric, np as np
from ._eval_metric import (
    EvalMetric as EvalMetric,
    alias as alias,
    check_label_shapes as check_label_shapes,
    register as register,
)
from ._likelihood import (
    Caffe as Caffe,
    CrossEntropy as CrossEntropy,
    Loss as Loss,
    NegativeLogLikelihood as NegativeLogLikelihood,
    Perplexity as Perplexity,
    Torch as Torch,
)
from ._regression import MAE as MAE, MSE as MSE, RMSE as RMSE

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
