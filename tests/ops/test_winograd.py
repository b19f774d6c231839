"""Winograd's filtering along rows gives what a convolution gives, and is taken where it pays."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import executorkit as mx
from executorkit.errors import ArgumentValueError
from executorkit.jaxpr_interpreter import plan
from executorkit.ops.nn import conv
from executorkit.ops.nn.conv_kernels import ConvDims, conv_transpose, convolve, winograd
from executorkit.ops.nn.conv_kernels.dispatch import xla_conv
from executorkit.ops.tracing import this_process_only, without_derivatives
from tests._tools import golden as _golden

#: No cost but multiplications.
FREE = winograd.Costs(0, 0, 0, 0, 0)
PADDED = ConvDims((1, 1), (1, 1), (1, 1), 1, "NHWC")

#: images, rows, columns, channels, filters, kernel width, padding, setting, dtype
CASES = {
    "whole_blocks": (2, 8, 5, 3, 4, 3, (1, 1), "F4", "float32"),
    "odd": (1, 7, 7, 4, 2, 3, (1, 1), "F4", "float64"),
    "blocks_of_two": (1, 7, 5, 3, 2, 3, (1, 1), "F2", "float32"),
    "no_padding": (2, 9, 6, 2, 3, 3, (0, 0), "F2", "float64"),
    "wide_padding": (1, 5, 4, 2, 2, 3, (2, 2), "F4", "float32"),
    "more_padding_than_kernel": (1, 7, 4, 2, 2, 3, (3, 1), "F4", "float32"),
    "one_column": (2, 11, 3, 3, 2, 1, (1, 0), "F4", "float32"),
    "wide_kernel": (1, 12, 9, 2, 3, 5, (1, 2), "F4", "float32"),
    "two_rows": (3, 2, 4, 2, 2, 3, (1, 1), "F4", "float32"),
}


@pytest.fixture
def free(monkeypatch):
    """Winograd's form is taken wherever it saves a multiplication."""
    monkeypatch.setattr(winograd, "_costs", FREE)


def kernels(function, *arrays, platform="cpu"):
    """Shapes of the kernels of all convolutions, and the names of all operations."""
    traced = jax.jit(lambda *xs: function(*xs)).trace(*arrays)
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    shapes = re.findall(r"stablehlo\.convolution\(.*-> .*", text)
    shapes = [re.search(r"tensor<[^>]*>, tensor<([\dx]+)x[a-z]", line).group(1) for line in shapes]
    return shapes, set(re.findall(r"stablehlo\.(\w+)", text))


def close(a, b, dtype):
    """Equal within the error that is documented, relative to the largest element."""
    assert a.shape == b.shape
    assert a.dtype == b.dtype == dtype
    tolerance = 2e-6 if dtype == "float32" else 4e-15
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * float(jnp.abs(b).max()))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_convolution_and_its_gradients(case, free, monkeypatch):
    if case in ("odd", "blocks_of_two"):  # as with weights of many channels
        monkeypatch.setattr(winograd, "_MAX_DIRECT", 0)
    n, height, width, channels, filters, kernel_width, pads, setting, dtype = CASES[case]
    rng = np.random.RandomState(5)
    dims = PADDED._replace(pads=pads)
    with jax.enable_x64(True), winograd.use_winograd(setting):
        x = jnp.asarray(rng.standard_normal((n, height, width, channels)), dtype)
        w = jnp.asarray(rng.standard_normal((filters, 3, kernel_width, channels)), dtype)
        choice = winograd.current_winograd(x.dtype)
        forward, input_grad = winograd.winograd_kernels(x.shape, w.shape, dims, choice)
        assert forward is not None
        assert (input_grad is None) == (case == "more_padding_than_kernel")
        expected, back = jax.vjp(lambda x, w: xla_conv(x, w, dims), x, w)
        g = jnp.asarray(rng.standard_normal(expected.shape), dtype)

        @jax.jit
        def run(x, w, g):
            out, back = jax.vjp(lambda x, w: convolve(x, w, dims), x, w)
            return out, *back(g), convolve(x, w, dims), input_grad and input_grad(g, w, x.shape)

        out, *gradients, inferred, direct = run(x, w, g)
        x_grad, w_grad = back(g)
        close(out, expected, dtype)
        close(inferred, expected, dtype)
        close(gradients[0], x_grad, dtype)
        np.testing.assert_allclose(gradients[1], w_grad, rtol=1e-4, atol=1e-4)
        if direct is not None:
            close(direct, x_grad, dtype)


