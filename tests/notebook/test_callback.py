"""Training is recorded and drawn while it runs: in data frames, in a notebook, in a terminal."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.notebook import callback as _curve, callback as _frames
from executorkit.notebook.callback import (
    LiveLearningCurve,
    MissingDependencyError,
    PandasLogger,
    args_wrapper,
)
from tests.display._html import checked, drawn_texts

pytestmark = pytest.mark.notebook

Batch = mx.model.BatchEndParam


class Clock:
    """A clock that goes on by itself."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 100.0, step

    def time(self) -> float:
        self.now += self.step
        return self.now


def _param(epoch: int, nbatch: int, value: float | None, name: str = "accuracy") -> Any:
    metric = None
    if value is not None:
        metric = mx.metric.Loss(name)
        metric.update(None, [mx.nd.array([value])])
    return Batch(epoch, nbatch, metric, {})


def test_signatures_are_mxnets():
    for function, expected in {
        PandasLogger: "batch_size frequent",
        LiveLearningCurve: "metric_name display_freq frequent",
        args_wrapper: "args",
        PandasLogger.append_metrics: "self metrics df_name",
    }.items():
        assert " ".join(inspect.signature(function).parameters) == expected


def _values(curve: LiveLearningCurve, name: str) -> list[float]:
    return [y for c in curve.curves().curves if c.name == name for _, y in c.points]


class TestPandasLogger:
    @pytest.fixture(autouse=True)
    def _needs_pandas(self) -> None:
        pytest.importorskip("pandas")

    def test_frames(self, monkeypatch):
        monkeypatch.setattr(_frames, "time", Clock(2.0))
        logger = PandasLogger(batch_size=16, frequent=4)
        assert logger.train_df.empty
        params = [_param(0, n, 0.25 * n) for n in range(6)]
        for param in params:
            logger.train_cb(param)
        logger.eval_cb(_param(0, 6, 0.5))
        logger.epoch_cb(0, None, {}, {})
        logger.train_cb(_param(1, 0, None))
        train = logger.train_df
        assert list(train.columns) == [
            "accuracy", "batches_per_sec", "records_per_sec", "elapsed", "minibatch_count", "epoch",
        ]  # fmt: skip
        assert train["accuracy"].tolist()[:2] == [0, 1]
        assert np.isnan(train["accuracy"].iloc[2])
        assert train["batches_per_sec"].tolist() == [2, 2, 2]
        assert train["records_per_sec"].tolist() == [32, 32, 32]
        assert train["minibatch_count"].tolist() == [0, 4, 0]
        assert train["epoch"].tolist() == [0, 0, 1]
        assert logger.eval_df["accuracy"].tolist() == [0.5]
        assert list(logger.epoch_df.columns) == ["elapsed", "epoch_time"]
        assert logger.epoch_df["epoch_time"].iloc[0].total_seconds() >= 0
        assert set(logger.all_dataframes) == {"train", "eval", "epoch"}
        assert np.isnan(params[0].eval_metric.get()[1])
        assert params[1].eval_metric.get()[1] == 0.25

    def test_new_metrics_are_new_columns(self):
        logger = PandasLogger(batch_size=1)
        logger.append_metrics({"a": 1}, "train")
        assert list(logger.train_df.columns) == ["a"]
        logger.append_metrics({"b": 2}, "train")
        assert list(logger.train_df.columns) == ["a", "b"]
        assert len(logger.train_df) == 2

    def test_fit_fills_the_frames(self):
        data = np.random.randn(12, 3)
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        batches = mx.io.NDArrayIter(data, data[:, 0] > 0, 4)
        logger, curve = PandasLogger(4, frequent=1), LiveLearningCurve("accuracy", 1e9, 1)
        module.fit(batches, eval_data=batches, num_epoch=2, **args_wrapper(logger, curve))
        assert (len(logger.train_df), len(logger.eval_df), len(logger.epoch_df)) == (6, 2, 2)
        assert logger.train_df["accuracy"].between(0, 1).all()


def test_missing_pandas_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError) as caught:
        PandasLogger(4)
    assert isinstance(caught.value, ImportError)
    assert str(caught.value) == (
        "PandasLogger: pandas is not installed\n"
        "  try: pip install pandas, or LiveLearningCurve, which needs none"
    )


def test_curve_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(_curve, "time", Clock(1.0))
    curve = LiveLearningCurve("accuracy", display_freq=3, frequent=2)
    for nbatch in range(4):
        curve.batch_cb(_param(0, nbatch, 0.1 * nbatch))
    curve.batch_cb(_param(0, 4, None))
    first = capsys.readouterr().out
    assert first == "training  ▁█  0.2\nbatch 1 to 3\n"
    curve.eval_cb(_param(0, 5, 0.75))
    expected = "training    ▁█  0.2\nvalidation  █  0.75\nepoch 0.2 to 1\n"
    assert capsys.readouterr().out == expected


