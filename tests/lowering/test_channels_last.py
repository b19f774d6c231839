"""Convolutional regions channels last: same results, gradients and names, fewer transposes."""

import contextlib
import re

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.lowering import channels_last_allowed

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="the pass is for CPUs")


def _results(symbol, off, shapes):
    """Outputs, gradients and auxiliary states of one training step from fixed values."""
    with mx.lowering.disabled("channels_last") if off else contextlib.nullcontext():
        executor = symbol.simple_bind(mx.cpu(), **shapes)
        random = np.random.RandomState(0)
        for _, array in sorted({**executor.arg_dict, **executor.aux_dict}.items()):
            array[:] = random.uniform(0.5, 1.5, array.shape) * random.choice([-1, 1], array.shape)
        for array in executor.aux_dict.values():
            array[:] = abs(array)
        outputs = [x.asnumpy() for x in executor.forward(is_train=True)]
        executor.backward([mx.nd.array(random.normal(size=x.shape)) for x in outputs])
        gradients = [g.asnumpy() for g in executor.grad_arrays]
        return [*outputs, *gradients, *(a.asnumpy() for a in executor.aux_arrays)]


def _same(symbol, **shapes):
    for actual, expected in zip(
        _results(symbol, False, shapes), _results(symbol, True, shapes), strict=True
    ):
        scale = np.abs(expected).max(initial=1e-3)
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4 * scale)


def _conv(data, channels=4, **attrs):
    attrs = {"kernel": (3, 3), "pad": (1, 1), "no_bias": True, **attrs}
    return mx.sym.Convolution(data, num_filter=channels, **attrs)


DATA = mx.sym.Variable("data")


def _region():
    """All operators with a channels-last form, and some without in the middle."""
    x = mx.sym.BatchNorm(_conv(DATA, 8), fix_gamma=False, eps=1e-3)
    x = mx.sym.Pooling(mx.sym.Activation(x, act_type="relu"), kernel=(3, 3), stride=(2, 2))
    x = mx.sym.Concat(_conv(x, 8, num_group=8), x + 0.5 * _conv(x, 8, num_group=4), dim=1)
    a, b = mx.sym.SliceChannel(x, num_outputs=2)
    gate = mx.sym.Pooling(b, global_pool=True, kernel=(1, 1), pool_type="avg")
    x = mx.sym.broadcast_mul(a, mx.sym.sigmoid(gate))
    x = mx.sym.LeakyReLU(mx.sym.LeakyReLU(x, act_type="prelu"), act_type="elu")
    x = mx.sym.Pad(x, mode="edge", pad_width=(0, 0, 0, 0, 2, 1, 0, 3))
    x = mx.sym.UpSampling(mx.sym.InstanceNorm(x), scale=2, sample_type="nearest", num_args=1)
    x = mx.sym.elemwise_add(x, mx.sym.SwapAxis(mx.sym.SwapAxis(x, dim1=2, dim2=3), dim1=2, dim2=3))
    return _conv(x, 6, kernel=(1, 1), stride=(2, 2), pad=(), no_bias=False)


def test_a_region_equals_its_channels_first_form():
    x = _region()
    heads = [x, mx.sym.FullyConnected(x, num_hidden=3), mx.sym.transpose(x, axes=(0, 2, 3, 1))]
    _same(mx.sym.Group(heads), data=(2, 3, 12, 9))


@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilate"),
    [((3, 3), (2, 2), (1, 1), (1, 1)), ((3, 5), (1, 2), (0, 2), (1, 1)),
     ((2, 2), (3, 3), (1, 0), (1, 1)), ((3, 3), (1, 1), (2, 2), (2, 2))],
)  # fmt: skip
def test_convolutions_with_and_without_a_filter_per_channel(kernel, stride, pad, dilate):
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "dilate": dilate}
    both = [_conv(DATA, 8, num_group=4, **attrs), _conv(DATA, 5, **attrs)]
    _same(mx.sym.Group(both), data=(2, 4, 11, 8))


@pytest.mark.parametrize(("stride", "dilate"), [((1, 1), (1, 1)), ((2, 1), (1, 3))])
def test_weights_of_large_images(stride, dilate):
    """Their gradient is a loop over rows, the last of which may extend beyond the image."""
    data = mx.sym.BlockGrad(DATA)
    _same(_conv(data, 2, stride=stride, dilate=dilate), data=(2, 16, 131, 67))


def test_convolutions_before_a_recurrence():
    """Re-rolled graphs have regions too."""
    x = mx.sym.Activation(_conv(_conv(DATA)), act_type="tanh")
    x = mx.sym.transpose(x, axes=(0, 3, 1, 2))
    steps = mx.sym.SliceChannel(x, num_outputs=6, axis=1, squeeze_axis=True)
    cell = mx.rnn.LSTMCell(5, prefix="l_")
    outputs, _ = cell.unroll(6, [mx.sym.Flatten(steps[t]) for t in range(6)])
    states = {n: (2, 5) for n in mx.sym.Group(outputs).list_arguments() if "begin_state" in n}
    _same(mx.sym.Group(outputs), data=(2, 3, 4, 6), **states)


def _transposes(symbol, off=False):
    with mx.lowering.disabled("channels_last") if off else contextlib.nullcontext():
        executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(2, 8, 12, 12))
    text = (
        executor.program.infer[False]
        .lower(
            tuple(a.jax for a in executor.arg_arrays),
            tuple(a.jax for a in executor.aux_arrays),
            None,
        )
        .as_text()
    )
    return len(
        re.findall(r"stablehlo\.transpose .*x8x12x12x|stablehlo\.transpose .*x12x12x8x", text)
    )


def test_data_is_transposed_only_at_the_ends_of_a_region():
    x = DATA
    for _ in range(4):
        x = mx.sym.Activation(mx.sym.BatchNorm(_conv(x, 8)), act_type="relu") + x
    assert _transposes(x) == 2
    assert _transposes(x, off=True) == 0


def test_gradients_are_not_prepared_in_forward():
    """Arrays that only backward needs (copies of data and weights in other layouts) are not stored
    from forward on: the peak is the inputs of convolutions and normalisations."""
    x = DATA
    for _ in range(8):
        x = mx.sym.Activation(mx.sym.BatchNorm(_conv(x, 16)), act_type="relu")
    executor = x.simple_bind(mx.cpu(), data=(2, 16, 48, 48))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(x.infer_shape(data=(2, 16, 48, 48))[1][0]))
    executor.grad_arrays[0].wait_to_read()
    one = 2 * 16 * 48 * 48 * 4
    assert executor.program.memory()["temporaries"] < (8 * 2 + 6) * one


def test_the_pass_is_not_for_accelerators(monkeypatch):
    assert channels_last_allowed()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not channels_last_allowed()
