"""Backward through a part of what was recorded, while other parts stay differentiable."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd


def _marked(*numbers: float) -> mx.nd.NDArray:
    array = mx.nd.array(numbers)
    array.attach_grad()
    return array


@pytest.mark.parametrize("between", [False, True])
def test_what_is_used_up_may_be_a_constant_of_what_is_not(between):
    w, v = _marked(1, 2), _marked(3, 4)
    with autograd.record():
        square = w * w
        product = square.detach() * v
        head = square * 3 if between else square
    head.backward()
    assert w.grad.asnumpy().tolist() == ([6, 12] if between else [2, 4])
    product.backward()
    assert v.grad.asnumpy().tolist() == [1, 4]
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        head.backward()


def test_what_is_not_used_up_may_be_a_constant_of_what_is():
    w, v = _marked(1, 2), _marked(3, 4)
    with autograd.record():
        square = w * w
        product = square.detach() * v
    product.backward()
    assert v.grad.asnumpy().tolist() == [1, 4]
    square.backward()
    assert w.grad.asnumpy().tolist() == [2, 4]


def test_a_variable_may_be_a_head_beside_what_it_was_used_for():
    x = _marked(1, 2)
    with autograd.record():
        y = x * x
    autograd.backward([y, x], [None, mx.nd.array([5, 5])])
    assert x.grad.asnumpy().tolist() == [7, 9]
    with autograd.record():
        y = x * x
    (gradient,) = autograd.grad([x, y], [x])
    assert gradient.asnumpy().tolist() == [3, 5]
    assert x.grad.asnumpy().tolist() == [7, 9]
    (gradient,) = autograd.grad(x, x)
    assert gradient.asnumpy().tolist() == [1, 1]


def test_a_head_that_is_refused_leaves_all_gradients():
    x = _marked(1, 2)
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        autograd.backward([x, mx.nd.ones(2)])
    assert x.grad.asnumpy().tolist() == [0, 0]
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError, match="expected"):
        autograd.backward([x, y], [None, mx.nd.ones(3)])
    assert x.grad.asnumpy().tolist() == [0, 0]
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]


def test_a_retained_graph_goes_on():
    """What is recorded on a value after a retained backward that nobody has read."""
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        h = x * x
        y = h * 2
    y.backward(retain_graph=True)
    with mx.autograd.record():
        z = h * h
    z.backward()
    assert x.grad.asnumpy().tolist() == [4, 32]


@pytest.mark.parametrize("read", [False, True])
def test_statistics_of_a_branch_that_backward_does_not_reach_stay(read):
    x, gamma, beta = nd.array([[1.0, 2.0], [3.0, 5.0]]), nd.ones((2,)), nd.zeros((2,))
    mean, var = nd.zeros((2,)), nd.ones((2,))
    for array in (x, gamma, beta):
        array.attach_grad()
    with autograd.record():
        y = x * 2
        branch = nd.BatchNorm(y, gamma, beta, mean, var, fix_gamma=False, momentum=0.5)
        z = y * y
    if read:
        z.asnumpy()
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 8 * x.asnumpy())
    np.testing.assert_array_equal(mean.asnumpy(), [0, 0])
    np.testing.assert_array_equal(gamma.grad.asnumpy(), [0, 0])
    assert branch.shape == (2, 2)
