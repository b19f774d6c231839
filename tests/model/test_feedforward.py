"""FeedForward trains, predicts and scores as MXNet's does."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.training_tools import compare, names

pytestmark = pytest.mark.filterwarnings("ignore:FeedForward is deprecated:DeprecationWarning")


@pytest.mark.parametrize("name", names("feedforward"))
def test_script_gives_mxnets_answers(name):
    compare(name)


@pytest.fixture
def net() -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


@pytest.fixture
def data() -> Any:
    examples = np.random.randn(24, 5).astype(np.float32)
    return examples, examples[:, :3].argmax(axis=1)


def test_it_says_that_it_is_old(net):
    with pytest.warns(DeprecationWarning, match=r"use mod\.Module instead") as caught:
        mx.model.FeedForward(net)
    assert caught[0].filename == __file__


def test_signatures_are_mxnets():
    both = (
        "num_epoch epoch_size optimizer initializer numpy_batch_size arg_params aux_params "
        "allow_extra_params begin_epoch"
    )
    calls = (
        "epoch_end_callback batch_end_callback kvstore logger work_load_list {}eval_end_callback "
        "eval_batch_end_callback"
    )
    for function, expected in {
        "__init__": f"self symbol ctx {both} kwargs",
        "fit": f"self X y eval_data eval_metric {calls.format('monitor ')}",
        "predict": "self X num_batch return_data reset",
        "score": "self X eval_metric num_batch batch_end_callback reset",
        "save": "self prefix epoch remove_amp_cast",
        "load": "prefix epoch ctx kwargs",
        "create": "symbol X y ctx num_epoch epoch_size optimizer initializer eval_data "
        f"eval_metric {calls.format('')} kwargs",
    }.items():
        parameters = inspect.signature(getattr(mx.model.FeedForward, function)).parameters
        assert " ".join(parameters) == expected, function


def test_training_learns_and_compiles_in_its_first_batches(net, data):
    counts = []

    def count(param: Any) -> None:
        (executor,) = param.locals["executor_manager"].execgrp.train_execs
        mx.nd.waitall()
        counts.append(executor.program.traces)

    np.random.seed(1)
    model = mx.model.FeedForward(net, num_epoch=30, learning_rate=1.0, numpy_batch_size=8)
    model.fit(*data, batch_end_callback=count)
    examples, labels = data
    assert model.score(mx.io.NDArrayIter(examples, labels, 8)) > 0.9
    assert set(counts[2:]) == {counts[2]}


def test_predictions_use_the_parameters_as_they_are(net, data):
    """MXNet's keep those of the first prediction until a batch has another shape."""
    model = mx.model.FeedForward(net, num_epoch=1, learning_rate=1.0)
    model.fit(*data)
    before = model.predict(data[0])
    model.fit(*data)
    assert np.abs(model.predict(data[0]) - before).max() > 1e-3


def test_a_monitor_sees_training_batches(net, data, caplog):
    shapes = []
    monitor = mx.mon.Monitor(
        2, pattern="fc_output", stat_func=lambda x: shapes.append(x.shape) or x
    )
    model = mx.model.FeedForward(net, num_epoch=1, numpy_batch_size=8)
    model.fit(*data, monitor=monitor)
    assert shapes == [(8, 3), (8, 3)]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m, x, y: m.fit(x), "y: no labels are given, X is an array"),
        (lambda m, x, y: m.fit(x, y[:3]), "y: 3 labels for 24 examples"),
        (lambda m, x, y: m.fit(x, x), "y: shape (24, 5), expected (24,)"),
        (lambda m, x, y: m.fit([1]), "X: a list, expected a DataIter, an NDArray or a NumPy array"),
        (
            lambda m, x, y: m.fit(x, y, eval_data=x),
            "eval_data: a ndarray, expected a DataIter or a pair (data, labels)",
        ),
        (lambda m, x, y: m.predict(x), "predict: arg_params is None\n  try: fit first"),
        (lambda m, x, y: m.save("unwritten"), "save: arg_params is None"),
    ],
)
def test_messages(net, data, action, message):
    model = mx.model.FeedForward(net, num_epoch=1)
    with pytest.raises(mx.MXNetError) as caught:
        action(model, *data)
    assert str(caught.value) == message


def test_the_number_of_epochs_is_required(net, data):
    model = mx.model.FeedForward(net)
    with pytest.raises(TypeError, match="fit: num_epoch is None, expected a number"):
        model.fit(*data)
    assert model.arg_params is None