@pytest.mark.parametrize(
    "case",
    ["odd", *(pytest.param(c, marks=pytest.mark.slow) for c in ("blocks_of_two", "wide_kernel"))],
)
def test_interpreted_and_mapped(case, free):
    n, height, width, channels, filters, kernel_width, pads, setting, dtype = CASES[case]
    rng = np.random.RandomState(5)
    dims = PADDED._replace(pads=pads)

    def convolution(x, w):
        return convolve(x, w, dims)

    with jax.enable_x64(True), winograd.use_winograd(setting), winograd.prepared_weights():
        x = jnp.asarray(rng.standard_normal((n, height, width, channels)), dtype)
        w = jnp.asarray(rng.standard_normal((filters, 3, kernel_width, channels)), dtype)
        expected = xla_conv(x, w, dims)
        with this_process_only(), without_derivatives():
            jaxpr = jax.make_jaxpr(convolution)(x, w)
        names = [equation.primitive.name for equation in jaxpr.eqns]
        # Of the weight, of the data and of the products.
        assert names.count("executorkit_weighted_sums") == 3
        (result,) = plan(jaxpr).run([np.asarray(x), np.asarray(w)])
        close(result, expected, dtype)
        for axes, args in (
            ((0, None), (jnp.stack([x, -x]), w)),
            ((None, 0), (x, jnp.stack([w, -w]))),
        ):
            mapped = jax.vmap(convolution, axes)(*args)
            close(mapped, jnp.stack([expected, -expected]), dtype)


def test_second_derivatives(free):
    n, height, width, channels, filters, kernel_width, pads, setting, dtype = CASES["odd"]
    rng = np.random.RandomState(5)
    dims = PADDED._replace(pads=pads)

    def penalty(function, x, w):
        gradient = jax.grad(lambda x: jnp.sum(jnp.tanh(function(x, w, dims))))
        return jax.grad(lambda x: jnp.sum(gradient(x) ** 2))(x)

    with jax.enable_x64(True), winograd.use_winograd(setting):
        x = jnp.asarray(rng.standard_normal((n, height, width, channels)), dtype)
        w = jnp.asarray(rng.standard_normal((filters, 3, kernel_width, channels)), dtype)
        result = jax.jit(lambda x, w: penalty(convolve, x, w))(x, w)
        np.testing.assert_allclose(result, penalty(xla_conv, x, w), rtol=1e-12, atol=1e-12)


def test_no_sum_shares_memory_with_an_array():
    """A row of the matrix may be a single one."""
    arrays = [np.asarray(np.random.rand(2, 3, 4), np.float32).T for _ in range(2)]
    matrix = np.array([[0, 1], [2, 1], [0.5, 0]])
    jaxpr = jax.make_jaxpr(lambda *xs: winograd.combine(matrix, xs))(*arrays)
    results = plan(jaxpr).run(arrays)
    for row, result in zip(matrix, results, strict=True):
        np.testing.assert_allclose(result, row[0] * arrays[0] + row[1] * arrays[1], rtol=1e-6)
        assert not any(np.shares_memory(result, x) for x in arrays)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["Convolution", "Convolution_v1", "Deconvolution"])
