"""Layers: plain, hybridized and as JAX functions they are one; closed forms; dtypes; messages."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any, cast

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd
from executorkit.errors import ArgumentValueError
from executorkit.gluon import contrib, nn
from tests.autograd.test_recorded_programs import programs_of

_SHAPES = {1: (2, 4, 7), 2: (2, 4, 7, 6), 3: (1, 4, 5, 6, 5)}


def _concurrent() -> Any:
    block = contrib.nn.HybridConcurrent(axis=1)
    block.add(nn.Dense(3), contrib.nn.Identity(), nn.Activation("tanh"))
    return block


def _sequential() -> Any:
    block = nn.HybridSequential()
    block.add(nn.Dense(3, activation="relu"), nn.LayerNorm(), nn.Dense(2))
    return block


def _layers() -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
    """Names, layers and the shapes of their inputs."""
    for axes, shape in _SHAPES.items():
        for name in (f"Conv{axes}D", f"Conv{axes}DTranspose"):
            layer = getattr(nn, name)
            yield name, lambda layer=layer: layer(4, 3, padding=1, activation="relu"), shape
            yield (
                f"{name} grouped",
                lambda layer=layer: layer(4, 2, strides=2, groups=2, use_bias=False),
                shape,
            )
        for kind in ("Max", "Avg"):
            name = f"{kind}Pool{axes}D"
            yield name, lambda name=name: getattr(nn, name)(3, 2, 1, ceil_mode=True), shape
            yield f"Global{name}", getattr(nn, f"Global{name}"), shape
    yield "Dense", lambda: nn.Dense(5, "tanh"), (3, 2, 4)
    yield "Dense unflattened", lambda: nn.Dense(5, flatten=False, use_bias=False), (3, 2, 4)
    yield "Flatten", nn.Flatten, (3, 2, 4)
    yield "Dropout", lambda: nn.Dropout(0.5), (3, 4)
    yield "Dropout along axes", lambda: nn.Dropout(0.5, axes=(1,)), (3, 4)
    for activation in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
        yield activation, lambda activation=activation: nn.Activation(activation), (3, 4)
    yield "LeakyReLU", lambda: nn.LeakyReLU(0.1), (3, 4)
    yield "PReLU", lambda: nn.PReLU(in_channels=4), (3, 4)
    for layer in (nn.ELU, nn.SELU, nn.GELU, nn.Swish):
        yield layer.__name__, layer, (3, 4)
    for layer in (nn.BatchNorm, nn.BatchNormReLU, nn.InstanceNorm, nn.LayerNorm):
        yield layer.__name__, layer, (3, 4, 5)
    yield "GroupNorm", lambda: nn.GroupNorm(2), (3, 4, 5)
    yield "InstanceNorm of last", lambda: nn.InstanceNorm(axis=2), (3, 4, 5)
    yield "ReflectionPad2D", lambda: nn.ReflectionPad2D(2), (2, 3, 4, 5)
    yield "HybridLambda", lambda: nn.HybridLambda("tanh"), (3, 4)
    yield "HybridSequential", _sequential, (3, 4)
    yield "HybridConcurrent", _concurrent, (3, 4)
    yield "SyncBatchNorm", lambda: contrib.nn.SyncBatchNorm(num_devices=1), (3, 4, 5)
    yield "PixelShuffle1D", lambda: contrib.nn.PixelShuffle1D(2), (2, 4, 3)
    yield "PixelShuffle2D", lambda: contrib.nn.PixelShuffle2D((2, 1)), (2, 4, 3, 2)
    yield "PixelShuffle3D", lambda: contrib.nn.PixelShuffle3D((1, 2, 3)), (1, 6, 2, 3, 2)
    for layer in (contrib.cnn.DeformableConvolution, contrib.cnn.ModulatedDeformableConvolution):
        yield layer.__name__, lambda layer=layer: layer(2, (3, 3), padding=(1, 1)), (1, 4, 5, 5)


LAYERS = {name: (make, shape) for name, make, shape in _layers()}
DTYPES = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 4e-2, "float64": 1e-10}


def _made(name: str, dtype: str = "float32") -> tuple[Any, nd.NDArray]:
    """A layer with random parameters, and its input."""
    make, shape = LAYERS[name]
    random = np.random.RandomState(5)
    layer = make()
    layer.cast(dtype)
    layer.initialize()
    x = nd.array(random.normal(size=shape), dtype=dtype)
    layer(x)
    for parameter_name, parameter in layer.collect_params().items():
        values = random.uniform(0.2, 0.8, parameter.shape)
        sign = 1 if "running_var" in parameter_name else random.choice([-1, 1], parameter.shape)
        parameter.set_data(nd.array(values * sign, dtype=parameter.dtype))
    return layer, x


def _step(layer: Any, x: nd.NDArray) -> list[np.ndarray]:
    """Output, gradients and statistics of a recorded call, with the same random numbers."""
    mx.random.seed(3)
    x.attach_grad()
    with autograd.record():
        y = layer(x)
        loss = (y * y).sum()
    loss.backward()
    parameters = layer.collect_params().values()
    grads = [p.grad() for p in parameters if p.grad_req != "null"]
    return [a.asnumpy() for a in [y, x.grad, *grads, *[p.data() for p in parameters]]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LAYERS)
def test_plain_is_hybridized_in_all_dtypes(name, dtype):
    plain, x = _made(name, dtype)
    hybridized, _ = _made(name, dtype)
    hybridized.hybridize()
    for before, after in zip(_step(plain, x), _step(hybridized, x), strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
    y = plain(x)
    assert np.dtype(y.dtype) == np.dtype(dtype)
    _assert_close(y, hybridized(x), DTYPES[dtype])
    plain.cast("float32")
    _assert_close(y, plain(x.astype("float32")), max(5 * DTYPES[dtype], 5e-5))


def _assert_close(ours: nd.NDArray, theirs: nd.NDArray, tolerance: float) -> None:
    values, expected = np.float64(ours.asnumpy()), np.float64(theirs.asnumpy())
    np.testing.assert_allclose(values, expected, tolerance, tolerance)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_a_jax_function(name):
    layer, x = _made(name)
    symbol = layer(mx.sym.var("data"))
    values = {n: p.data().jax for n, p in layer.collect_params().items()}
    args, aux = symbol.list_arguments(), symbol.list_auxiliary_states()
    function = jax.jit(symbol.to_jax())
    arguments = {n: values.get(n, x.jax) for n in args}
    (output,), _ = function(arguments, {n: values[n] for n in aux}) if aux else function(arguments)
    np.testing.assert_allclose(output, layer(x).asnumpy(), 1e-5, 1e-5)


@pytest.mark.parametrize(
    "name", ["Conv2D", "Dense", "BatchNorm", "MaxPool2D", "HybridSequential", "HybridConcurrent"]
)
def test_a_layer_is_copied_with_its_parameters(name):
    layer, x = _made(name)
    expected = layer(x).asnumpy()
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(copied) == repr(layer)
        np.testing.assert_array_equal(copied(x).asnumpy(), expected)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("name", ["Conv2D", "BatchNorm", "HybridSequential", "HybridConcurrent"])
def test_a_recorded_call_and_its_backward_are_one_program(name):
    layer, x = _made(name)
    x.attach_grad()

    def step() -> None:
        with autograd.record():
            y = layer(x)
        y.backward()
        nd.waitall()

    nd.waitall()  # also for what other tests have left
    for _ in range(2):
        assert programs_of(step) == (1, 0)
        layer.hybridize()


@pytest.mark.parametrize(
    "layer", [contrib.cnn.DeformableConvolution, contrib.cnn.ModulatedDeformableConvolution]
)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_deformable_convolution_without_offsets_is_a_convolution(layer, groups):
    options = {"strides": (2, 1), "padding": 1, "groups": groups, "activation": "softsign"}
    deformable, plain = layer(4, (3, 2), **options), nn.Conv2D(4, (3, 2), **options)
    x = nd.random.normal(shape=(2, 4, 6, 5))
    for block in (deformable, plain):
        block.initialize(mx.init.Normal(0.5))
        block(x)
    weight = deformable.deformable_conv_weight.data()
    plain.weight.set_data(weight)
    results = []
    for block, array in ((deformable, weight), (plain, plain.weight.data())):
        with autograd.record():
            y = block(x)
        y.backward()
        results.append((y.asnumpy(), array.grad.asnumpy()))
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)


@pytest.mark.parametrize(
    "name", ["Conv2D", "Conv3D", "Conv2DTranspose", "MaxPool1D", "AvgPool2D", "GlobalAvgPool3D"]
)
def test_channels_may_come_last(name):
    axes, layer = int(name.partition("D")[0][-1]), getattr(nn, name)
    last = "N" + "DHW"[3 - axes :] + "C"
    size = (3, 2) if "Conv" in name else ()
    first, second = layer(*size), layer(*size, layout=last)
    x = nd.random.normal(shape=_SHAPES[axes])
    moved = nd.moveaxis(x, 1, -1)
    for block, array in ((first, x), (second, moved)):
        block.initialize(mx.init.Normal(0.5))
        block(array)
    if size:
        second.weight.set_data(nd.moveaxis(first.weight.data(), 1, -1))
    expected = nd.moveaxis(first(x), 1, -1).asnumpy()
    for hybridized in (False, True):
        second.hybridize(hybridized)
        np.testing.assert_allclose(second(moved).asnumpy(), expected, 1e-5, 1e-5)


def test_sync_batch_norm_of_one_device_is_batch_norm():
    x = nd.random.normal(shape=(4, 3, 2))
    steps = []
    for layer in (contrib.nn.SyncBatchNorm(num_devices=1), nn.BatchNorm()):
        layer.initialize()
        layer(x)
        steps.append(_step(layer, x))
    for ours, expected in zip(*steps, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_running_statistics_are_written_by_a_backward():
    layer = nn.BatchNorm(momentum=0.75, in_channels=2)
    layer.initialize()
    x = nd.array([[1.0, 10.0], [3.0, 30.0]])
    mean, variance = np.zeros(2), np.ones(2)
    for hybridized in (False, True):
        layer.hybridize(hybridized)
        with autograd.record():
            y = layer(x)
        y.backward()
        mean = 0.75 * mean + 0.25 * np.array([2, 20])
        variance = 0.75 * variance + 0.25 * np.array([1, 100])
        np.testing.assert_allclose(layer.running_mean.data().asnumpy(), mean, 1e-6)
        np.testing.assert_allclose(layer.running_var.data().asnumpy(), variance, 1e-6)
        layer(x)
        np.testing.assert_allclose(layer.running_mean.data().asnumpy(), mean, 1e-6)


def test_one_layer_may_be_called_several_times():
    layer = nn.Dense(3, in_units=3)
    layer.initialize(mx.init.Normal(1))
    x = nd.random.normal(shape=(2, 3))
    with autograd.record():
        y = layer(layer(x))
    y.backward()
    weight, ones = layer.weight.data().asnumpy(), np.ones((2, 3))
    first = x.asnumpy() @ weight.T
    expected = ones.T @ first + (ones @ weight).T @ x.asnumpy()
    np.testing.assert_allclose(layer.weight.grad().asnumpy(), expected, 1e-5, 1e-5)


# Sparse tables


@pytest.mark.filterwarnings("ignore:parameters and gradients of sparse")
def test_sparse_embeddings_are_dense_ones():
    x, rows = nd.array([[1, 3], [1, 0]]), nd.random.normal(shape=(4, 2))
    layers = [
        nn.Embedding(4, 2),
        nn.Embedding(4, 2, sparse_grad=True),
        contrib.nn.SparseEmbedding(4, 2),
    ]
    seen = []
    for layer in layers:
        layer.initialize()
        layer.weight.set_data(rows)
        with autograd.record():
            y = layer(x)
        y.backward(nd.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
        seen.append((y.asnumpy(), layer.weight.grad().asnumpy()))
    for others in seen[1:]:
        for ours, expected in zip(others, seen[0], strict=True):
            np.testing.assert_array_equal(ours, expected)
    assert seen[0][1].tolist() == [[7, 8], [6, 8], [0, 0], [3, 4]]


# Messages and documentation


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: nn.Conv2D(8, (3,)),
            "Conv2D: kernel_size must be an integer or 2 of them, not (3,)",
        ),
        (
            lambda: nn.MaxPool1D(cast(Any, 2.5)),
            "MaxPool1D: pool_size must be an integer or 1 of them, not (2.5,)",
        ),
        (
            lambda: nn.Conv3DTranspose(8, 3, output_padding=cast(Any, "1")),
            "Conv3DTranspose: output_padding must be an integer or 3 of them, not '1'",
        ),
        (
            lambda: nn.Conv2D(8, 3, layout="NCW"),
            "Conv2D: layout must be 'NCHW' or 'NHWC', not 'NCW'",
        ),
        (lambda: nn.Conv1D(8, 3, layout="NWC"), "Conv1D: layout must be 'NCW', not 'NWC'"),
        (
            lambda: nn.GlobalAvgPool3D("NHWC"),
            "GlobalAvgPool3D: layout must be 'NCDHW' or 'NDHWC', not 'NHWC'",
        ),
        (lambda: nn.LeakyReLU(-1), "LeakyReLU: alpha is -1, it may not be negative"),
        (
            lambda: nn.ReflectionPad2D((1, 1)),
            "ReflectionPad2D: padding must be a number or eight numbers, not (1, 1)",
        ),
        (lambda: nn.Lambda("unknown"), "Lambda: executorkit.ndarray has no function 'unknown'"),
        (
            lambda: nn.HybridLambda("save"),
            "HybridLambda: executorkit.symbol has no function 'save'",
        ),
        (lambda: nn.Lambda(cast(Any, 3)), "Lambda: 3 is neither a function nor the name of one"),
        (
            lambda: contrib.nn.PixelShuffle2D((1, 2, 3)),
            "PixelShuffle2D: factor has 3 numbers, not 2",
        ),
    ],
)
def test_a_layer_that_cannot_be_made_says_why(make, message):
    with pytest.raises(ArgumentValueError) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cast(Any, nn.Conv2D)(8), "missing 1 required positional argument: 'kernel_size'"),
        (lambda: cast(Any, nn.Conv2D)(8, 3, size=2), "unexpected keyword argument 'size'"),
        (lambda: cast(Any, nn.MaxPool2D)(size=2), "unexpected keyword argument 'size'"),
    ],
)
def test_wrong_arguments_are_type_errors(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_groups_that_do_not_fit_are_refused_at_once():
    with pytest.raises(mx.MXNetError, match="4 channels cannot be divided into 3 groups"):
        nn.Conv2D(9, 3, groups=3, in_channels=4)


def test_a_sequential_of_hybrid_blocks_says_what_to_take():
    net = nn.Sequential()
    net.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="A HybridSequential runs them as one program"):
        net.hybridize()


def test_a_sync_batch_norm_asks_for_the_number_of_devices():
    with pytest.warns(UserWarning, match="set num_devices unless all GPUs are used"):
        contrib.nn.SyncBatchNorm()


@pytest.mark.parametrize("module", [nn, contrib.nn, contrib.cnn])
def test_every_layer_has_a_docstring_of_its_own(module):
    for name, layer in vars(module).items():
        if inspect.isclass(layer) and issubclass(layer, mx.gluon.Block):
            assert vars(layer).get("__doc__"), name


@pytest.mark.parametrize(
    ("layer", "given", "expected"),
    [
        (lambda: nn.LeakyReLU(0.5), [-2, 0, 2], [-1, 0, 2]),
        (lambda: nn.Dense(2, weight_initializer="ones"), [[1, 2, 3]], [[6, 6]]),
        (nn.LayerNorm, [[1, 3]], [[-1, 1]]),
        (nn.MaxPool1D, [[[1, 2, 3, 4]]], [[[2, 4]]]),
    ],
)
def test_values_of_layers_by_hand(
    layer: Callable[[], Any], given: list[Any], expected: list[Any]
) -> None:
    block = layer()
    block.initialize()
    assert block(nd.array(given)).asnumpy().round(3).tolist() == expected


@pytest.mark.parametrize(
    ("layer", "given", "expected", "form"),
    [
        (lambda: nn.Dense(2), (1, 3), (1, 2), "Dense(3 -> 2, linear)"),
        (
            lambda: nn.Conv2D(8, kernel_size=3, padding=1), (2, 4, 6, 5), (2, 8, 6, 5),
            "Conv2D(4 -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))",
        ),
        (
            lambda: contrib.cnn.DeformableConvolution(2, kernel_size=(3, 3), padding=(1, 1)),
            (1, 4, 5, 5), (1, 2, 5, 5), None,
        ),
    ],
)  # fmt: skip
def test_shapes_and_forms_of_layers(
    layer: Callable[[], Any], given: tuple[int, ...], expected: tuple[int, ...], form: str | None
) -> None:
    block = layer()
    block.initialize()
    assert block(nd.ones(given)).shape == expected
    assert form in (None, repr(block))


def test_the_layers_of_a_container_know_their_inputs() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize()
    assert net(nd.ones((3, 5))).shape == (3, 2)
    assert repr(net[0]) == "Dense(5 -> 4, Activation(relu))"
