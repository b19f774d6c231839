"""Checkpoints, parameter files and optimizer states."""

from __future__ import annotations

import os
import pickle
import tempfile

from ._facts import attempt, batch, bound, contexts, convnet, mlp, numbers, script, trained


def _step(mx, module, *numbers_of_batches):
    for number in numbers_of_batches:
        module.forward_backward(batch(mx, number))
        module.update()


@script
def saved_and_loaded(mx):
    answers = {}
    options = {"optimizer": "sgd", "optimizer_params": {"learning_rate": 0.2, "momentum": 0.9}}
    for count in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "net")
            module = bound(mx, mlp(mx), context=contexts(mx, count))
            module.init_optimizer(**options)
            _step(mx, module, 0, 1)
            module.save_checkpoint(prefix, 2, save_optimizer_states=True)
            names = sorted(os.listdir(folder))
            _step(mx, module, 2, 3)
            loaded = mx.mod.Module.load(prefix, 2, True, context=contexts(mx, count))
            state = loaded.binded, loaded.params_initialized, loaded.optimizer_initialized
            loaded.bind([("data", (8, 5))], [("softmax_label", (8,))])
            first = trained(loaded)
            loaded.init_optimizer(**options)
            _step(mx, loaded, 2, 3)
            with open(f"{prefix}-0002.states", "rb") as file:
                keys = pickle.loads(file.read()) if "mxnet" in mx.__name__ else None
            answers[count] = names, state, first, trained(loaded), trained(module)
            assert keys is None or set(keys) in ({0, 1, 2, 3}, set(trained(module)))
    return answers


@script
def parameter_files(mx):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.params")
        module = bound(mx, convnet(mx), (8, 1, 4, 4))
        module.save_params(path)
        entries = sorted(mx.nd.load(path))
        other = mx.mod.Module(convnet(mx))
        other.bind([("data", (4, 1, 4, 4))], [("softmax_label", (4,))])
        other.load_params(path)
        mx.nd.save(path, {"who:x": mx.nd.ones((1,))})
        wrong = attempt(mx, lambda: other.load_params(path))
        return entries, trained(other), wrong


@script
def setting_parameters(mx):
    module = bound(mx, mlp(mx))
    ones = {n: mx.nd.ones(a.shape) for n, a in module.get_params()[0].items()}
    answers = []
    module.set_params({"fc1_bias": ones["fc1_bias"]}, {}, allow_missing=True)
    answers.append(trained(module))
    unknown = {"x": mx.nd.ones((1,))}
    answers.append(attempt(mx, lambda: module.set_params(unknown, {}, allow_missing=True)))
    module.set_params(unknown, {}, allow_missing=True, allow_extra=True)
    module.set_params({**ones, **unknown}, {})
    answers.append(trained(module))
    answers.append(attempt(mx, lambda: module.set_params({"fc1_bias": ones["fc1_bias"]}, {})))
    wrong = {**ones, "fc1_bias": mx.nd.ones((5,))}
    answers.append("raises" in str(attempt(mx, lambda: module.set_params(wrong, {}))))
    module.init_params(mx.init.One(), force_init=True)
    answers.append(trained(module))
    half = {"fc2_weight": mx.nd.array(numbers("h", (4, 6)), dtype="float16")}
    module.init_params(mx.init.Zero(), half, {}, allow_missing=True, force_init=True)
    answers.append(trained(module))
    return answers


@script
def shared_modules(mx):
    """Parameters, gradients and optimizer of one module, used by another."""
    module = bound(mx, mlp(mx))
    module.init_optimizer(optimizer_params={"learning_rate": 0.2, "momentum": 0.9})
    other = mx.mod.Module(mlp(mx))
    other.bind([("data", (4, 5))], [("softmax_label", (4,))], shared_module=module)
    answers = [(other.params_initialized, other.optimizer_initialized)]
    _step(mx, module, 0)
    other.forward_backward(batch(mx, 1, (4, 5), (4,)))
    other.update()
    answers += [trained(module), trained(other)]
    third = bound(mx, mlp(mx))
    third.borrow_optimizer(module)
    _step(mx, third, 0)
    answers += [trained(third), third._optimizer is module._optimizer]
    fresh = mx.mod.Module(mlp(mx))
    answers.append(attempt(mx, lambda: third.borrow_optimizer(fresh)))
    for shared in (fresh, 3):
        answers.append(
            attempt(mx, lambda s=shared: mx.mod.Module(mlp(mx)).bind(
                [("data", (4, 5))], [("softmax_label", (4,))], shared_module=s))
        )  # fmt: skip
    return answers
