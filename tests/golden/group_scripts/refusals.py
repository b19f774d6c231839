"""Calls that groups and managers refuse, with the classes of their exceptions."""

from __future__ import annotations

from typing import Any

from ._facts import Shapes, attempt, contexts, fill, mlp, numbers, parameters, script

_INPUTS = ("data", "softmax_label")


def _group(mx: Any, **kwargs: Any) -> Any:
    data = kwargs.pop("data", [mx.io.DataDesc("data", (6, 5))])
    label = kwargs.pop("label", [mx.io.DataDesc("softmax_label", (6,))])
    training, inputs = kwargs.pop("flags", (True, False))
    symbol = kwargs.pop("symbol") if "symbol" in kwargs else mlp(mx)
    names = kwargs.pop("names", parameters(mlp(mx), _INPUTS))
    return mx.module.executor_group.DataParallelExecutorGroup(
        symbol, contexts(mx, "two devices"), kwargs.pop("workload", [1, 1]), data, label, names,
        training, inputs, **kwargs,
    )  # fmt: skip


@script
def module_group_refuses_to_bind(mx):
    desc = mx.io.DataDesc
    cases = {
        "rows differ": {"label": [desc("softmax_label", (8,))]},
        "one row": {"data": [desc("data", (1, 5))], "label": [desc("softmax_label", (1,))]},
        "unknown data": {"data": [desc("data", (6, 5)), desc("nope", (6, 5))]},
        "short list": {"grad_req": ["write"] * 3},
        "no request": {"grad_req": 3},
        "unknown request": {"grad_req": "foo"},
        "few group2ctxs": {"group2ctxs": [{"a": mx.cpu(1)}]},
        "no group2ctxs": {"group2ctxs": 3},
    }
    return {n: attempt(mx, lambda m=kwargs: _group(mx, **m) and 1) for n, kwargs in cases.items()}


@script
def module_group_refuses_to_share(mx):
    def named(name: str, hidden: int) -> Any:
        return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name=name)

    def bound(symbol: Any, name: str, shared: Any) -> Any:
        return _group(
            mx, symbol=symbol, label=None, names=[f"{name}_weight", f"{name}_bias"],
            shared_group=shared,
        )  # fmt: skip

    first = bound(named("f", 3), "f", None)
    return {
        "another name": attempt(mx, lambda: bound(named("g", 3), "g", first) and 1),
        "another shape": attempt(mx, lambda: bound(named("f", 4), "f", first) and 1),
    }


@script
def module_group_refuses_calls(mx):
    group = _group(mx)
    quiet = _group(mx, flags=(False, False))
    x, y = mx.nd.array(numbers("x", (6, 5))), mx.nd.array([0, 1, 2, 0, 1, 2])
    batch = mx.io.DataBatch([x], [y])
    quiet.forward(batch)
    group.forward(batch)
    names = {
        n: mx.nd.ones(a[0].shape)
        for n, a in zip(group.param_names, group.param_arrays, strict=False)
    }
    return {
        "backward": attempt(mx, quiet.backward),
        "input grads": attempt(mx, group.get_input_grads),
        "merged states": attempt(mx, group.get_states),
        "no states": attempt(mx, group.set_states),
        "both states": attempt(mx, lambda: group.set_states(states=[], value=1)),
        "output 5": attempt(mx, lambda: group.get_outputs(begin=0, end=5)),
        "no output": attempt(mx, lambda: group.get_outputs(begin=1)),
        "short heads": attempt(mx, lambda: group.backward([mx.nd.ones((5, 3))])),
        "few rows": attempt(mx, lambda: group.forward(mx.io.DataBatch([x[:4]], [y[:4]]))),
        "few columns": attempt(
            mx, lambda: group.forward(mx.io.DataBatch([mx.nd.ones((6, 3))], [y]))
        ),
        "no label": attempt(mx, lambda: group.forward(mx.io.DataBatch([x], None), is_train=False)),
        "extra array": attempt(mx, lambda: group.forward(mx.io.DataBatch([x, x], [y]))),
        "unknown name": attempt(mx, lambda: group.set_params({"zz": x}, {})),
        "extra name": attempt(mx, lambda: group.set_params({"zz": x}, {}, allow_extra=True)),
        "misshapen": attempt(mx, lambda: group.set_params(dict(names, fc1_bias=x), {})),
        "no aux": attempt(mx, lambda: group.set_params(names, None)),
        "nowhere to": attempt(mx, lambda: group.get_params({}, {})),
        "misfit": attempt(
            mx,
            lambda: group.reshape(
                [mx.io.DataDesc("data", (8, 6))], [mx.io.DataDesc("softmax_label", (8,))]
            ),
        ),
    }


def _manager(mx: Any, symbol: Any, **kwargs: Any) -> Any:
    train = Shapes([mx.io.DataDesc("data", (6, 5))], [mx.io.DataDesc("softmax_label", (6,))], 6, 6)
    names = parameters(symbol, _INPUTS)
    return mx.executor_manager.DataParallelExecutorManager(
        symbol, contexts(mx, "two devices"), train, symbol.list_arguments(), names, [], **kwargs
    )


@script
def manager_refusals(mx):
    symbol = mlp(mx)
    manager = _manager(mx, symbol)
    x, y = mx.nd.array(numbers("x", (6, 5))), mx.nd.array([0, 1, 2, 0, 1, 2])

    def load(*arrays: Any) -> Any:
        return attempt(mx, lambda: manager.load_data_batch(mx.io.DataBatch(*arrays)))

    twice = mx.sym.Variable("a") + mx.sym.Variable("a")
    buckets = _manager(mx, symbol, sym_gen=lambda key: symbol)
    answers = {
        "work load": attempt(mx, lambda: _manager(mx, symbol, work_load_list=[1]) and 1),
        "no work load": attempt(mx, lambda: _manager(mx, symbol, work_load_list=3) and 1),
        "same names": attempt(mx, lambda: mx.executor_manager._check_arguments(twice)),
        "monitor": attempt(mx, lambda: buckets.install_monitor(None)),
        "forward": attempt(mx, manager.forward),
        "backward": attempt(mx, manager.backward),
        "few rows": load([x[:4]], [y[:4]]),
        "many rows": load([mx.nd.ones((8, 5))], [mx.nd.ones((8,))]),
        "few columns": load([mx.nd.ones((6, 3))], [y]),
        "no label": load([x], None),
        "unknown name": attempt(mx, lambda: manager.set_params({"zz": x}, {})),
        "nothing": attempt(mx, lambda: manager.set_params({}, {})),
        "nowhere to": attempt(mx, lambda: manager.copy_to({}, {})),
    }
    fill(manager, parameters(symbol, _INPUTS), manager.execgrp.train_execs)
    answers["good"] = load([x], [y])
    manager.forward()
    return answers, [list(e.outputs) for e in manager.execgrp.train_execs]
