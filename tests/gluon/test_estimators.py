"""Estimators: programs of a batch, resumption, what is served beyond MXNet, words of errors."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit import gluon
from executorkit.errors import ArgumentValueError
from executorkit.gluon.contrib import estimator as events
from tests.autograd.test_recorded_programs import programs_of


def network(hybridized: bool = False) -> gluon.HybridBlock:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="tanh", in_units=3), gluon.nn.Dense(2, in_units=4))
    net.initialize()
    if hybridized:
        net.hybridize()
    rng = np.random.default_rng(3)
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.array(rng.uniform(-1, 1, parameter.shape)))
    return net


def batches(count: int = 3) -> list[Any]:
    rng = np.random.default_rng(4)
    return [
        (mx.nd.array(rng.normal(size=(4, 3))), mx.nd.array(rng.integers(0, 2, 4)))
        for _ in range(count)
    ]


def estimator_of(net: Any = None, optimizer: Any = None, **options: Any) -> events.Estimator:
    """An estimator whose log goes to the root logger alone."""
    net = net or network()
    optimizer = optimizer or mx.optimizer.Adam(learning_rate=0.1)
    trainer = gluon.Trainer(net.collect_params(), optimizer)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    estimator = events.Estimator(net, loss, trainer=trainer, **options)
    estimator.logger.handlers = []
    return estimator


def weights(estimator: events.Estimator) -> list[bytes]:
    parameters = estimator.net.collect_params().values()
    return [p.data().asnumpy().tobytes() for p in parameters]


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.usefixtures("fresh_programs", "compiled")
def test_a_batch_is_one_program(hybridized):
    """Metrics are updated, and read at the end of the epoch only."""
    estimator = estimator_of(network(hybridized))
    data = batches()
    estimator.fit(data, epochs=1)
    for _ in range(2):
        assert programs_of(lambda: estimator.fit(data, epochs=1)) == (3, 0)
    assert estimator.train_metrics[0].num_inst == 12
    logged = events.LoggingHandler(1, metrics=estimator.train_metrics)
    assert programs_of(lambda: estimator.fit(data, epochs=1, event_handlers=logged)) == (3, 0)


@pytest.mark.usefixtures("one_way")
@pytest.mark.parametrize("by", ["epochs", "batches"])
def test_resumed_is_as_uninterrupted(by, tmp_path):
    """To the last bit, also after an exception in the middle of a batch's events."""
    period = {"epoch_period": None, "batch_period": 3} if by == "batches" else {}
    length: dict[str, Any] = {by: 4 if by == "epochs" else 12}

    class Crash(events.BatchEnd):
        priority = 5

        def __init__(self, at: int) -> None:
            self.at = at

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self.at -= 1
            if self.at == 0:
                raise KeyboardInterrupt

    whole = estimator_of()
    whole.fit(batches(), **length)
    for crash in (8, 2, 100):
        saving = events.CheckpointHandler(str(tmp_path), resume_from_checkpoint=True, **period)
        estimator = estimator_of()
        try:
            estimator.fit(batches(), event_handlers=[saving, Crash(crash)], **length)
        except KeyboardInterrupt:
            continue
    assert weights(estimator) == weights(whole)
    assert {p.name for p in tmp_path.iterdir()} >= {"model-epoch3batch12.params"} or by != "epochs"


def test_checkpoints_tell_what_they_do(tmp_path):
    lines: list[str] = []
    estimator = estimator_of()
    keep = logging.Handler()
    keep.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    estimator.logger.addHandler(keep)
    metric = estimator.train_metrics[1]
    saving = events.CheckpointHandler(str(tmp_path), "m", metric, 1, True, "max", max_checkpoints=1)
    stopping = events.EarlyStoppingHandler(metric, mode="max")
    estimator.fit(batches(), epochs=3, event_handlers=[saving, stopping])
    told = [line.replace(str(tmp_path), "DIR") for line in lines if "Handler" in line]
    first = estimator.train_metrics[1].name
    assert told[0].startswith("CheckpointHandler: DIR/m-symbol.json is not written")
    assert told[1] == "[Epoch 0] CheckpointHandler: saved m-epoch0batch3 in DIR"
    assert told[2].startswith(f"[Epoch 0] CheckpointHandler: {first} improved from -inf to ")
    assert told[4].startswith(f"[Epoch 1] CheckpointHandler: {first} did not improve from ")
    assert told[5] == (
        f"[Epoch 1] EarlyStoppingHandler: the training ends, since {first} does not improve"
    )
    assert sorted(p.name for p in tmp_path.glob("*.params")) == [
        "m-best.params", "m-epoch1batch6.params",
    ]  # fmt: skip
    estimator.fit(batches(), epochs=1, event_handlers=[saving])
    assert saving.saved_checkpoints == ["m-epoch0batch3"]


