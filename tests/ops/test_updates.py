"""Update operators: what they do to their arrays, and what golden data cannot show."""

from __future__ import annotations

import numpy as np
import pytest

from executorkit import nd, sym
from executorkit.errors import AttributeValueError, MXNetError, ShapeError
from executorkit.ndarray import eager_cache_info

LR = 0.1


def arrays(*values):
    return [nd.array(np.asarray(v, "float32")) for v in values]


def test_states_change_in_place_and_the_weight_through_out():
    weight, grad, mom = arrays([1, 2], [1, -1], [0.5, 0.5])
    result = nd.sgd_mom_update(weight, grad, mom, lr=LR, momentum=0.9, out=weight)
    assert result is weight
    np.testing.assert_allclose(mom.asnumpy(), [0.35, 0.55], rtol=1e-6)
    np.testing.assert_allclose(weight.asnumpy(), [1.35, 2.55], rtol=1e-6)
    np.testing.assert_array_equal(grad.asnumpy(), [1, -1])


def test_without_out_the_weight_stays():
    weight, grad = arrays([1.0], [1.0])
    assert nd.sgd_update(weight, grad, lr=LR).asnumpy() == np.float32(0.9)
    assert weight.asnumpy() == 1


def test_views_of_one_weight_see_the_update():
    weight, grad = arrays([[1], [2]], [[1], [1]])
    row = weight[1]
    nd.sgd_update(weight, grad, lr=LR, out=weight)
    np.testing.assert_allclose(row.asnumpy(), [1.9], rtol=1e-6)


def test_a_wrong_out_changes_nothing():
    weight, grad, mom = arrays([1, 2], [1, 1], [0, 0])
    with pytest.raises(ShapeError, match=r"out is \(3,\), expected \(2,\)"):
        nd.sgd_mom_update(weight, grad, mom, lr=LR, out=nd.zeros((3,)))
    np.testing.assert_array_equal(mom.asnumpy(), [0, 0])


def test_a_decaying_rate_compiles_nothing():
    weight, grad, *states = arrays([1, 2], [1, 1], [0, 0], [0, 0])
    pair = [weight, grad, *arrays([3], [1])]

    def step(lr):
        nd.adam_update(weight, grad, *states, lr=lr, out=weight)
        nd.multi_sgd_update(*pair, lrs=(lr, lr), wds=(0.0, lr), num_weights=2, out=pair[::2])

    step(0.1)
    before = eager_cache_info().traces
    for lr in (0.05, 0.025, 1e-3):
        step(lr)
    assert eager_cache_info().traces == before


@pytest.mark.parametrize("name", ["sgd_update", "adam_update", "multi_sgd_update"])
def test_graphs_refuse_them(name):
    with pytest.raises(MXNetError, match="changes arrays in place"):
        getattr(sym, name)(sym.Variable("w"), sym.Variable("g"), lr=LR)


def test_lr_is_required():
    with pytest.raises(AttributeValueError, match="required attribute 'lr'"):
        nd.sgd_update(*arrays([1.0], [1.0]))  # pyright: ignore[reportArgumentType]


def test_shapes_must_fit():
    with pytest.raises(ShapeError, match="operator sgd_mom_update"):
        nd.sgd_mom_update(*arrays([1, 2], [1, 2], [1]), lr=LR)


@pytest.mark.parametrize("shape", [(3, 2), (3,), (2, 3, 4)])
def test_group_adagrad(shape):
    """MXNet has it for GPUs only; its documentation's equations, in NumPy."""
    rng = np.random.default_rng(0)
    weight, grad = rng.standard_normal((2, *shape)).astype("float32")
    history = rng.random((shape[0], 1), dtype="float32")
    arrays = [nd.array(weight), nd.array(grad), nd.array(history)]
    new = nd.contrib.group_adagrad_update(
        *arrays, lr=LR, rescale_grad=0.5, clip_gradient=0.4, epsilon=0.01
    )
    g = np.clip(grad * 0.5, -0.4, 0.4)
    history += (g**2).reshape(shape[0], -1).mean(1, keepdims=True)
    rate = np.sqrt(history.reshape(-1, *(1 for _ in shape[1:])) + 0.01)
    np.testing.assert_allclose(new.asnumpy(), weight - LR * g / rate, rtol=1e-5)
    np.testing.assert_allclose(arrays[2].asnumpy(), history, rtol=1e-6)
