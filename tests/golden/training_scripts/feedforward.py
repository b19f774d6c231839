"""FeedForward, trained from fixed parameters: parameters, predictions, scores, callbacks, logs."""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..group_scripts._facts import lstm, mlp
from ._facts import attempt, log, numbers, script

ROWS = 22


def _data(rows: int = ROWS) -> Any:
    data = numbers("examples", (rows, 5))
    return data, (np.abs(data).sum(axis=1) * 2).astype(int) % 3


def _params(mx: Any, symbol: Any, **shapes: Any) -> Any:
    """Numbers for all parameters, which depend on their names."""
    shapes = shapes or {"data": (1, 5)}
    args, _, aux = symbol.infer_shape(**shapes)
    names = symbol.list_arguments()
    arg_params = {
        n: mx.nd.array(0.3 * numbers(n, s))
        for n, s in zip(names, args, strict=True)
        if n not in shapes and not n.endswith("label")
    }
    states = zip(symbol.list_auxiliary_states(), aux, strict=True)
    return arg_params, {n: mx.nd.array(1 + np.abs(numbers(n, s))) for n, s in states}


def _model(mx: Any, symbol: Any = None, devices: int = 1, **options: Any) -> Any:
    symbol = mlp(mx) if symbol is None else symbol
    arg_params, aux_params = _params(mx, symbol)
    options = {
        "num_epoch": 3, "numpy_batch_size": 8, "arg_params": arg_params, "aux_params": aux_params,
        "learning_rate": 0.2, "wd": 0.01, **options,
    }  # fmt: skip
    if "optimizer" not in options:
        options["momentum"] = 0.9
    np.random.seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return mx.model.FeedForward(symbol, [mx.cpu(i) for i in range(devices)], **options)


def _state(model: Any) -> Any:
    return [dict(sorted(p.items())) for p in (model.arg_params, model.aux_params)]


def _logged(lines: Any) -> Any:
    return [line for line in lines if "raining with" not in line[1]]


