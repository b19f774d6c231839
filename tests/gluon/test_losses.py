"""Losses: closed forms, weights, modes, dtypes, programs and messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd
from executorkit.gluon import loss as losses
from tests.autograd.test_recorded_programs import programs_of

pytestmark = pytest.mark.smoke

_RANDOM = np.random.RandomState(3)
_N, _C = 4, 5
_PRED = _RANDOM.normal(size=(_N, _C))
_TARGET = _RANDOM.normal(size=(_N, _C))
_SIGNS = np.where(_RANDOM.uniform(size=(_N, _C)) < 0.5, -1.0, 1.0)
_BITS = (_SIGNS + 1) / 2
_CLASSES = np.array([0.0, 4.0, 2.0, 2.0])
_ROWS = _RANDOM.dirichlet(np.ones(_C), _N)
_COUNTS = np.floor(_RANDOM.uniform(2, 9, (_N, _C)))
_WEIGHTS = np.array([[0.0], [1.0], [2.0], [0.5]])


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _huber(d: np.ndarray, rho: float) -> np.ndarray:
    return np.where(abs(d) <= rho, d * d / (2 * rho), abs(d) - rho / 2)


def _stirling(t: np.ndarray) -> np.ndarray:
    return t * np.log(t) - t + np.log(2 * np.pi * t) / 2


#: Losses by element: the loss, its inputs, the values in float64.
ELEMENTWISE: dict[str, tuple[Callable[..., Any], Sequence[np.ndarray], np.ndarray]] = {
    "l2": (losses.L2Loss, [_PRED, _TARGET], (_PRED - _TARGET) ** 2 / 2),
    "l1": (losses.L1Loss, [_PRED, _TARGET], abs(_PRED - _TARGET)),
    "huber": (losses.HuberLoss, [_PRED, _TARGET], _huber(_PRED - _TARGET, 1)),
    "hinge": (losses.HingeLoss, [_PRED, _SIGNS], np.maximum(0, 1 - _PRED * _SIGNS)),
    "squared hinge": (
        losses.SquaredHingeLoss,
        [_PRED, _SIGNS],
        np.maximum(0, 1 - _PRED * _SIGNS) ** 2,
    ),
    "logistic": (losses.LogisticLoss, [_PRED, _SIGNS], np.log1p(np.exp(-_PRED * _SIGNS))),
    "sigmoid": (
        losses.SigmoidBinaryCrossEntropyLoss,
        [_PRED, _BITS],
        -np.log(_sigmoid(_PRED * _SIGNS)),
    ),
    "softmax": (
        losses.SoftmaxCrossEntropyLoss,
        [_PRED, _CLASSES],
        -np.log(_softmax(_PRED))[np.arange(_N), _CLASSES.astype(int)][:, None],
    ),
}
_IDS = list(ELEMENTWISE)


def _arrays(values: Sequence[np.ndarray], dtype: str = "float64") -> list[Any]:
    return [nd.array(v, dtype=dtype) for v in values]


def _value_and_gradient(
    loss: Any, inputs: Sequence[np.ndarray], dtype: str = "float64"
) -> list[np.ndarray]:
    pred, *constants = _arrays(inputs, dtype)
    pred.attach_grad()
    with autograd.record():
        value = loss(pred, *constants)
    value.backward()
    return [value.asnumpy(), pred.grad.asnumpy()]


@pytest.mark.parametrize("name", _IDS)
def test_closed_form(name):
    kind, inputs, values = ELEMENTWISE[name]
    np.testing.assert_allclose(kind()(*_arrays(inputs)).asnumpy(), values.mean(1), rtol=1e-7)


@pytest.mark.parametrize("name", _IDS)
def test_weights_scale_values(name):
    """``weight`` for all, ``sample_weight`` by sample; with a weight of 0 a sample is absent."""
    kind, inputs, values = ELEMENTWISE[name]
    weighted = kind(weight=3.0)(*_arrays([*inputs, _WEIGHTS])).asnumpy()
    np.testing.assert_allclose(weighted, 3 * (values * _WEIGHTS).mean(1), rtol=1e-7)
    _, gradient = _value_and_gradient(kind(), [*inputs, _WEIGHTS])
    assert not gradient[0].any()
    _, part = _value_and_gradient(kind(), [v[1:] for v in (*inputs, _WEIGHTS)])
    np.testing.assert_array_equal(gradient[1:], part)


@pytest.mark.parametrize("name", [n for n in _IDS if n != "softmax"])
def test_batch_axis(name):
    kind, inputs, values = ELEMENTWISE[name]
    turned = kind(batch_axis=1)(*_arrays([v.T for v in inputs])).asnumpy()
    np.testing.assert_allclose(turned, values.mean(1), rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", _IDS)
def test_hybridized_as_plain_to_the_last_bit(name, dtype):
    kind, inputs, _ = ELEMENTWISE[name]
    plain, hybridized = kind(), kind()
    hybridized.hybridize()
    expected = _value_and_gradient(plain, inputs, dtype)
    for _ in range(3):
        seen = _value_and_gradient(hybridized, inputs, dtype)
        for ours, theirs in zip(seen, expected, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", _IDS)
def test_gradient_is_that_of_differences(name):
    kind, inputs, _ = ELEMENTWISE[name]
    pred, *constants = inputs
    _, gradient = _value_and_gradient(kind(), inputs)
    step = 1e-6 * _RANDOM.normal(size=pred.shape)
    ends = [kind()(*_arrays([p, *constants])).sum().asscalar() for p in (pred - step, pred + step)]
    np.testing.assert_allclose((2 * step * gradient).sum(), ends[1] - ends[0], rtol=1e-4)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("hybridized", [False, True])
def test_loss_and_its_gradient_are_one_program(hybridized):
    loss = losses.SoftmaxCrossEntropyLoss()
    loss.hybridize(hybridized)
    pred, label = _arrays([_PRED, _CLASSES], "float32")
    pred.attach_grad()

    def step() -> None:
        with autograd.record():
            value = loss(pred, label)
        value.backward()
        pred.grad.wait_to_read()
        value.wait_to_read()

    for _ in range(40):
        step()
    assert programs_of(step) == (1, 0)


def test_labels_that_are_distributions():
    loss = losses.SoftmaxCrossEntropyLoss(sparse_label=False)
    expected = -(_ROWS * np.log(_softmax(_PRED))).mean(1) * _C
    np.testing.assert_allclose(loss(*_arrays([_PRED, _ROWS])).asnumpy(), expected, rtol=1e-7)
    logits = losses.SoftmaxCrossEntropyLoss(sparse_label=False, from_logits=True)
    seen = logits(*_arrays([np.log(_softmax(_PRED)), _ROWS])).asnumpy()
    np.testing.assert_allclose(seen, expected, rtol=1e-7)


def test_divergence_is_summed_per_sample():
    expected = (_ROWS * (np.log(_ROWS) - np.log(_softmax(_PRED)))).sum(1)
    seen = losses.KLDivLoss(from_logits=False)(*_arrays([_PRED, _ROWS])).asnumpy()
    np.testing.assert_allclose(seen, expected, rtol=1e-7)
    seen = losses.KLDivLoss()(*_arrays([np.log(_softmax(_PRED)), _ROWS])).asnumpy()
    np.testing.assert_allclose(seen, expected, rtol=1e-7)


@pytest.mark.parametrize("from_sigmoid", [False, True])
def test_weights_of_positive_labels(from_sigmoid):
    p, positive = _sigmoid(_PRED), np.array([[1.0, 2.0, 0.5, 3.0, 1.0]])
    values = -(positive * _BITS * np.log(p) + (1 - _BITS) * np.log(1 - p))
    inputs = _arrays([p if from_sigmoid else _PRED, _BITS, np.ones((_N, 1)), positive])
    seen = losses.SigmoidBCELoss(from_sigmoid)(*inputs).asnumpy()
    np.testing.assert_allclose(seen, values.mean(1), rtol=1e-7)


@pytest.mark.parametrize("kind", [losses.SigmoidBCELoss, losses.LogisticLoss])
def test_large_predictions_do_not_overflow(kind):
    inputs = [np.array([[-1e4, 1e4], [1e4, -1e4]]), np.array([[1.0, 1.0], [1.0, 1.0]])]
    value, gradient = _value_and_gradient(kind(), inputs, "float32")
    np.testing.assert_array_equal(value, [5e3, 5e3])
    np.testing.assert_array_equal(gradient, [[-0.5, 0], [0, -0.5]])


def test_triplets():
    near, far = _PRED + 0.1, _TARGET
    distance = ((_PRED - near) ** 2 - (_PRED - far) ** 2).sum(1)
    for margin in (1, 20):
        seen = losses.TripletLoss(margin=margin, weight=0.5)(*_arrays([_PRED, near, far]))
        expected = np.maximum(0, distance + margin) / 2
        np.testing.assert_allclose(seen.asnumpy(), expected, rtol=1e-7)


def test_cosine_embedding():
    norms = np.linalg.norm(_PRED, axis=1) * np.linalg.norm(_TARGET, axis=1)
    cosine = (_PRED * _TARGET).sum(1) / norms
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    seen = losses.CosineEmbeddingLoss(margin=-0.5)(*_arrays([_PRED, _TARGET, signs], "float32"))
    expected = np.where(signs == 1, 1 - cosine, np.maximum(0, cosine + 0.5))
    np.testing.assert_allclose(seen.asnumpy(), expected[:, None], rtol=1e-5)


def test_smoothed_deep_metric_learning():
    distances = ((_PRED[:, None] - _TARGET) ** 2).sum(-1)
    labels = np.eye(_N) * 0.9 + (1 - np.eye(_N)) * 0.1 / (_N - 1)
    expected = (labels * (np.log(labels) - np.log(_softmax(-distances)))).sum(1)
    seen = losses.SDMLLoss(smoothing_parameter=0.1)(*_arrays([_PRED, _TARGET], "float32"))
    np.testing.assert_allclose(seen.asnumpy(), expected, rtol=1e-5)


def test_ctc_of_one_frame_is_a_softmax():
    """The only path of one label through one frame is the label itself."""
    logits = _PRED[:, None]
    labels = np.array([[0.0], [3.0], [2.0], [2.0]])
    expected = -np.log(_softmax(_PRED))[np.arange(_N), labels[:, 0].astype(int)]
    for layout, turned in (("NTC", logits), ("TNC", logits.transpose(1, 0, 2))):
        for label_layout, label in (("NT", labels), ("TN", labels.T)):
            seen = losses.CTCLoss(layout, label_layout)(*_arrays([turned, label], "float32"))
            np.testing.assert_allclose(seen.asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", ["plain", "hybridized", "symbols"])
def test_full_poisson_loss(mode):
    """Also while recording, hybridized and on symbols, where MXNet refuses it."""
    loss = losses.PoissonNLLLoss(compute_full=True)
    expected = (np.exp(_PRED) - _COUNTS * _PRED + _stirling(_COUNTS)).mean()
    gradient = (np.exp(_PRED) - _COUNTS) / _PRED.size
    if mode == "symbols":
        symbol = loss(mx.sym.var("p"), mx.sym.var("t"))
        inputs = dict(zip("pt", _arrays([_PRED, _COUNTS], "float32"), strict=True))
        grad = nd.zeros((_N, _C))
        executor = symbol.bind(mx.cpu(), inputs, args_grad={"p": grad})
        value = executor.forward(is_train=True)[0].asnumpy()
        executor.backward(nd.ones((1,)))
        seen = [value, grad.asnumpy()]
    else:
        loss.hybridize(mode == "hybridized")
        seen = _value_and_gradient(loss, [_PRED, _COUNTS], "float32")
    np.testing.assert_allclose(seen[0], [expected], rtol=1e-5)
    np.testing.assert_allclose(seen[1], gradient, rtol=1e-4, atol=1e-6)


def test_loss_of_a_recorded_label():
    """A label that is computed under ``record`` is one input more that has a gradient."""
    pred, label = _arrays([_PRED, _TARGET])
    for array in (pred, label):
        array.attach_grad()
    with autograd.record():
        value = losses.L2Loss()(pred * 2, label * 3)
    value.backward()
    np.testing.assert_allclose(pred.grad.asnumpy() * 3, label.grad.asnumpy() * -2, rtol=1e-12)


def test_texts():
    assert repr(losses.SigmoidBCELoss(weight=2)) == (
        "SigmoidBinaryCrossEntropyLoss(batch_axis=0, w=2)"
    )
    assert repr(losses.CTCLoss(label_layout="TN")) == "CTCLoss(batch_axis=1, w=None)"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            lambda: losses.LogisticLoss(label_format="bits"),
            "LogisticLoss: label_format is 'bits'\n  try: 'signed' or 'binary'",
        ),
        (lambda: losses.CTCLoss(layout="NCT"), "CTCLoss: layout is 'NCT'\n  try: 'NTC' or 'TNC'"),
        (
            lambda: losses.L1Loss(*_arrays([_WEIGHTS]))(nd.ones((2, 3)), nd.ones((2, 3))),
            "Loss: weight is NDArray, not a number\n"
            "  try: arrays are sample_weight, an argument of the call",
        ),
        (
            lambda: losses.SDMLLoss()(nd.ones((2, 3, 1)), nd.ones((2, 3, 1))),
            "SDMLLoss: x1 has shape (2, 3, 1), expected (batch, features)",
        ),
        (
            lambda: losses.Loss(None, 0)(nd.ones((2,))),
            "Loss: Loss has no hybrid_forward\n  try: define hybrid_forward(self, F, pred, label)",
        ),
    ],
)
def test_messages(action, message):
    with pytest.raises(mx.base.MXNetError) as error:
        action()
    assert str(error.value) == message
