"""Callbacks log what MXNet's log, in its words; progress bars with and without tqdm."""

from __future__ import annotations

import inspect
import io
import logging
import sys
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import executorkit as mx
from executorkit.callback import _logging_and_saving
from executorkit.display import view_of
from tests._tools.training_tools import compare, names

Batch = mx.model.BatchEndParam


@pytest.mark.parametrize("name", names("callbacks"))
def test_script_gives_mxnets_answers(name, monkeypatch):
    monkeypatch.setattr("executorkit.display._progress.find_spec", lambda name: None)
    compare(name)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Speedometer", {"batch_size": ..., "frequent": 50, "auto_reset": True}),
        ("ProgressBar", {"total": ..., "length": 80}),
        ("do_checkpoint", {"prefix": ..., "period": 1}),
        (
            "module_checkpoint",
            {"mod": ..., "prefix": ..., "period": 1, "save_optimizer_states": False},
        ),
        ("log_train_metric", {"period": ..., "auto_reset": False}),
        ("LogValidationMetricsCallback", {}),
    ],
)
def test_signatures_are_mxnets(name, arguments):
    parameters = inspect.signature(getattr(mx.callback, name)).parameters
    defaults = {n: ... if p.default is p.empty else p.default for n, p in parameters.items()}
    assert defaults == arguments


def test_speed_is_samples_per_second(monkeypatch, caplog):
    now = iter([100.0, 102.0, 102.0, 102.0, 102.0])
    clock = SimpleNamespace(time=lambda: next(now))
    monkeypatch.setattr(_logging_and_saving, "time", clock)
    speedometer = mx.callback.Speedometer(batch_size=16, frequent=4)
    with caplog.at_level(logging.INFO):
        for nbatch in (0, 4, 8):
            speedometer(Batch(0, nbatch, None, None))
    assert caplog.messages == [
        "Iter[0] Batch [4]\tSpeed: 32.00 samples/sec",
        "Iter[0] Batch [8]\tSpeed: inf samples/sec",
    ]


def test_speed_counts_the_wait_for_the_metric(caplog):
    """The device may be behind the host: the wait for the metric is part of the time."""

    class Slow:
        def get_name_value(self):
            time.sleep(0.1)
            return [("loss", 1.0)]

        def reset_local(self):
            pass

    speedometer = mx.callback.Speedometer(batch_size=1, frequent=1)
    with caplog.at_level(logging.INFO):
        speedometer(Batch(0, 0, None, None))
        speedometer(Batch(0, 1, Slow(), None))
    speed = float(caplog.messages[0].split("Speed: ")[1].split()[0])
    assert speed < 10.5


def test_progress_bar_with_tqdm(monkeypatch, caplog):
    tqdm = pytest.importorskip("tqdm").tqdm
    shown = io.StringIO()
    quick = partial(tqdm, file=shown, mininterval=0)
    monkeypatch.setattr("tqdm.tqdm", quick)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = mx.callback.ProgressBar(total=3, length=60)
    with caplog.at_level(logging.INFO):
        for epoch in range(2):
            for nbatch in range(3):
                bar(Batch(epoch, nbatch, None, None))
        bar(Batch(2, 0, None, None))
        bar(Batch(3, 0, None, None))
    assert caplog.messages == []
    lines = shown.getvalue().replace("\n", "\r").split("\r")
    full = {line.split(":")[0] for line in lines if "3/3" in line}
    assert full == {"Epoch[0]", "Epoch[1]"}
    shown.truncate(0)
    for nbatch in range(5):
        bar(Batch(4, nbatch, None, None))
    assert "0/3" in shown.getvalue()
    assert "1/3" not in shown.getvalue().rpartition("3/3")[2]
    assert all(len(line) <= 60 for line in lines)
    assert [any(f"Epoch[{i}]" in line for line in lines) for i in range(4)] == [True] * 4


def test_progress_is_logged_where_stderr_is_no_terminal(monkeypatch, caplog):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    bar = mx.callback.ProgressBar(total=2, length=4)
    with caplog.at_level(logging.INFO):
        for nbatch in range(3):
            bar(Batch(0, nbatch, None, None))
    assert caplog.messages == ["[----] 0%\r", "[==--] 50%\r", "[====] 100%\r"]


def test_progress_bar_in_a_notebook(monkeypatch):
    shown: list[Any] = []
    handle = SimpleNamespace(update=lambda bar: shown.append(view_of(bar).text()))

    def display(bar: Any, display_id: bool) -> Any:
        shown.append(view_of(bar).text())
        return handle

    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    now = iter(range(100, 10_000, 4))
    clock = SimpleNamespace(perf_counter=lambda: next(now))
    monkeypatch.setattr("executorkit.display._progress.time", clock)
    bar = mx.callback.ProgressBar(total=2)
    for nbatch in range(2):
        bar(Batch(1, nbatch, None, None))
    assert shown == [
        f"Epoch[1]: 0/2 batches, 0:04\n{'░' * 40}",
        f"Epoch[1]: 1/2 batches, 0:12, 0.0833 batches/s, 0:12 left\n{'█' * 20}{'░' * 20}",
        f"Epoch[1]: 2/2 batches, 0:20, 0.1 batches/s, 0:00 left\n{'█' * 40}",
        f"Epoch[1]: 2/2 batches, 0:24, 0.0833 batches/s\n{'█' * 40}",
    ]
    bar(Batch(1, 2, None, None))
    assert shown[-1].startswith("Epoch[1]: 3 batches instead of 2, ")
    assert not any("1/2" in text for text in shown[2:])


def test_checkpoints_can_be_loaded(tmp_path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.array([1, 2])}
    mx.callback.do_checkpoint(tmp_path / "m")(6, net, params, {})
    symbol, args, aux = mx.model.load_checkpoint(tmp_path / "m", 7)
    assert symbol.tojson() == net.tojson()
    assert args["fc_bias"].asnumpy().tolist() == [1, 2]
    assert aux == {}


@pytest.mark.parametrize("kind", ["module", "model"])
def test_locals_are_the_arguments_of_fit(kind):
    """By MXNet's names: scripts log histograms of ``arg_params``, and pictures of the batch."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    batches = mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.zeros(4), 2)
    seen = []

    def look(param) -> None:
        names = param.locals
        assert names["num_epoch"] == 2
        assert names["train_data"] is batches
        assert names["batch_end_callback"] is look
        assert names["data_batch"].pad == 0
        seen.append(names["arg_params"])

    def look_at_scores(param) -> None:
        assert param.locals["eval_data"] is batches
        assert param.locals["eval_batch"].data[0].shape == (2, 3)

    callbacks: dict[str, Any] = {"batch_end_callback": look, "eval_end_callback": look_at_scores}
    if kind == "module":
        mx.mod.Module(net).fit(batches, batches, num_epoch=2, **callbacks)
        assert seen[0] is None
    else:
        with pytest.warns(DeprecationWarning, match="mod.Module"):
            model = mx.model.FeedForward(net, num_epoch=2)
        model.fit(batches, eval_data=batches, **callbacks)
    assert set(seen[-1]) == {"fc_weight", "fc_bias"}
