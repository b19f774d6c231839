"""Metrics over several devices."""

from __future__ import annotations

from ._facts import batch, contexts, fill, mlp, parameters, script, workloads


@script
def module_group_metrics(mx):
    answers = {}
    symbol = mlp(mx)
    names = parameters(symbol, ("data", "softmax_label"))
    for place in ("one device", "two devices", "four devices", "uneven"):
        group = mx.module.executor_group.DataParallelExecutorGroup(
            symbol, contexts(mx, place), workloads(place), [mx.io.DataDesc("data", (8, 5))],
            [mx.io.DataDesc("softmax_label", (8,))], names, True, False,
        )  # fmt: skip
        fill(group, names, group.execs)
        all_metrics = [mx.metric.create(n) for n in ("acc", "ce", "nll_loss", "loss")]
        all_metrics += [mx.metric.TopKAccuracy(top_k=2), mx.metric.Perplexity(ignore_label=None)]
        all_metrics += [
            mx.metric.Perplexity(ignore_label=1),
            mx.metric.CompositeEvalMetric(["acc", "ce"]),
        ]
        values = []
        for number in range(3):
            one = batch(mx, number, (8, 5), (8,))
            group.forward(one)
            for metric in all_metrics:
                group.update_metric(metric, one.label, False)
            parts = [[one.label[0][rows]] for rows in group.slices]
            for metric in all_metrics[:2]:
                group.update_metric(metric, parts, True)
            values.append([m.get() for m in all_metrics])
        answers[place] = values
    return answers


@script
def module_group_regression_metrics(mx):
    answers = {}
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    symbol = mx.sym.LinearRegressionOutput(symbol, name="lro")
    for place in ("one device", "four devices", "uneven"):
        group = mx.module.executor_group.DataParallelExecutorGroup(
            symbol, contexts(mx, place), workloads(place), [mx.io.DataDesc("data", (8, 5))],
            [mx.io.DataDesc("lro_label", (8, 3))], ["fc_weight", "fc_bias"], True, False,
        )  # fmt: skip
        fill(group, ["fc_weight", "fc_bias"], group.execs)
        all_metrics = [mx.metric.create(n) for n in ("mse", "rmse", "mae", "pearsonr")]
        for number in range(2):
            one = batch(mx, number, (8, 5), (8, 3))
            group.forward(one)
            group.backward()
            for metric in all_metrics:
                group.update_metric(metric, one.label, False)
        answers[place] = [m.get() for m in all_metrics]
    return answers


@script
def manager_group_metrics(mx):
    from ._facts import Shapes

    symbol = mlp(mx)
    names = parameters(symbol, ("data", "softmax_label"))
    answers = {}
    for place in ("two devices", "uneven"):
        train = Shapes([mx.io.DataDesc("data", (8, 5))], [mx.io.DataDesc("softmax_label", (8,))], 8)
        manager = mx.executor_manager.DataParallelExecutorManager(
            symbol, contexts(mx, place), train, symbol.list_arguments(), names, [],
            work_load_list=workloads(place),
        )  # fmt: skip
        fill(manager, names, manager.execgrp.train_execs)
        metric = mx.metric.create(["acc", "ce"])
        for number in range(2):
            one = batch(mx, number, (8, 5), (8,))
            manager.load_data_batch(one)
            manager.forward(is_train=True)
            manager.update_metric(metric, one.label)
            parts = [[one.label[0][rows]] for rows in manager.slices]
            manager.update_metric(metric, parts, True)
        answers[place] = metric.get()
    return answers