def test_handlers_that_are_given_stay_as_they_are():
    estimator = estimator_of()
    metric = estimator.train_metrics[0]
    handlers = [events.EarlyStoppingHandler(metric, mode="max", patience=9)]
    estimator.fit(batches(), epochs=1, event_handlers=handlers)
    estimator.evaluate(batches(), event_handlers=(events.LoggingHandler(),))
    assert len(handlers) == 1
    estimator.fit(batches(), epochs=1, event_handlers=tuple(handlers))


def test_two_estimators_with_one_metric():
    metric = mx.metric.Accuracy()
    first = estimator_of(train_metrics=metric)
    first.fit(batches(), epochs=1)
    second = estimator_of(train_metrics=metric)
    assert [m.name for m in second.train_metrics] == ["training accuracy"]
    assert [m.name for m in second.val_metrics] == ["validation accuracy"]


@pytest.mark.parametrize("injected", [False, True])
def test_optax_transformations(injected):
    transformation = optax.inject_hyperparams(optax.sgd) if injected else optax.sgd
    estimator = estimator_of(optimizer=transformation(learning_rate=0.25))
    lines: list[str] = []
    keep = logging.Handler()
    keep.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    estimator.logger.addHandler(keep)
    estimator.fit(batches(), epochs=1)
    rate = "0.2500" if injected else "unknown"
    assert lines[0].rstrip().endswith(f"optax with current learning rate {rate}")


def test_progress_is_shown(monkeypatch, caplog):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    bar = events.ProgressBarHandler(2, length=4)
    with caplog.at_level(logging.INFO):
        estimator_of().fit(batches(2), epochs=2, event_handlers=bar)
    assert caplog.messages == ["[==--] 50%\r", "[====] 100%\r"] * 2


def test_an_epoch_without_batches_is_an_error():
    estimator = estimator_of()
    with pytest.raises(ValueError, match="an epoch has no batch") as caught:
        estimator.fit((batch for batch in batches()), epochs=2)
    assert "a generator" in str(caught.value)


def test_words_of_errors():
    estimator = estimator_of()
    with pytest.raises(ArgumentValueError) as caught:
        estimator.fit(mx.nd.ones((4, 3)), epochs=1)
    assert str(caught.value) == (
        "Estimator: train_data: a NDArray, expected batches of data and label\n"
        "  try: gluon.data.DataLoader(dataset, batch_size), or a list of pairs"
    )
    with pytest.raises(ArgumentValueError) as caught:
        estimator.fit(batches(), epochs=1, event_handlers=events.MetricHandler(mx.metric.MSE()))
    assert str(caught.value) == (
        "Estimator: MetricHandler: its metrics has 'mse', which is not a metric of the estimator\n"
        "  try: one of estimator.train_metrics, estimator.val_metrics"
    )
    with pytest.raises(TypeError, match="expected a Block"):
        events.Estimator(None, gluon.loss.L2Loss())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected 'epoch' or a number of batches"):
        events.LoggingHandler(0)
    with pytest.raises(ValueError, match="above 0"):
        estimator.fit(batches(), epochs=-1)


def test_only_who_asks_is_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = estimator_of()
        events.EarlyStoppingHandler(estimator.train_metrics[0], mode="max")
    with pytest.warns(UserWarning, match="mode='min' for a loss"):
        events.EarlyStoppingHandler(estimator.train_metrics[1])


def test_a_file_in_place_of_the_folder(tmp_path: Path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(OSError, match="exists"):
        events.CheckpointHandler(str(path))
