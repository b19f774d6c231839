"""``mx.gluon.loss``: losses as blocks, one number per sample.

Most losses compute a value per element, weigh it, and take the mean over all axes but the batch's.
``weight`` is a number for all values, or None; ``sample_weight`` is an array that broadcasts
against them: (N, 1) for predictions of shape (N, C). Labels have as many elements as predictions,
in any shape, unless a loss says otherwise: (N,) goes with (N, 1). All arrays have one dtype.
Exported graphs have the operators and names of MXNet's losses.

>>> import executorkit as mx
>>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
>>> loss(mx.nd.array([[1.0, 2.0], [3.0, 0.0]]), mx.nd.array([1, 0])).asnumpy().round(3)
array([0.313, 0.049], dtype=float32)
"""

import math
from typing import Any, Unpack

from ..base import numeric_types
from ..errors import ArgumentValueError, NotSupportedError, ShapeError
from ._block import BlockOptions
from ._hybrid_block import HybridBlock
from ._types import Ops, Tensor

#: Number that keeps logarithms and quotients of probabilities and norms finite.
_EPSILON = 1e-12


def _apply_weighting(
    F: Ops, loss: Tensor, weight: Tensor = None, sample_weight: Tensor = None
) -> Tensor:
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is None:
        return loss
    if not isinstance(weight, numeric_types):
        problem = f"weight is {type(weight).__name__}, not a number"
        hint = "arrays are sample_weight, an argument of the call"
        raise ArgumentValueError("Loss", problem, hint=hint)
    return loss * weight


def _reshape_like(F: Ops, x: Tensor, y: Tensor) -> Tensor:
    return F.reshape_like(x, y)


def _log1p_exp_of_minus_abs(F: Ops, x: Tensor) -> Tensor:
    return F.Activation(-F.abs(x), act_type="softrelu")


class Loss(HybridBlock):
    """Base class of losses, whose subclasses define ``hybrid_forward``. All values are multiplied
    by ``weight`` unless it is None; ``batch_axis`` is not averaged."""

    def __init__(
        self, weight: float | None, batch_axis: int, **kwargs: Unpack[BlockOptions]
    ) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def hybrid_forward(self, F: Ops, x: Tensor, *args: Tensor, **kwargs: Any) -> Tensor:
        problem = f"{type(self).__name__} has no hybrid_forward"
        raise NotSupportedError("Loss", problem, hint="define hybrid_forward(self, F, pred, label)")

    def _mean(self, F: Ops, values: Tensor) -> Tensor:
        return F.mean(values, axis=self._batch_axis, exclude=True)