def test_golden_cases_channels_last(name, dtype, free, monkeypatch):
    """MXNet's answers for convolutions of three rows, by Winograd's form."""
    taken = []

    def to_last(array):
        return jnp.moveaxis(array, 1, -1)

    def by_rows(data, weight, dims):
        taken.append(winograd.current_winograd(data.dtype).rows)
        out = convolve(to_last(data), to_last(weight), dims._replace(layout="NHWC"))
        return jnp.moveaxis(out, -1, 1)

    def transposed_by_rows(data, weight, shape, dims):
        taken.append(winograd.current_winograd(data.dtype).rows)
        shape = (shape[0], *shape[2:], shape[1])
        dims = dims._replace(layout="NHWC")
        return jnp.moveaxis(conv_transpose(to_last(data), to_last(weight), shape, dims), -1, 1)

    monkeypatch.setattr(conv, "convolve", by_rows)
    monkeypatch.setattr(conv, "conv_transpose", transposed_by_rows)
    cases = [
        case
        for case in _golden.cases("conv")
        if case.op == name
        and dtype in case.dtypes
        and tuple(case.attrs["kernel"]) == (3, 3)
        and not {"stride", "dilate", "num_group", "target_shape"} & case.attrs.keys()
    ]
    for case in cases:
        _golden.check_case("conv", case, dtype)
    assert all(rows == (4, 2) for rows in taken)
    assert bool(taken) == bool(cases)


def test_products_and_additions_only(free):
    """Six convolutions of one row of kernel elements; nothing is gathered."""
    x, w = jnp.zeros((2, 9, 8, 9)), jnp.zeros((3, 3, 3, 9))

    def gradient(x, w):
        return jax.vjp(lambda x: convolve(x, w, PADDED), x)[1]

    for function in (lambda x, w: convolve(x, w, PADDED), lambda x, w: gradient(x, w)(x[..., :3])):
        with winograd.use_winograd("F4"):
            shapes, operations = kernels(function, x, w)
        assert len(shapes) == 6
        assert {s.split("x")[:2] == ["1", "3"] for s in shapes} == {True}
        assert not {"gather", "scatter", "dynamic_slice", "while"} & operations
        with winograd.use_winograd("exact"):
            assert len(kernels(function, x, w)[0]) == 1
        with winograd.use_winograd("F4"):
            assert len(kernels(function, x, w, platform="cuda")[0]) == 1
            assert len(kernels(function, x.astype("bfloat16"), w.astype("bfloat16"))[0]) == 1


def test_matrices():
    """The polynomial identity, and the entries that the literature gives for F(2, 3)."""
    for rows in (2, 4):
        data, kernel, result = winograd.transforms(rows)
        rng = np.random.RandomState(rows)
        d, g = rng.standard_normal(rows + 2), rng.standard_normal(3)
        expected = [d[i : i + 3] @ g for i in range(rows)]
        np.testing.assert_allclose(result @ ((kernel @ g) * (data @ d)), expected, atol=1e-14)
    assert sorted(np.abs(winograd.transforms(2).kernel).sum(1)) == [1, 1, 1.5, 1.5]


#: images, rows and columns, channels, filters, rows per block: with weights transformed before, and
#: as a part of the program, forward and for the input gradient
CHOICES = [
    (1, 56, 64, 64, 4, 0, 0),
    (4, 28, 128, 128, 4, 4, 4),
    (1, 14, 256, 256, 4, 0, 0),
    (4, 14, 256, 256, 4, 0, 4),
    (1, 7, 512, 512, 4, 0, 0),
    (4, 7, 512, 512, 4, 0, 0),
    (32, 7, 512, 512, 4, 4, 4),
    (1, 224, 64, 64, 4, 4, 4),
    (1, 224, 3, 64, 0, 0, 0),
    (1, 96, 64, 3, 0, 0, 0),
    (1, 10, 16, 16, 0, 0, 0),
    (8, 7, 512, 512, 4, 0, 4),
    (64, 2, 512, 512, 2, 0, 0),
]


@pytest.mark.parametrize("choice", CHOICES)
def test_choice_by_shape(choice):
    n, size, channels, filters, *expected = choice
    data, weight = (n, size, size, channels), (filters, 3, 3, channels)

    def rows(setting, prepared):
        allowed = winograd.Winograd(setting, prepared)
        pair = winograd.winograd_kernels(data, weight, PADDED, allowed)
        return [k.keywords["rows"] if k is not None else 0 for k in pair]

    assert [rows((4, 2), True)[0], *rows((4, 2), False)] == expected
    assert set(rows((2,), True)) <= {0, 2}
    assert rows((), True) == [0, 0]


