"""fit: what it logs, what callbacks see, what is fitted when something is there already."""

from __future__ import annotations

import logging

import numpy as np

from ._facts import Log, attempt, batch, bound, contexts, mlp, numbers, script, trained, values


def _data(mx, rows=24, size=8):
    labels = (np.arange(rows) % 4).astype(np.float32)
    return mx.io.NDArrayIter(numbers("all", (rows, 5)), labels, size)


def _arguments(mx, module, data):
    module.bind(data.provide_data, data.provide_label)
    return {n: mx.nd.array(a) for n, a in values(module).items()}


@script
def log_and_callbacks(mx):
    answers = {}
    for count in (1, 2):
        log, calls = Log(), []
        module = mx.mod.Module(mlp(mx), logger=log, context=contexts(mx, count))
        data, held = _data(mx), _data(mx, 20)

        def note(kind, calls=calls):
            return lambda p: calls.append((kind, p.epoch, p.nbatch, p.eval_metric.get()))

        module.fit(
            data, eval_data=held, eval_metric=["acc", "ce"], validation_metric="ce",
            batch_end_callback=[note("batch"), note("again")], eval_end_callback=note("end"),
            eval_batch_end_callback=note("evaluated"),
            epoch_end_callback=lambda e, s, a, x, calls=calls: calls.append((e, s.name, sorted(a))),
            arg_params=_arguments(mx, module, data), aux_params={}, begin_epoch=2, num_epoch=4,
            optimizer_params={"learning_rate": 0.3, "momentum": 0.9},
        )  # fmt: skip
        answers[count] = log.lines, log.values, calls, trained(module)
    return answers


@script
def speedometer(mx):
    """A callback that resets the metric; the epoch's log is of all batches."""
    log, calls = Log(), []
    module = mx.mod.Module(mlp(mx), logger=log)
    data = _data(mx, 48)

    def reset(p):
        calls.append((p.nbatch, p.eval_metric.get()))
        p.eval_metric.reset_local()

    module.fit(
        data, batch_end_callback=reset, arg_params=_arguments(mx, module, data), aux_params={},
        num_epoch=2,
    )  # fmt: skip
    return log.lines, log.values, calls


@script
def fitted_twice(mx):
    """fit again: bound, initialised and with an optimizer already, all of which stay."""
    module = mx.mod.Module(mlp(mx), logger=Log())
    data = _data(mx)
    module.fit(
        data, arg_params=_arguments(mx, module, data), aux_params={}, num_epoch=2,
        optimizer_params={"learning_rate": 0.3, "momentum": 0.9},
    )  # fmt: skip
    answers = [trained(module)]
    module.fit(data, num_epoch=3, begin_epoch=2, optimizer_params={"learning_rate": 0.0})
    answers.append(trained(module))
    module.fit(data, num_epoch=1, force_rebind=True)
    answers.append(trained(module))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1}, force_init=True)
    module.fit(data, num_epoch=1)
    answers.append(trained(module))
    return answers


@script
def by_hand(mx):
    """The loop of MXNet's tutorials, with reset and get of a metric."""
    logging.getLogger().setLevel(logging.ERROR)
    module = bound(mx, mlp(mx))
    module.init_optimizer(optimizer="adam", optimizer_params=(("learning_rate", 0.05),))
    metric, data, answers = mx.metric.create("acc"), _data(mx), []
    for _ in range(4):
        data.reset()
        metric.reset()
        for one in data:
            module.forward(one, is_train=True)
            module.update_metric(metric, one.label)
            module.backward()
            module.update()
        answers.append(metric.get())
    return answers, trained(module)


@script
def refusals(mx):
    module = mx.mod.Module(mlp(mx), logger=Log())
    data = _data(mx)
    return {
        "epochs": attempt(mx, lambda: module.fit(data)),
        "missing": attempt(mx, lambda: module.fit(data, arg_params={}, num_epoch=1)),
        "optimizer": attempt(
            mx, lambda: mx.mod.Module(mlp(mx), logger=Log()).fit(data, optimizer="x", num_epoch=1)
        ),
        "batch": batch(mx, 0).pad,
    }
