"""Optimizers on recorded gradients: updates are a part of the step's program, as an executor's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd

from .test_recorded_programs import Network, programs_of

#: GroupAdaGrad updates matrices only; SVRG registers one of its own where it is imported.
OPTIMIZERS = sorted({*mx.optimizer.Optimizer.opt_registry} - {"groupadagrad", "_svrgoptimizer"})
Update = Callable[[list[Any], list[Any]], None]


def by_lists(optimizer: Any, parameters: list[Any]) -> Update:
    updater = mx.optimizer.get_updater(optimizer)
    return lambda grads, weights: updater([*range(len(weights))], grads, weights)


def one_by_one(optimizer: Any, parameters: list[Any]) -> Update:
    updater = mx.optimizer.get_updater(optimizer)

    def update(grads, weights):
        for i, (grad, weight) in enumerate(zip(grads, weights, strict=True)):
            updater(i, grad, weight)

    return update


def by_states(optimizer: Any, parameters: list[Any]) -> Update:
    states = [optimizer.create_state_multi_precision(i, p) for i, p in enumerate(parameters)]

    def update(grads, weights):
        for i, (grad, weight) in enumerate(zip(grads, weights, strict=True)):
            optimizer.update_multi_precision(i, weight, grad, states[i])

    return update


def recorded_training(name: str, way: Any) -> tuple[Network, Callable[[], None]]:
    """A network, and the function that takes a step."""
    net = Network()
    update = way(mx.optimizer.create(name), net.parameters)

    def step() -> None:
        with autograd.record():
            loss = net.forward()
        loss.backward()
        update([p.grad for p in net.parameters], net.parameters)

    return net, step


def executed_training(name: str) -> tuple[Network, Callable[[], None]]:
    """The same with an executor."""
    sym, net = mx.sym, Network()
    data, w1, b1, w2, b2, label = map(sym.var, ("data", "w1", "b1", "w2", "b2", "label"))
    hidden = sym.tanh(sym.FullyConnected(data, w1, b1, num_hidden=8))
    scores = sym.FullyConnected(hidden, w2, b2, num_hidden=3)
    args = dict(zip(("w1", "b1", "w2", "b2"), net.parameters, strict=True))
    executor = (-sym.pick(sym.log_softmax(scores), label)).bind(
        mx.cpu(),
        {**args, "data": net.data, "label": net.label},
        {n: p.grad for n, p in args.items()},
    )
    update = by_lists(mx.optimizer.create(name), net.parameters)

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((5,)))
        update([p.grad for p in net.parameters], net.parameters)

    return net, step


def after(training: tuple[Network, Callable[[], None]], steps: int) -> list[bytes]:
    net, step = training
    for _ in range(steps):
        step()
    return [v.tobytes() for v in net.values()]


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_way_of_updating_is_one_program_and_copies_nothing(name):
    for way in (by_lists, one_by_one, by_states):
        training = recorded_training(name, way)
        after(training, 3)
        assert programs_of(training[1]) == (1, 0)


@pytest.mark.usefixtures("fresh_programs", "compiled")
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_compiled_steps_donate_what_they_update(name):
    net, step = recorded_training(name, by_lists)
    after((net, step), 2)
    held = net.parameters[0].jax
    assert programs_of(step)[0] == 1
    net.parameters[0].wait_to_read()
    assert not held.is_deleted(), "a reference holds it, so that it was copied first"
    del held
    assert programs_of(step) == (1, 0)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_recorded_trainings_are_those_of_executors_to_the_last_bit(name):
    mx.random.seed(1)
    expected = after(executed_training(name), 4)
    for way in (by_lists, one_by_one):
        mx.random.seed(1)
        assert after(recorded_training(name, way), 4) == expected


def test_updates_in_the_user_s_own_words():
    """Arithmetic and MXNet's update operators on gradients that wait."""

    def steps(update: Callable[[Any], Any]) -> list[Any]:
        net = Network()
        for _ in range(3):
            with autograd.record():
                loss = net.forward()
            loss.backward()
            for p in net.parameters:
                update(p)
        return net.values()

    def in_place(p):
        p -= 0.125 * p.grad

    def assigned(p):
        p[:] = p - 0.125 * p.grad

    expected = steps(in_place)
    for update in (assigned, lambda p: mx.nd.sgd_update(p, p.grad, out=p, lr=0.125)):
        for a, b in zip(steps(update), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
