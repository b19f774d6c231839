"""Buckets: LSTMs of several lengths that share their parameters."""

from __future__ import annotations

from typing import Any

from ._facts import Shapes, contexts, fill, lstm, numbers, parameters, script, seen, workloads

_INPUTS = ("data", "softmax_label")


def _shapes(mx: Any, steps: int) -> tuple[list[Any], list[Any]]:
    return [mx.io.DataDesc("data", (4, steps))], [mx.io.DataDesc("softmax_label", (4, steps))]


def _batch(mx: Any, number: int, steps: int) -> Any:
    words = [abs(numbers(f"{w} {number}", (4, steps)) * 10).astype(int) % 6 for w in "dl"]
    data, label = _shapes(mx, steps)
    arrays = [[mx.nd.array(w)] for w in words]
    return mx.io.DataBatch(*arrays, bucket_key=steps, provide_data=data, provide_label=label)


def _step(weights: Any, grads: Any) -> None:
    for ws, gs in zip(weights, grads, strict=False):
        for weight, grad in zip(ws, gs, strict=False):
            weight[:] = weight - 0.1 * grad


@script
def manager_buckets(mx):
    answers = {}
    for place in ("one device", "two devices", "four devices", "uneven"):
        symbol = lstm(mx, 2)
        names = parameters(symbol, _INPUTS)
        manager = mx.executor_manager.DataParallelExecutorManager(
            symbol,
            contexts(mx, place),
            Shapes(*_shapes(mx, 2), 4, 2),
            symbol.list_arguments(),
            names,
            [],
            work_load_list=workloads(place),
            sym_gen=lambda steps: lstm(mx, steps),
        )
        fill(manager, names, manager.execgrp.train_execs)
        steps = []
        for number, length in enumerate((2, 3, 4, 2, 3)):
            manager.load_data_batch(_batch(mx, number, length))
            manager.forward(is_train=True)
            manager.backward()
            steps.append(seen(mx, manager.curr_execgrp))
            _step(manager.param_arrays, manager.grad_arrays)
        answers[place] = (
            steps,
            sorted(manager.execgrp_bucket),
            [list(p) for p in manager.param_arrays],
        )
    return answers


@script
def module_group_buckets(mx):
    answers = {}
    for place in ("two devices", "uneven"):
        groups: dict[int, Any] = {}
        steps = []
        for number, length in enumerate((4, 2, 3, 4, 2)):
            if length not in groups:
                symbol = lstm(mx, length)
                names = parameters(symbol, _INPUTS)
                groups[length] = mx.module.executor_group.DataParallelExecutorGroup(
                    symbol, contexts(mx, place), workloads(place), *_shapes(mx, length), names,
                    True, False, shared_group=groups.get(4),
                )  # fmt: skip
            group = groups[length]
            if not number:
                fill(group, names, group.execs)
            group.forward(_batch(mx, number, length))
            group.backward()
            steps.append(seen(mx, group))
            _step(group.param_arrays, group.grad_arrays)
        answers[place] = steps
    return answers