def test_the_axis_counts_batches_of_the_first_epoch_and_then_epochs(monkeypatch):
    monkeypatch.setattr(_curve, "time", Clock(1000.0))
    curve = LiveLearningCurve("accuracy", display_freq=1e9, frequent=1)

    def places():
        curves = curve.curves()
        return curves.axis, {c.name: [round(x, 6) for x, _ in c.points] for c in curves.curves}

    for nbatch in range(4):
        curve.batch_cb(_param(0, nbatch, 0.1))
    assert places() == ("batch", {"training": [1, 2, 3, 4]})
    curve.eval_cb(_param(0, 4, 0.5))
    first = [0.25, 0.5, 0.75, 1]
    assert places() == ("epoch", {"training": first, "validation": [1]})
    curve.batch_cb(_param(1, 0, 0.1))
    curve.batch_cb(_param(1, 1, 0.1))
    assert places()[1]["training"] == [*first, 1.25, 1.5]
    curve.batch_cb(_param(2, 0, 0.1))
    assert places()[1]["training"] == [*first, 1.5, 2, 2.5]


def test_a_curve_without_evaluations_counts_epochs_too():
    curve = LiveLearningCurve("accuracy", display_freq=1e9, frequent=2)
    for epoch in range(3, 5):
        for nbatch in range(4):
            curve.batch_cb(_param(epoch, nbatch, 0.1))
    curves = curve.curves()
    assert (curves.axis, [x for x, _ in curves.curves[0].points]) == (
        "epoch", [3.25, 3.75, 4.25, 4.75],
    )  # fmt: skip
    assert drawn_texts(curves.html())[-2:] == ["4", "epoch"]


def test_curve_in_a_notebook_is_updated_in_place(monkeypatch, capsys):
    events: list[Any] = []

    class Handle:
        def update(self, shown: Any) -> None:
            events.append(("update", shown))

    def display(shown: Any, display_id: bool) -> Handle:
        events.append(("display", shown))
        return Handle()

    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    curve = LiveLearningCurve("accuracy")
    for epoch in range(3):
        curve.eval_cb(_param(epoch, 0, 0.5 + 0.1 * epoch))
    assert events == [("display", curve), ("update", curve), ("update", curve)]
    assert capsys.readouterr().out == ""


def test_ipython_without_a_notebook_is_a_terminal(monkeypatch, capsys):
    ipython = SimpleNamespace(get_ipython=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    LiveLearningCurve("accuracy").eval_cb(_param(0, 0, 0.5))
    assert capsys.readouterr().out == "validation  █  0.5\nepoch 1 to 1\n"


def test_curve_as_html():
    curve = LiveLearningCurve("<b>accuracy & more")
    words = checked(curve._repr_html_())
    assert "<b>accuracy & more" in words
    assert "nothing to draw yet" in words
    curve.eval_cb(_param(0, 0, 0.5, name="<b>accuracy & more"))
    bundle = curve._repr_mimebundle_()
    assert "validation 0.5" in checked(bundle["text/html"])
    assert bundle["text/plain"] == "<b>accuracy & more\nvalidation  █  0.5\nepoch 1 to 1"


def test_an_unknown_metric_is_named():
    curve = LiveLearningCurve("acc")
    param = _param(0, 0, 0.5)
    with pytest.raises(KeyError) as caught:
        curve.eval_cb(param)
    assert str(caught.value) == ("LiveLearningCurve: unknown metric 'acc'\n  try: 'accuracy'")
    assert param.eval_metric.get()[1] == 0.5


def test_callbacks_of_one_batch_read_the_same():
    pytest.importorskip("pandas")
    curve, logger = LiveLearningCurve("accuracy", 1e9, 1), PandasLogger(4, frequent=1)
    for epoch, nbatch, value in [(0, 0, 0.25), (0, 1, 0.5), (1, 0, 0.75)]:
        param = _param(epoch, nbatch, value)
        curve.batch_cb(param)
        logger.train_cb(param)
    again = _param(1, 0, 1.0)
    again.eval_metric.update(None, [mx.nd.array([0.0])])
    logger.train_cb(again)
    assert _values(curve, "training") == [0.25, 0.5, 0.75]
    assert logger.train_df["accuracy"].tolist() == [0.25, 0.5, 0.75, 0.5]


def test_a_reused_metric_is_read_again():
    metric = mx.metric.Loss("accuracy")
    curve = LiveLearningCurve("accuracy", 1e9, 1)
    for value in (0.25, 0.5):
        metric.update(None, [mx.nd.array([value])])
        curve.batch_cb(Batch(0, 0, metric, {}))
    assert _values(curve, "training") == [0.25, 0.5]


def test_evaluations_do_not_reset_the_metric(caplog):
    param = _param(0, 3, 0.5)
    LiveLearningCurve("accuracy", 1e9).eval_cb(param)
    assert param.eval_metric.get()[1] == 0.5


def test_args_wrapper_joins_callbacks():
    one, two = (LiveLearningCurve("accuracy") for _ in range(2))
    assert args_wrapper(one, two) == {
        "batch_end_callback": [one.batch_cb, two.batch_cb],
        "eval_end_callback": [one.eval_cb, two.eval_cb],
    }
    assert args_wrapper() == {}