def _normed(mx: Any) -> Any:
    """A network with auxiliary states, which training changes."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn"), act_type="tanh")
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


@script
def feedforward_fit(mx: Any) -> Any:
    answers = {}
    for name, options, fit_options in (
        ("one device", {}, {}),
        ("two devices", {"devices": 2}, {}),
        ("device store", {"devices": 2}, {"kvstore": "device"}),
        ("states", {"symbol": _normed(mx)}, {}),
        ("adam", {"optimizer": "adam", "learning_rate": 0.01}, {}),
        ("short epochs", {"epoch_size": 2}, {}),
        ("long epochs", {"epoch_size": 4, "num_epoch": 2}, {}),
        ("later", {"begin_epoch": 1, "num_epoch": 2}, {"eval_metric": ["acc", "ce"]}),
        ("work loads", {"devices": 2}, {"work_load_list": [1, 3]}),
    ):
        model = _model(mx, **options)
        data, label = _data()
        with log() as lines:
            model.fit(data, label, eval_data=(data[:16], label[:16]), **fit_options)
        answers[name] = [
            _state(model), _logged(lines), model.predict(data), float(model.score(data)),
        ]  # fmt: skip
    return answers


@script
def feedforward_optimizers(mx: Any) -> Any:
    data, label = _data()
    answers = []
    for devices in (1, 2):
        optimizer = mx.optimizer.create("sgd", learning_rate=0.1, rescale_grad=1 / 8, wd=0.1)
        model = _model(mx, devices=devices, optimizer=optimizer)
        model.fit(data, label)
        answers.append([_state(model), sorted(optimizer.idx2name.items())])
    return answers


@script
def feedforward_iterators(mx: Any) -> Any:
    data, label = _data(24)
    calls: list[Any] = []

    def batch_end(param: Any) -> None:
        calls.append(["batch", param.epoch, param.nbatch, param.eval_metric.get()])

    def eval_batch_end(param: Any) -> None:
        calls.append(["eval batch", param.epoch, param.nbatch, param.eval_metric.get()])

    def eval_end(param: Any) -> None:
        calls.append(["eval", param.epoch, param.nbatch, param.eval_metric.get()])

    def epoch_end(epoch: Any, symbol: Any, args: Any, aux: Any) -> None:
        calls.append(["epoch", epoch, symbol.name, sorted(args), args["fc1_bias"].asnumpy()])

    train = mx.io.NDArrayIter(data, label, 8)
    model = _model(mx, num_epoch=2)
    with log() as lines:
        model.fit(
            train,
            eval_data=(mx.io.NDArrayIter(data[:16], label[:16], 8), None),
            batch_end_callback=[batch_end, mx.callback.log_train_metric(2)],
            epoch_end_callback=[epoch_end],
            eval_batch_end_callback=eval_batch_end,
            eval_end_callback=eval_end,
        )
    answers: dict[str, Any] = {"calls": calls, "log": _logged(lines)}
    score = model.score(train, "ce", num_batch=2, batch_end_callback=batch_end)
    answers["score"] = float(score)
    metric = mx.metric.create("acc")
    answers["metric"] = [float(model.score(train, metric)) for _ in range(2)]
    answers["lists"] = [
        attempt(mx, lambda d=d: model.fit(train, eval_data=d))
        for d in ([data[:8].tolist(), label[:8].tolist()], mx.io.NDArrayIter(data, label, 8))
    ]
    return answers


@script
def feedforward_predict(mx: Any) -> Any:
    data, label = _data()
    model = _model(mx)
    answers: dict[str, Any] = {
        "numpy": model.predict(data),
        "ndarray": model.predict(mx.nd.array(data)),
        "one batch": model.predict(data, num_batch=1),
        "few": model.predict(data[:3]),
        "with data": model.predict(data, 2, True),
    }
    batches = mx.io.NDArrayIter(data, label, 5)
    answers["iterator"] = model.predict(batches)
    answers["goes on"] = [model.predict(batches, 1), model.predict(batches, 1, reset=False)]
    answers["iterator with data"] = model.predict(batches, return_data=True)
    hidden = model.symbol.get_internals()["fc1_output"]
    heads = mx.sym.Group([model.symbol, mx.sym.BlockGrad(hidden)])
    answers["two outputs"] = _model(mx, heads).predict(data)
    answers["score"] = [float(model.score(batches)), float(model.score(data))]
    again = pickle.loads(pickle.dumps(model))
    answers["pickled"] = again.predict(data[:2])
    return answers


@script
def feedforward_checkpoints(mx: Any) -> Any:
    data, label = _data()
    answers = {}
    with tempfile.TemporaryDirectory() as folder, log() as lines:
        prefix = os.path.join(folder, "m")
        model = _model(mx, _normed(mx))
        model.fit(data, label, epoch_end_callback=mx.callback.do_checkpoint(prefix))
        model.save(prefix, 7)
        model.save(prefix)
        answers["files"] = sorted(os.listdir(folder))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            again = mx.model.FeedForward.load(prefix, 2, num_epoch=4, learning_rate=0.1)
        answers["begin"] = [again.begin_epoch, again.num_epoch, _state(again)]
        np.random.seed(4)
        again.fit(mx.io.NDArrayIter(data, label, 11))
        answers["more"] = _state(again)
        answers["log"] = [[a, b.replace(folder, "#")] for a, b in _logged(lines)]
    answers["no epoch"] = attempt(mx, lambda: _model(mx, num_epoch=None).save("unwritten"))
    return answers


@script
def feedforward_create(mx: Any) -> Any:
    data, label = _data()
    arg_params, aux_params = _params(mx, mlp(mx))
    np.random.seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = mx.model.FeedForward.create(
            mlp(mx), data, label, ctx=mx.cpu(1), num_epoch=2, learning_rate=0.3,
            arg_params=arg_params, aux_params=aux_params, numpy_batch_size=11,
        )  # fmt: skip
    return [_state(model), str(model.ctx), model.predict(data)]


@script
def feedforward_init(mx: Any) -> Any:
    """Initialised parameters with their names, and the ones left out."""
    calls: list[str] = []

    def initializer(name: Any, array: Any) -> None:
        calls.append(str(name))
        array[:] = 0.25

    symbol = _normed(mx)
    arg_params, _ = _params(mx, symbol)
    extra = mx.nd.ones((1,))
    partial_params = {"fc1_weight": arg_params["fc1_weight"], "extra": extra}
    model = _model(
        mx, symbol, initializer=initializer, allow_extra_params=True, arg_params=partial_params,
        aux_params={"extra": extra},
    )  # fmt: skip
    answers: list[Any] = [sorted(model.arg_params), sorted(model.aux_params)]
    names = model._init_params([("data", (4, 5)), mx.io.DataDesc("softmax_label", (4,))])
    answers += [[list(n) for n in names], list(calls), _state(model)]
    calls.clear()
    model._init_params([("data", (4, 5)), ("softmax_label", (4,))], overwrite=True)
    return [*answers, calls, _state(model)]


@script
def feedforward_buckets(mx: Any) -> Any:
    class Buckets(mx.io.DataIter):
        def __init__(self) -> None:
            super().__init__(4)
            self.default_bucket_key = 4
            self.provide_data = [mx.io.DataDesc("data", (4, 4))]
            self.provide_label = [mx.io.DataDesc("softmax_label", (4, 4))]
            self.number = 0

        def reset(self) -> None:
            self.number = 0

        def next(self) -> Any:
            if self.number == 4:
                raise StopIteration
            self.number += 1
            words = np.abs(numbers(f"words {self.number}", (4, 4)) * 10).astype(int) % 6
            return mx.io.DataBatch(
                [mx.nd.array(words)], [mx.nd.array((words * 2 + 1) % 6)], bucket_key=4, pad=0,
                provide_data=self.provide_data, provide_label=self.provide_label,
            )  # fmt: skip

    arg_params, aux_params = _params(mx, lstm(mx, 4), data=(4, 4), softmax_label=(4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = mx.model.FeedForward(
            lambda key: lstm(mx, key), num_epoch=2, learning_rate=0.5, arg_params=arg_params,
            aux_params=aux_params,
        )  # fmt: skip
    before = model.symbol
    model.fit(Buckets(), eval_metric=mx.metric.Perplexity(None))
    return [before, model.symbol.list_outputs(), _state(model)]


@script
def feedforward_refusals(mx: Any) -> Any:
    data, label = _data()
    x = mx.sym.Variable("data")
    twice = mx.sym.FullyConnected(mx.sym.FullyConnected(x, num_hidden=2, name="a"), num_hidden=2)
    named = mx.sym.Group([mx.sym.Variable("w"), mx.sym.Variable("w") * 2])
    actions: dict[str, Callable[[], Any]] = {
        "no symbol": lambda: _model_of(mx, 3),
        "one name twice": lambda: _model_of(mx, named),
        "no label": lambda: _model(mx).fit(data),
        "label list": lambda: _model(mx).fit(data, label.tolist()),
        "too few labels": lambda: _model(mx).fit(data, label[:3]),
        "wide labels": lambda: _model(mx).fit(data, np.zeros((ROWS, 2))),
        "narrow labels": lambda: _model(mx).fit(data, label.reshape(-1, 1)),
        "list": lambda: _model(mx).fit(data.tolist(), label),
        "eval list": lambda: _model(mx).fit(data, label, eval_data=data),
        "eval none": lambda: _model(mx).fit(data, label, eval_data=(None, label)),
        "eval without label": lambda: _model(mx).fit(data, label, eval_data=(data, None)),
        "wrong width": lambda: _model(mx).fit(data[:, :3], label),
        "wrong store": lambda: _model(mx).fit(data, label, kvstore=3),
        "unknown optimizer": lambda: _model(mx, optimizer="nobody").fit(data, label),
        "unknown metric": lambda: _model(mx).fit(data, label, eval_metric="nobody"),
        "extra parameters": lambda: _model(
            mx, arg_params={"extra": mx.nd.ones((1,)), **_params(mx, mlp(mx))[0]}
        ).fit(data, label),
        "predict list": lambda: _model(mx).predict(data.tolist()),
        "predict without parameters": lambda: _model_of(mx, twice).predict(data),
    }
    return {name: attempt(mx, action) for name, action in actions.items()}


def _model_of(mx: Any, symbol: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return mx.model.FeedForward(symbol)