@pytest.mark.parametrize(
    "change", [{"strides": (2, 1)}, {"dilation": (1, 2)}, {"groups": 2}, {"layout": "NCHW"}]
)
def test_other_convolutions_stay_as_they_are(change, free):
    dims = PADDED._replace(**change)
    choice = winograd.Winograd((4, 2))
    assert winograd.winograd_kernels((2, 12, 12, 12), (4, 3, 3, 12), dims, choice) == (None, None)


def test_sizes_that_are_not_known(free):
    """One exported program for every number of images; other sizes decide, and have to be known."""
    w = jnp.asarray(np.random.RandomState(0).standard_normal((3, 3, 3, 2)), jnp.float32)
    for text, blocks in (("n, 8, 8, 2", True), ("2, n, 8, 2", False)):
        x = jax.ShapeDtypeStruct(export.symbolic_shape(text), jnp.float32)
        exported = export.export(jax.jit(lambda x: convolve(x, w, PADDED)))(x)
        assert (exported.mlir_module().count("stablehlo.convolution(") == 6) == blocks
        data = np.random.RandomState(1).standard_normal((2, 8, 8, 2)).astype("float32")
        close(exported.call(data), xla_conv(jnp.asarray(data), w, PADDED), "float32")


def test_settings(monkeypatch):
    monkeypatch.delenv("EXECUTORKIT_WINOGRAD", raising=False)
    assert winograd.current_winograd(np.float32) == winograd.Winograd((4, 2))
    assert winograd.current_winograd(np.float16) == winograd.Winograd()
    monkeypatch.setenv("EXECUTORKIT_WINOGRAD", "F2")
    assert winograd.current_winograd(np.float64) == winograd.Winograd((2,))
    with winograd.use_winograd("exact"), winograd.prepared_weights():
        assert winograd.current_winograd(np.float32) == winograd.Winograd((), prepared=True)
    monkeypatch.setenv("EXECUTORKIT_WINOGRAD", "F8")
    with pytest.raises(ArgumentValueError, match=r"'F8', expected 'auto', 'exact', 'F2', 'F4'"):
        winograd.current_winograd(np.float32)


def test_option_of_programs(free, compiled, monkeypatch):
    """Executors bound with different settings have different programs, here and on disk."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=3)

    def bound(winograd=None):
        if winograd is None:
            return net.simple_bind(mx.cpu(), data=(1, 9, 7, 5))
        with mx.program.options(winograd=winograd):
            return net.simple_bind(mx.cpu(), data=(1, 9, 7, 5))

    executors = {setting: bound(setting) for setting in ("exact", "F2", "F4")}
    monkeypatch.setenv("EXECUTORKIT_WINOGRAD", "F2")
    assert bound().program is executors["F2"].program
    monkeypatch.setenv("EXECUTORKIT_WINOGRAD", "exact")
    assert bound().program is executors["exact"].program
    programs: list[Any] = [executor.program for executor in executors.values()]
    assert len({program.fingerprint() for program in programs}) == 3
    rng = np.random.RandomState(2)
    values = {name: rng.standard_normal(x.shape) for name, x in executors["F4"].arg_dict.items()}
    results = []
    for (setting, executor), count in zip(executors.items(), (1, 4, 6), strict=True):
        executor.copy_params_from({name: mx.nd.array(x) for name, x in values.items()})
        results.append(executor.forward()[0].asnumpy())
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((1, 3, 7, 5)))
        results.append(executor.grad_dict["data"].asnumpy())
        text = executor.program.hlo("infer", optimized=False)
        assert text.count("stablehlo.convolution(") == count, setting
    for result, expected in zip(results[2:], results[:2] * 2, strict=True):
        close(result, expected, "float32")
    automatic = bound("auto")
    automatic.copy_params_from({name: mx.nd.array(x) for name, x in values.items()})
    np.testing.assert_array_equal(automatic.forward()[0].asnumpy(), results[4])
    automatic.forward(is_train=True)
    automatic.backward(mx.nd.ones((1, 3, 7, 5)))
    np.testing.assert_array_equal(automatic.grad_dict["data"].asnumpy(), results[1])
    with pytest.raises(
        ArgumentValueError, match=r"options: winograd: 'F8', expected 'auto', 'exact'"
    ):
        bound("F8")