class _ElementwiseLoss(Loss):
    def hybrid_forward(
        self, F: Ops, pred: Tensor, label: Tensor, sample_weight: Tensor = None
    ) -> Tensor:
        values = self._values(F, pred, label)
        return self._mean(F, _apply_weighting(F, values, self._weight, sample_weight))

    def _values(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        raise NotImplementedError


class _DistanceLoss(_ElementwiseLoss):
    def _values(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        return self._of_difference(F, _reshape_like(F, label, pred) - pred)

    def _of_difference(self, F: Ops, difference: Tensor) -> Tensor:
        raise NotImplementedError


class L2Loss(_DistanceLoss):
    """Half the squared difference, ``weight / 2 * (label - pred)**2``: the mean per sample. Raises
    TypeError at the call if ``weight`` is None."""

    def __init__(
        self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Unpack[BlockOptions]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(
        self, F: Ops, pred: Tensor, label: Tensor, sample_weight: Tensor = None
    ) -> Tensor:
        values = self._values(F, pred, label)
        half: Any = self._weight
        return self._mean(F, _apply_weighting(F, values, half / 2, sample_weight))

    def _of_difference(self, F: Ops, difference: Tensor) -> Tensor:
        return F.square(difference)


class L1Loss(_DistanceLoss):
    """Absolute difference, ``|label - pred|``: the mean per sample."""

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[BlockOptions]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def _of_difference(self, F: Ops, difference: Tensor) -> Tensor:
        return F.abs(difference)


class HuberLoss(_DistanceLoss):
    """Smooth L1 loss: the mean per sample. With ``d = |label - pred|``: ``d**2 / (2 * rho)`` up to
    ``rho``, ``d - rho / 2`` above. Huber, "Robust Estimation of a Location Parameter", 1964."""

    def __init__(
        self,
        rho: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def _of_difference(self, F: Ops, difference: Tensor) -> Tensor:
        distance, rho = F.abs(difference), self._rho
        return F.where(
            distance > rho, distance - 0.5 * rho, (0.5 / rho) * F.square(distance)
        )  # fmt: skip


class _MarginLoss(_ElementwiseLoss):
    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _shortfall(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        return F.relu(self._margin - pred * _reshape_like(F, label, pred))


class HingeLoss(_MarginLoss):
    """Hinge loss, ``max(0, margin - pred * label)`` for labels -1 and 1: the mean per sample."""

    def _values(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        return self._shortfall(F, pred, label)


class SquaredHingeLoss(_MarginLoss):
    """Squared hinge loss, the square of :class:`HingeLoss`'s values: the mean per sample."""

    def _values(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        return F.square(self._shortfall(F, pred, label))


class LogisticLoss(_ElementwiseLoss):
    """Logistic loss, ``log(1 + exp(-pred * label))``: the mean per sample. With ``label_format``
    ``"signed"`` labels are -1 and 1, with ``"binary"`` 0 and 1; raises ValueError
    (ArgumentValueError) for others."""

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            problem = f"label_format is {label_format!r}"
            raise ArgumentValueError("LogisticLoss", problem, hint="'signed' or 'binary'")
        self._label_format = label_format

    def _values(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        positive = F.relu(pred)
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return positive - pred * label + _log1p_exp_of_minus_abs(F, pred)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of independent binary labels: the mean per sample.

    With ``p = sigmoid(pred)``: ``-(pos_weight * label * log(p) + (1 - label) * log(1 - p))``,
    computed without overflow. With ``from_sigmoid``, ``pred`` holds the probabilities ``p``, and
    1e-12 is added to ``p`` and ``1 - p``.

    Call: ``loss(pred, label, sample_weight, pos_weight)``; ``pos_weight``, the weights of positive
    labels, broadcasts against ``label``.
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Ops,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor = None,
        pos_weight: Tensor = None,
    ) -> Tensor:
        if self._from_sigmoid:
            values = self._of_probabilities(F, pred, _reshape_like(F, label, pred), pos_weight)
        else:
            values = self._of_logits(F, pred, label, pos_weight)
        return self._mean(F, _apply_weighting(F, values, self._weight, sample_weight))

    @staticmethod
    def _of_probabilities(F: Ops, pred: Tensor, label: Tensor, pos_weight: Tensor) -> Tensor:
        positive = F.log(pred + _EPSILON) * label
        if pos_weight is not None:
            positive = F.broadcast_mul(positive, pos_weight)
        return -(positive + F.log(1.0 - pred + _EPSILON) * (1.0 - label))

    @staticmethod
    def _of_logits(F: Ops, pred: Tensor, label: Tensor, pos_weight: Tensor) -> Tensor:
        if pos_weight is None:
            positive = F.relu(pred)
            label = _reshape_like(F, label, pred)
            return positive - pred * label + _log1p_exp_of_minus_abs(F, pred)
        label = _reshape_like(F, label, pred)
        factor = 1 + F.broadcast_mul(pos_weight - 1, label)
        return pred - pred * label + factor * (_log1p_exp_of_minus_abs(F, pred) + F.relu(-pred))


class SoftmaxCrossEntropyLoss(_ElementwiseLoss):
    """Cross entropy of classes: the mean per sample of ``-log(p)[label]`` with ``p =
    softmax(pred)``, or of ``-sum(label * log(p))`` for labels that are distributions.

    axis
        The axis of classes.
    sparse_label
        Whether labels are indices of classes, in the shape of ``pred`` without the axis (or with
        length 1 there); indices beyond the classes are clipped. Otherwise labels are distributions.
    from_logits
        Whether ``pred`` holds logarithms of probabilities.

    Values have length 1 along the axis, so that ``sample_weight`` of shape (N, 1) fits (N, C).
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def _values(self, F: Ops, pred: Tensor, label: Tensor) -> Tensor:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            return -F.pick(pred, label, axis=self._axis, keepdims=True)
        return -F.sum(pred * _reshape_like(F, label, pred), axis=self._axis, keepdims=True)


class KLDivLoss(Loss):
    """Kullback-Leibler divergence: the sum per sample of ``label * (log(label + 1e-12) - pred)``.
    Unless ``from_logits``, ``log_softmax`` along ``axis`` is applied to ``pred`` first."""

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(
        self, F: Ops, pred: Tensor, label: Tensor, sample_weight: Tensor = None
    ) -> Tensor:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        values = label * (F.log(label + _EPSILON) - pred)
        values = _apply_weighting(F, values, self._weight, sample_weight)
        return F.sum(values, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification: ``-log`` of the probability of a label sequence.

    layout
        ``"NTC"`` or ``"TNC"``: the axes of ``pred`` (batch, time, class, before softmax).
    label_layout
        ``"NT"`` or ``"TN"``: the axes of ``label``.

    Call: ``loss(pred, label, pred_lengths, label_lengths, sample_weight)`` with lengths of shape
    (N,), or None; the result is (N,). The blank is the last class. Without ``label_lengths`` a
    label ends at its first -1. Raises ArgumentValueError (a ValueError and AssertionError) for
    other layouts. Graves et al., "Connectionist Temporal Classification", 2006.
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        for name, value, layouts in (
            ("layout", layout, ("NTC", "TNC")),
            ("label_layout", label_layout, ("NT", "TN")),
        ):
            if value not in layouts:
                hint = " or ".join(map(repr, layouts))
                raise ArgumentValueError("CTCLoss", f"{name} is {value!r}", hint=hint)
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self,
        F: Ops,
        pred: Tensor,
        label: Tensor,
        pred_lengths: Tensor = None,
        label_lengths: Tensor = None,
        sample_weight: Tensor = None,
    ) -> Tensor:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._label_layout == "TN":
            label = F.swapaxes(label, dim1=0, dim2=1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        lengths = {name: length for name, length in lengths.items() if length is not None}
        flags = {f"use_{name}": name in lengths for name in ("data_lengths", "label_lengths")}
        values = F.CTCLoss(pred, label, **lengths, **flags, blank_label="last")
        return _apply_weighting(F, values, self._weight, sample_weight)


class TripletLoss(Loss):
    """Triplet loss, ``max(0, sum((positive - pred)**2 - (negative - pred)**2) + margin)``, summed
    over all axes but the batch's. Call: ``loss(pred, positive, negative)``, without weights."""

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Ops, pred: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        positive = _reshape_like(F, positive, pred)
        negative = _reshape_like(F, negative, pred)
        differences = F.square(positive - pred) - F.square(negative - pred)
        distance = F.sum(differences, axis=self._batch_axis, exclude=True)
        return _apply_weighting(F, F.relu(distance + self._margin), self._weight, None)


class PoissonNLLLoss(Loss):
    """Poisson negative log likelihood, ``exp(pred) - target * pred``: the mean over all axes, (1,).

    from_logits
        False: ``pred`` is the rate, and the loss ``pred - target * log(pred + epsilon)``.
        ``epsilon`` is an argument of the call.
    compute_full
        Whether to add Stirling's approximation of ``log(target!)`` for targets above 1; it is NaN
        for a target of 0, as in MXNet. Works hybridized, too, where MXNet raises an error.
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self,
        F: Ops,
        pred: Tensor,
        target: Tensor,
        sample_weight: Tensor = None,
        epsilon: float = 1e-08,
    ) -> Tensor:
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            values = F.exp(pred) - target * pred
        else:
            values = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            values = values + stirling * (target > 1)
        return _apply_weighting(F, values, self._weight, sample_weight).mean()


class CosineEmbeddingLoss(Loss):
    """Cosine distance, of shape (N, 1), with ``c = cos(input1, input2)`` along the last axis: ``1 -
    c`` for label 1, ``max(0, c - margin)`` for label -1. Call: ``loss(input1, input2, label,
    sample_weight)``; float32."""

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        margin: float = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Ops, input1: Tensor, input2: Tensor, label: Tensor, sample_weight: Tensor = None
    ) -> Tensor:
        input1 = _reshape_like(F, input1, input2)
        label = label.reshape((-1, 1))
        cosine = self._cosine_similarity(F, input1, input2)
        alike = (1 - cosine) * (label == 1)
        excess = (label == -1) * (cosine - self._margin)
        values = alike + F.broadcast_maximum(F.zeros((1, 1)), excess, axis=1)
        return _apply_weighting(F, values, self._weight, sample_weight)

    @staticmethod
    def _cosine_similarity(F: Ops, x: Tensor, y: Tensor, axis: int = -1) -> Tensor:
        x_norm = F.norm(x, axis=axis).reshape((-1, 1))
        y_norm = F.norm(y, axis=axis).reshape((-1, 1))
        product = F.sum(x * y, axis=axis).reshape((-1, 1))
        return product / F.broadcast_maximum(x_norm * y_norm, F.full((1, 1), _EPSILON))


class SDMLLoss(Loss):
    """Smoothed deep metric learning: the Kullback-Leibler divergence of ``softmax(-|x1[i] -
    x2[j]|**2)`` over ``j`` from smoothed one-hot rows, one number per row. ``smoothing_parameter``
    is the probability spread over the other rows.

    Both inputs are float32 of shape (N, C), N above 1. As in MXNet, ``weight`` and ``batch_axis``
    have no effect, and it cannot be hybridized: symbols have no batch size. Bonadiman et al.,
    "Large Scale Question Paraphrase Retrieval with Smoothed Deep Metric Learning", 2019.
    """

    _is_plain = False  # it reads shapes

    def __init__(
        self,
        smoothing_parameter: float = 0.3,
        weight: float | None = 1.0,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Ops, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
        if len(x1.shape) != 2:
            raise ShapeError("SDMLLoss", f"x1 has shape {x1.shape}, expected (batch, features)")
        rows = x1.shape[0]
        differences = F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))
        distances = F.sum(F.square(differences), axis=2)
        same, smoothing = F.eye(rows), self.smoothing_parameter
        labels = same * (1 - smoothing) + (1 - same) * smoothing / (rows - 1)
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss
