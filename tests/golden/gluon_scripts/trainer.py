"""Trainers: numbering, stores, stale gradients, rates, files, trajectories of optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, folder, numbers, script

TWO = 2
#: Arguments of a trainer by name, for one context or two.
MODES: dict[str, tuple[int, dict[str, Any]]] = {
    "one": (1, {}),
    "on store": (TWO, {}),
    "sums": (TWO, {"update_on_kvstore": False}),
    "apart": (TWO, {"kvstore": None}),
}
MOMENTUM = {"learning_rate": 1.0, "momentum": 0.5}


def _parameter(mx: Any, name: str = "a", contexts: int = 1, **options: Any) -> Any:
    parameter = mx.gluon.Parameter(name, shape=(2,), init=mx.init.One(), **options)
    parameter.initialize(ctx=[mx.cpu(k) for k in range(contexts)])
    return parameter


def trainer_of(mx: Any, mode: str = "one", names: str = "ab", **options: Any) -> Any:
    """Parameters and their trainer."""
    contexts, arguments = MODES[mode]
    parameters = [_parameter(mx, name, contexts) for name in names]
    options = {"optimizer_params": {"learning_rate": 1.0}, **arguments, **options}
    return parameters, mx.gluon.Trainer(parameters, options.pop("optimizer", "sgd"), **options)


def backward(mx: Any, *parameters: Any, scale: float = 1.0) -> None:
    """Gradients of 1 in the first context, of 2 in the second."""
    for parameter in parameters:
        with mx.autograd.record():
            arrays = parameter.list_data()
            losses = [(x * (k + 1) * scale).sum() for k, x in enumerate(arrays)]
        mx.autograd.backward(losses)


def _outcome(mx: Any, action: Any) -> Any:
    """The result of an action, or the classes of its exception."""
    result = attempt(mx, action)
    return {"raises": result["raises"]} if isinstance(result, dict) else result


def _weights(*parameters: Any) -> list[Any]:
    return [[float(x[0].asscalar()) for x in p.list_data()] for p in parameters]


def _grads(*parameters: Any) -> list[Any]:
    return [[float(x[0].asscalar()) for x in p.list_grad()] for p in parameters]


def _fresh(*parameters: Any) -> list[Any]:
    return [[bool(x._fresh_grad) for x in p.list_data()] for p in parameters]


def _store(trainer: Any) -> list[Any]:
    store = trainer._kvstore
    return [store and store.type, bool(trainer._update_on_kvstore), bool(trainer._distributed)]


@script
def trainer_arguments(mx):
    trainer = mx.gluon.Trainer
    parameter = _parameter(mx)
    two = [parameter, _parameter(mx, "b", TWO)]
    unknown = mx.gluon.Parameter("u", shape=(0, 2), allow_deferred_init=True)
    actions = {
        "single": lambda: trainer(parameter, "sgd"),
        "generator": lambda: trainer(iter([parameter]), "sgd"),
        "entries": lambda: trainer([parameter, 3], "sgd"), "none": lambda: trainer([], "sgd"),
        "dictionary": lambda: trainer(mx.gluon.ParameterDict(), "sgd"),
        "contexts": lambda: trainer(two, "sgd"),
        "uninitialized": lambda: trainer([mx.gluon.Parameter("u", shape=(2,))], "sgd"),
        "unknown": lambda: trainer([unknown], "sgd"),
        "optimizer": lambda: trainer([parameter], "foo"),
        "both": lambda: trainer([parameter], mx.optimizer.SGD(), {"learning_rate": 0.5}),
        "argument": lambda: trainer([parameter], "sgd", {"foo": 1}),
        "empty": lambda: trainer([parameter], mx.optimizer.SGD(), {}).learning_rate,
        "rescale": lambda: trainer([parameter], "sgd", {"rescale_grad": 0.5})._scale,
    }  # fmt: skip
    return {name: _outcome(mx, action) for name, action in actions.items()}


@script
def order_of_the_parameters(mx):
    names = ["dense10_weight", "dense1_weight", "dense2_weight"]
    parameters = {n: _parameter(mx, n) for n in names}
    keys = dict(zip("zyx", parameters.values(), strict=False))
    listed = [list(parameters.values()), parameters, keys]
    trainers = [mx.gluon.Trainer(p, "sgd") for p in listed]
    return [[p.name for p in t._params] for t in trainers], [t._param2idx for t in trainers]


@script
def stores_and_updates(mx):
    seen: dict[str, Any] = {}
    for kvstore in (None, "local", "device", "local object", "teststore"):
        for on_store in (None, True, False):
            for contexts in (1, TWO):
                parameter = _parameter(mx, contexts=contexts)
                store = mx.kv.create("local") if kvstore == "local object" else kvstore
                trainer = mx.gluon.Trainer(
                    [parameter], "sgd", {"learning_rate": 1.0}, store, update_on_kvstore=on_store
                )
                backward(mx, parameter)
                result = _outcome(mx, lambda trainer=trainer: trainer.step(1))
                facts = [_store(trainer), _weights(parameter), _grads(parameter)]
                seen[f"{kvstore} {on_store} {contexts}"] = [result, *facts]
    return seen


@script
def store_is_chosen_by_the_environment(mx):
    import os

    before = os.environ.get("MXNET_UPDATE_ON_KVSTORE")
    seen = []
    try:
        os.environ["MXNET_UPDATE_ON_KVSTORE"] = "0"
        for wish in (None, True):
            parameters, trainer = trainer_of(mx, "on store", update_on_kvstore=wish)
            backward(mx, *parameters)
            trainer.step(1)
            seen.append(_store(trainer))
    finally:
        os.environ.pop("MXNET_UPDATE_ON_KVSTORE")
        if before is not None:
            os.environ["MXNET_UPDATE_ON_KVSTORE"] = before
    return seen


@script
def stores_of_another_type(mx):
    seen = []
    for contexts in (1, TWO):
        trainer = mx.gluon.Trainer([_parameter(mx, contexts=contexts)], "sgd", kvstore=3)
        seen.append(_outcome(mx, lambda trainer=trainer: trainer.step(1)))
    return seen


@script
def array_in_the_store_of_one_context(mx):
    store, pulled = mx.kv.create("local"), mx.nd.zeros((2,))
    parameters, trainer = trainer_of(mx, kvstore=store)
    backward(mx, *parameters)
    trainer.step(1)
    store.pull(1, out=pulled)
    return pulled, _weights(*parameters)


@script
def parts_of_a_step(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        parameters, trainer = trainer_of(mx, mode)
        backward(mx, *parameters)
        observations: list[Any] = []
        reduce = trainer.allreduce_grads
        for action in (reduce, reduce, lambda trainer=trainer: trainer.update(4)):
            result = _outcome(mx, action)
            observations.append([result, _grads(*parameters), _weights(*parameters)])
        seen[mode] = [observations, trainer.optimizer.rescale_grad]
    return seen


def _after(mx: Any, trainer: Any, parameters: Any, *arguments: Any) -> list[Any]:
    result = _outcome(mx, lambda: trainer.step(*arguments))
    counts = dict(trainer.optimizer._index_update_count)
    return [result, _weights(*parameters), _fresh(*parameters), counts]


@script
def stale_gradients(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        parameters, trainer = trainer_of(mx, mode)
        backward(mx, parameters[0])
        seen[mode] = [_after(mx, trainer, parameters, 1, True) for _ in range(2)]
        backward(mx, *parameters)
        seen[mode].append(_after(mx, trainer, parameters, 2))
    return seen


@script
def stale_gradients_that_are_refused(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        parameters, trainer = trainer_of(mx, mode)
        seen[mode] = [_after(mx, trainer, parameters, 1)]
        backward(mx, parameters[0])
        seen[mode].append(_after(mx, trainer, parameters, 1))
    return seen


@script
def gradients_of_some_contexts(mx):
    seen = []
    for mode in ("on store", "sums", "apart"):
        (parameter,), trainer = trainer_of(mx, mode, "a")
        for ignore in (True, True):
            with mx.autograd.record():
                loss = (parameter.data(mx.cpu(0)) * 1).sum()
            loss.backward()
            trainer.step(1, ignore)
            seen.append([_weights(parameter), _fresh(parameter)])
    return seen


@script
def parameter_that_is_there_twice(mx):
    parameter = _parameter(mx)
    trainer = mx.gluon.Trainer([parameter, parameter], "sgd", {"learning_rate": 1.0})
    backward(mx, parameter)
    seen = [_outcome(mx, lambda: trainer.step(1)), _weights(parameter)]
    backward(mx, parameter)
    trainer.step(1, True)
    return [*seen, _weights(parameter)]


@script
def requests_that_change(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        parameters, trainer = trainer_of(mx, mode, "abc")
        first, second, third = parameters
        second.grad_req = "null"
        backward(mx, first, third)
        trainer.step(1)
        second.grad_req = "write"
        backward(mx, *parameters)
        trainer.step(1)
        second.grad_req = "add"
        backward(mx, first, second, second, third)
        trainer.step(1)
        counts = dict(trainer.optimizer._index_update_count)
        seen[mode] = [_weights(*parameters), _grads(*parameters), counts]
    return seen


@script
def batch_sizes_and_scale(mx):
    parameters, trainer = trainer_of(mx)
    seen: list[Any] = []
    for size in (4, 1, np.float32(2), -1):
        backward(mx, *parameters)
        trainer.step(size)
        seen.append([trainer.optimizer.rescale_grad, _weights(*parameters)])
    trainer._scale = 2.0
    backward(mx, *parameters)
    trainer.step(1)
    seen.append(_weights(*parameters))
    return [*seen, *[_outcome(mx, lambda size=size: trainer.step(size)) for size in (0, None, "a")]]


@script
def rates_and_schedules(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        parameters, trainer = trainer_of(mx, mode)
        rates = [trainer.learning_rate]
        for rate in (0.5, 0.25):
            trainer.set_learning_rate(rate)
            backward(mx, *parameters)
            trainer.step(1)
            rates.append([trainer.learning_rate, trainer.optimizer.lr, _weights(*parameters)])
        schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
        parameters, trainer = trainer_of(mx, mode, optimizer_params={"lr_scheduler": schedule})
        rates.append(_outcome(mx, lambda t=trainer: t.set_learning_rate(0.5)))
        for _ in range(4):
            backward(mx, *parameters)
            trainer.step(1)
            facts = [trainer.optimizer.num_update, _weights(*parameters)]
            rates.append([trainer.learning_rate, *facts])
        seen[mode] = rates
    return seen


@script
def multipliers(mx):
    seen = []
    for contexts in (1, TWO):
        a = _parameter(mx, "a", contexts, lr_mult=0.5)
        b = _parameter(mx, "b_weight", contexts, wd_mult=2.0)
        c = _parameter(mx, "c_bias", contexts)
        trainer = mx.gluon.Trainer([a, b, c], "sgd", {"learning_rate": 1.0, "wd": 0.125})
        for multiplier in (0.5, 2.0, 0.0):
            a.lr_mult = multiplier
            backward(mx, a, b, c)
            trainer.step(1)
            seen.append(_weights(a, b, c))
        seen.append([p.name for p in trainer.optimizer.param_dict.values()])
        seen.append([trainer.optimizer.idx2name, trainer.optimizer.lr_mult])
    return seen


@script
def compressed_gradients(mx):
    seen: dict[str, Any] = {}
    params = {"type": "2bit", "threshold": 0.5}
    for kvstore in ("device", None):
        for contexts in (1, TWO):
            mode = "one" if contexts == 1 else "on store"
            for on_store in (None, False):
                options = {"kvstore": kvstore, "update_on_kvstore": on_store}
                parameters, trainer = trainer_of(mx, mode, compression_params=params, **options)
                for _ in range(2):
                    backward(mx, parameters[0], scale=0.3)
                    backward(mx, parameters[1])
                    trainer.step(1)
                key = f"{kvstore} {contexts} {on_store}"
                seen[key] = [_weights(*parameters), _grads(*parameters)]
    _, trainer = trainer_of(mx, "on store", compression_params={"type": "foo"})
    seen["type"] = _outcome(mx, lambda: trainer.step(1))
    return seen


@script
def contents_that_are_set(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        parameters, trainer = trainer_of(mx, mode, optimizer_params=MOMENTUM)
        first = parameters[0]
        values: list[Any] = []
        first.set_data(mx.nd.array([5, 5]))
        for _ in range(2):
            backward(mx, *parameters)
            trainer.step(1)
        values.append(_weights(*parameters))
        first.set_data(mx.nd.array([5, 5]))
        values.append([trainer._kv_initialized, _store(trainer)])
        backward(mx, *parameters)
        trainer.step(1)
        values.append([_weights(*parameters), dict(trainer.optimizer._index_update_count)])
        first.data(mx.cpu(0))[:] = 7
        backward(mx, *parameters)
        trainer.step(1)
        values.append(_weights(*parameters))
        first.initialize(init=mx.init.Constant(3), ctx=first.list_ctx(), force_reinit=True)
        backward(mx, *parameters)
        trainer.step(1)
        seen[mode] = [*values, _weights(*parameters)]
    return seen


@script
def contexts_begin_with_different_contents(mx):
    seen = []
    for mode in ("on store", "sums", "apart"):
        (parameter,), trainer = trainer_of(mx, mode, "a")
        parameter.list_data()[1][:] = 10
        backward(mx, parameter)
        trainer.step(1)
        seen.append(_weights(parameter))
    return seen


@script
def contexts_that_change(mx):
    seen = []
    for contexts in (1, TWO):
        mode = "one" if contexts == 1 else "on store"
        parameters, trainer = trainer_of(mx, mode)
        parameters[0].reset_ctx([mx.cpu(k) for k in range(3 - contexts)])
        for _ in range(2):
            backward(mx, *parameters)
            trainer.step(1)
            seen.append(_weights(*parameters))
    return seen


@script
def deferred_parameters(mx):
    seen = []
    for kvstore in ("device", None):
        for contexts in (1, TWO):
            parameter = _parameter(mx, contexts=contexts)
            other = mx.gluon.Parameter("d", shape=(0,), init="ones", allow_deferred_init=True)
            other.initialize(ctx=parameter.list_ctx())
            both = [parameter, other]
            trainer = mx.gluon.Trainer(both, "sgd", {"learning_rate": 1.0}, kvstore)
            backward(mx, parameter)
            actions = (trainer.step, trainer.save_states)
            seen += [_outcome(mx, lambda action=action: action(1)) for action in actions]
            facts = [trainer._kv_initialized, len(trainer._params_to_init)]
            seen.append([*facts, _weights(parameter)])
            other.shape = (2,)
            other._finish_deferred_init()
            backward(mx, other)
            trainer.step(1)
            seen.append([_weights(*both), trainer._kv_initialized, trainer._params_to_init])
    return seen


@script
def two_trainers_of_one_parameter(mx):
    seen = []
    for contexts in (1, TWO):
        parameter = _parameter(mx, contexts=contexts)
        trainers = [
            mx.gluon.Trainer([parameter], "sgd", {"learning_rate": rate}) for rate in (1.0, 0.5)
        ]
        for trainer in trainers:
            backward(mx, parameter)
            trainer.step(1)
            seen.append(_weights(parameter))
    return seen


@script
def step_while_recording(mx):
    parameter = _parameter(mx)
    trainer = mx.gluon.Trainer([parameter], "sgd", {"learning_rate": 1.0})
    with mx.autograd.record():
        loss = (parameter.data() * 2).sum()
        loss.backward()
        raised = _outcome(mx, lambda: trainer.step(1))
    return raised


def _state(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_state(v) for v in value]
    return value


def _states(updater: Any) -> dict[str, Any]:
    return {str(k): _state(v) for k, v in updater.states.items()}


@script
def files_of_states(mx):
    seen: dict[str, Any] = {}
    for mode in MODES:
        with folder() as path:
            name = str(path / "x.states")
            parameters, trainer = trainer_of(mx, mode, optimizer_params=MOMENTUM)
            trainer.save_states(name)
            values: list[Any] = [trainer._kv_initialized]
            for _ in range(2):
                backward(mx, *parameters)
                trainer.step(1)
            trainer.save_states(name)
            values.append([[p.name for p in trainer.optimizer.param_dict.values()]])
            others, other = trainer_of(mx, mode, optimizer_params={"learning_rate": 0.5})
            former = other.optimizer
            other.load_states(name)
            same = [u.optimizer is other.optimizer for u in other._updaters]
            values.append([former is other.optimizer, same, other.learning_rate, other._scale])
            values.append([p is others[i] for i, p in other.optimizer.param_dict.items()])
            values.append([other.optimizer.num_update, other.optimizer.momentum])
            values.append(other.optimizer._all_index_update_counts)
            for rate in (1.0, 0.125):
                other.set_learning_rate(rate)
                backward(mx, *others)
                other.step(1)
                values.append(_weights(*others))
            values.append(list(map(_states, other._updaters)))
            _, adam = trainer_of(mx, mode, optimizer="adam")
            adam.load_states(name)
            values.append(type(adam.optimizer).__name__)
            fewer, third = trainer_of(mx, mode, "a")
            third.load_states(name)
            backward(mx, *fewer)
            third.step(1)
            values.append(_weights(*fewer))
            missing = str(path / "missing")
            values.append(_outcome(mx, lambda t=other, missing=missing: t.load_states(missing)))
            seen[mode] = values
    return seen


@script
def half_precision(mx):
    options = {**MOMENTUM, "multi_precision": True}
    parameters = [_parameter(mx, "a", dtype="float16"), _parameter(mx, "b")]
    trainer = mx.gluon.Trainer(parameters, "sgd", options)
    for _ in range(2):
        backward(mx, *parameters)
        trainer.step(4)
    return [p.data() for p in parameters], _states(trainer._updaters[0])


OPTIMIZERS = (
    "adadelta", "adagrad", "adam", "adamax", "dcasgd", "ftml", "ftrl", "lamb", "lars", "lbsgd",
    "nadam", "nag", "rmsprop", "sgd", "signum", "test",
)  # fmt: skip


@script
def trajectories(mx):
    """Three steps of every optimizer that draws no random numbers, with one context and two."""
    seen: dict[str, Any] = {}
    for name in OPTIMIZERS:
        for mode in ("one", "on store", "sums"):
            contexts, arguments = MODES[mode]
            parameters = []
            for key, shape in (("w_weight", (2, 3)), ("b_bias", (2,))):
                parameter = mx.gluon.Parameter(key, shape=shape)
                parameter.initialize(ctx=[mx.cpu(k) for k in range(contexts)])
                parameter.set_data(mx.nd.array(numbers(key, shape)))
                parameters.append(parameter)
            options = {"wd": 0.01} if name != "test" else {}
            trainer = mx.gluon.Trainer(parameters, name, options, **arguments)
            for step in range(3):
                losses = []
                with mx.autograd.record():
                    for k in range(contexts):
                        x = mx.nd.array(numbers(f"x{step}{k}", (4, 3)), ctx=mx.cpu(k))
                        w, b = (p.list_data()[k] for p in parameters)
                        losses.append((mx.nd.dot(x, w.T) + b).square().sum())
                mx.autograd.backward(losses)
                trainer.step(4 * contexts)
            seen[f"{name} {mode}"] = [p.list_data()[-1] for p in parameters]
    return seen


@script
def parameters_of_several_trainers(mx):
    """A parameter may have several trainers, unless its rows are sparse."""
    seen = {}
    for options in ({}, {"grad_stype": "row_sparse"}, {"stype": "row_sparse"}):
        parameter = mx.gluon.Parameter("rows", shape=(3, 2), **options)
        parameter.initialize()
        trainers = [mx.gluon.Trainer([parameter], "sgd")]
        key = " ".join(options) or "dense"
        again = attempt(mx, lambda p=parameter, t=trainers: t.append(mx.gluon.Trainer([p], "sgd")))
        seen[key] = [again, len(trainers)]
    return seen
