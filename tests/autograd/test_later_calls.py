"""Calls outside ``record()`` on values that wait: they wait, too, and divide no program."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd

from .test_recorded_programs import Network, programs_of

pytestmark = pytest.mark.usefixtures("fresh_programs")


def recorded(numbers: Any = (1.0, -2.0, 3.0)) -> tuple[Any, Any]:
    """A variable, and what is recorded of it and not computed yet."""
    x = nd.array(numbers)
    x.attach_grad()
    with autograd.record():
        y = x * x
    return x, y


def _mean_before_backward(net: Network) -> Any:
    with autograd.record():
        loss = net.forward()
    mean = loss.mean()
    loss.backward()
    net.update()
    return mean.asscalar()


def _mean_before_update(net: Network) -> Any:
    with autograd.record():
        loss = net.forward()
    loss.backward()
    half = loss.mean() / 2 + 1
    net.update()
    return (half - 1).asscalar() * 2


def _measured(net: Network) -> Any:
    metric = mx.metric.Loss()
    with autograd.record():
        loss = net.forward()
    metric.update(None, [loss])
    loss.backward()
    metric.update(None, [loss * 2])
    net.update()
    return metric.get()[1] / 1.5


def _mean_after_update(net: Network) -> Any:
    with autograd.record():
        loss = net.forward()
    loss.backward()
    net.update()
    return loss.mean().asscalar()


@pytest.mark.parametrize("loop", [_mean_before_backward, _mean_before_update, _measured])
@pytest.mark.usefixtures("automatic")
def test_what_is_averaged_for_the_log_costs_no_program(loop):
    net, plain = Network(), Network()
    means = [loop(net) for _ in range(4)]
    expected = [_mean_after_update(plain) for _ in range(4)]
    np.testing.assert_allclose(means, expected, rtol=1e-6)
    assert programs_of(lambda: loop(net)) == (1, 0)
    _mean_after_update(plain)
    assert [v.tobytes() for v in net.values()] == [v.tobytes() for v in plain.values()]


def test_a_loop_that_logs_now_and_then_is_traced_once():
    net, log = Network(), []
    for i in range(25):
        if i == 2:
            traces = mx.program.cache_info().traces
        with autograd.record():
            loss = net.forward()
        loss.backward()
        if i % 5 == 0:
            log.append(loss.mean())
        net.update()
    assert mx.program.cache_info().traces == traces
    assert sorted((float(x.asscalar()) for x in log), reverse=True) == [x.asscalar() for x in log]


def test_a_call_that_waits_sees_its_inputs_as_they_were():
    x, y = recorded()
    factor = nd.array([1.0, 10.0, 100.0])
    product, total = y * factor, nd.zeros((3,))
    total += y
    factor[:] = 0
    y[:] = 7
    total[0] = 5
    assert product.asnumpy().tolist() == [1, 40, 900]
    assert total.asnumpy().tolist() == [5, 4, 9]
    assert y.asnumpy().tolist() == [7, 7, 7]
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, -4, 6]


def test_errors_are_those_of_calls_at_once_and_are_raised_by_the_call():
    _, y = recorded()
    with pytest.raises(mx.MXNetError):
        nd.dot(y, nd.ones((4, 2)))
    assert y.asnumpy().tolist() == [1, 4, 9]


def test_calls_wait_for_calls_in_any_number():
    _, y = recorded()
    z = y
    for _ in range(40):
        z = z + 1
    parts = nd.split(y, 3, axis=0)
    assert z.asnumpy().tolist() == [41, 44, 49]
    assert [float(p.asscalar()) for p in parts] == [1, 4, 9]


def test_waitall_computes_what_waits():
    _, y = recorded()
    mean = y.mean()
    assert mean.pending is not None
    nd.waitall()
    assert mean.pending is None
    assert mean.asscalar() == np.float32(14 / 3)


def test_few_calls_wait_and_what_nobody_can_read_is_freed():
    means, values = [], []
    for i in range(40):
        _, y = recorded(np.arange(3) + i)
        values.append(weakref.ref(y.storage.producer))
        means.append(y.mean())
        del y
    waiting = [m for m in means if m.pending is not None]
    assert 1 <= len(waiting) <= 20
    del means, waiting
    gc.collect()
    assert len({id(v()) for v in values} - {id(None)}) <= 1, "the thread's last segment"


def test_a_retained_graph_is_differentiated_again_whatever_was_averaged():
    x, y = recorded()
    before = y.sum()
    y.backward(retain_graph=True)
    between = y.sum()
    first = x.grad.asnumpy()
    y.backward()
    assert (first == x.grad.asnumpy()).all()
    assert before.asscalar() == between.asscalar() == 14
    with pytest.raises(mx.MXNetError):
        before.backward()


def test_two_networks_against_each_other_are_four_programs():
    """A loop as users write it: with a metric, and means of both losses for the log."""
    generator, critic = Network(), Network()
    generator.data = generator.data * 2
    loss_of, metric, ones = mx.gluon.loss.L2Loss(), mx.metric.MSE(), nd.ones((5, 3))
    optimizers = [mx.optimizer.get_updater(mx.optimizer.Adam()) for _ in range(2)]
    adapt = nd.array(np.random.RandomState(3).uniform(-1, 1, (3, 6)))

    def layers(net: Network, x: Any) -> Any:
        w1, b1, w2, b2 = net.parameters
        x = nd.tanh(nd.FullyConnected(x, w1, b1, num_hidden=8))
        return nd.FullyConnected(x, w2, b2, num_hidden=3)

    def update(net: Network, number: int) -> None:
        grads = [p.grad for p in net.parameters]
        optimizers[number](list(range(4)), grads, net.parameters)

    def batch(reads: bool = False) -> tuple[Any, ...]:
        with autograd.record():
            scores = layers(critic, critic.data)
            loss_of_real = loss_of(scores, ones)
        metric.update([ones], [scores])
        if reads:
            scores.wait_to_read()
        with autograd.record():
            made = nd.dot(layers(generator, generator.data), adapt)
            scores = layers(critic, made.detach())
            loss = loss_of_real + loss_of(scores, -ones)
        loss.backward()
        metric.update([-ones], [scores])
        update(critic, 0)
        with autograd.record():
            loss_of_made = loss_of(layers(critic, made), ones)
        loss_of_made.backward()
        update(generator, 1)
        return metric.get()[1], loss.mean().asscalar(), loss_of_made.mean().asscalar()

    log = [batch() for _ in range(3)]
    traces = mx.program.cache_info().traces
    assert programs_of(batch) == (4, 0)
    assert mx.program.cache_info().traces == traces
    trained = generator.values() + critic.values()
    generator, critic = Network(), Network()
    generator.data = generator.data * 2
    metric.reset()
    optimizers = [mx.optimizer.get_updater(mx.optimizer.Adam()) for _ in range(2)]
    np.testing.assert_allclose([batch(True) for _ in range(3)], log, rtol=1e-5)
    assert programs_of(lambda: batch(True))[0] == 6
    for a, b in zip(trained, generator.values() + critic.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
