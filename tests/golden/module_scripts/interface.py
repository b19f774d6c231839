"""Names, states of a module, and what is refused when."""

from __future__ import annotations

import inspect
import warnings

from ._facts import attempt, batch, bound, contexts, convnet, mlp, script

_DATA, _LABEL = [("data", (8, 5))], [("softmax_label", (8,))]


def _warned(act):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [w.category.__name__ for w in caught]


@script
def paths(mx):
    return [
        mx.mod.Module is mx.module.module.Module,
        mx.module is mx.mod,
        mx.module.base_module.BaseModule.__name__,
        mx.module.bucketing_module.BucketingModule.__name__,
        mx.module.sequential_module.SequentialModule.__name__,
        mx.module.python_module.PythonModule.__name__,
        mx.module.python_module.PythonLossModule.__name__,
        mx.module.executor_group.DataParallelExecutorGroup.__name__,
        issubclass(mx.mod.BucketingModule, mx.mod.BaseModule),
        issubclass(mx.mod.PythonLossModule, mx.mod.PythonModule),
    ]


@script
def signatures(mx):
    """Names of all arguments, in order."""
    answers = {}
    for kind in ("BaseModule", "Module", "BucketingModule", "SequentialModule", "PythonModule",
                 "PythonLossModule"):  # fmt: skip
        klass = getattr(mx.mod, kind)
        for name in sorted(dir(klass)):
            if kind == "BucketingModule" and name.endswith("_optimizer_states"):
                continue  # which MXNet's does not have
            member = getattr(klass, name)
            if callable(member) and (not name.startswith("_") or name == "__init__"):
                arguments = [a for a in inspect.signature(member).parameters if a != "self"]
                answers[f"{kind}.{name}"] = arguments
            elif not name.startswith("_"):
                answers[f"{kind}.{name}"] = None
    return answers


@script
def descriptions(mx):
    answers = {}
    for count in (1, 2):
        module = mx.mod.Module(convnet(mx), context=contexts(mx, count), state_names=[])
        names = module.data_names, module.label_names, module.output_names
        flags = [
            module.binded, module.for_training, module.inputs_need_grad,
            module.params_initialized, module.optimizer_initialized,
        ]  # fmt: skip
        module.bind([mx.io.DataDesc("data", (8, 1, 4, 4))], _LABEL, inputs_need_grad=True)
        shapes = [list(map(tuple, s)) for s in (module.data_shapes, module.label_shapes)]
        after = [module.binded, module.for_training, module.inputs_need_grad]
        answers[count] = names, flags, shapes, module.output_shapes, after, module.symbol.name
    return answers


@script
def too_early(mx):
    module = mx.mod.Module(mlp(mx))
    metric = mx.metric.create("acc")

    def calls(module):
        return {
            "get_params": module.get_params,
            "init_params": module.init_params,
            "init_optimizer": module.init_optimizer,
            "forward": lambda: module.forward(batch(mx, 0)),
            "backward": module.backward,
            "update": module.update,
            "get_outputs": module.get_outputs,
            "get_input_grads": module.get_input_grads,
            "get_states": module.get_states,
            "set_states": module.set_states,
            "set_params": lambda: module.set_params({}, {}),
            "score": lambda: module.score(None, metric),
            "predict": lambda: module.predict(None),
            "iter_predict": lambda: next(module.iter_predict(None)),
            "reshape": lambda: module.reshape(_DATA),
            "prepare": lambda: module.prepare(batch(mx, 0)),
            "install_monitor": lambda: module.install_monitor(None),
            "save_optimizer_states": lambda: module.save_optimizer_states("/nowhere/x"),
            "load_optimizer_states": lambda: module.load_optimizer_states("/nowhere/x"),
            "data_shapes": lambda: module.data_shapes,
            "label_shapes": lambda: module.label_shapes,
            "output_shapes": lambda: module.output_shapes,
        }

    answers = {n: attempt(mx, c) for n, c in calls(module).items()}
    module.bind(_DATA, _LABEL)
    later = {
        n: attempt(mx, calls(module)[n])
        for n in ("get_params", "init_optimizer", "forward", "backward", "update", "get_outputs",
                  "score", "predict")
    }  # fmt: skip
    module.init_params()
    return answers, later, attempt(mx, module.update)


@script
def names_that_are_not_there(mx):
    net = mlp(mx)
    return {
        "data": attempt(mx, lambda: mx.mod.Module(net, data_names=["x"])),
        "label": _warned(lambda: mx.mod.Module(net, label_names=["x"])),
        "fixed": attempt(mx, lambda: mx.mod.Module(net, fixed_param_names=["x"])),
        "state": attempt(mx, lambda: mx.mod.Module(net, state_names=["x"])),
        "workload": attempt(mx, lambda: mx.mod.Module(net, work_load_list=[1, 2])),
        "bind": attempt(mx, lambda: mx.mod.Module(net).bind([("x", (8, 5))], _LABEL)),
        "no label": _warned(lambda: mx.mod.Module(net).bind(_DATA, for_training=False)),
        "inputs": attempt(
            mx, lambda: mx.mod.Module(net).bind(_DATA, _LABEL, False, inputs_need_grad=True)
        ),
    }  # fmt: skip


@script
def done_already(mx):
    """Effects of a second call: a warning, or a replacement."""
    module = bound(mx, mlp(mx))
    before = module._exec_group
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    answers = [module._exec_group is before]
    answers.append(_warned(module.init_params))
    answers.append(_warned(lambda: module.set_params({}, {}, force_init=False)))
    answers.append(_warned(lambda: module.set_params({}, {}, True, force_init=False)))
    module.init_optimizer()
    optimizer = module._optimizer
    module.init_optimizer(optimizer="adam")
    answers.append(module._optimizer is optimizer)
    module.init_optimizer(optimizer="adam", force_init=True)
    answers.append(type(module._optimizer).__name__)
    module.bind([("data", (2, 5))], [("softmax_label", (2,))], force_rebind=True)
    answers.append((module.params_initialized, module.optimizer_initialized))
    answers.append([tuple(d) for d in module.data_shapes])
    answers.append(_warned(lambda: module.prepare(batch(mx, 0), sparse_row_id_fn=lambda b: {})))
    sgd = mx.optimizer.SGD()
    answers.append(_warned(lambda: module.init_optimizer(optimizer=sgd, force_init=True)))
    return answers


@script
def abstract(mx):
    module = mx.mod.BaseModule()
    absent = [
        attempt(mx, act) for act in (
            lambda: module.data_names, lambda: module.output_names, lambda: module.data_shapes,
            lambda: module.label_shapes, lambda: module.output_shapes, module.get_params,
            module.init_params, module.backward, module.get_outputs, module.get_input_grads,
            module.update, module.init_optimizer, lambda: module.forward(None),
            lambda: module.bind(None), lambda: module.install_monitor(None),
            lambda: module.update_metric(None, None), module.get_states, module.set_states,
        )
    ]  # fmt: skip
    return absent, module.symbol, module.prepare(None)
