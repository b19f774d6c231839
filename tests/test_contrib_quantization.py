"""``mx.contrib.quantization``: graphs, ranges and parameters are MXNet's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import executorkit as mx
from executorkit.contrib import quantization
from tests.golden import _store
from tests.golden import quantization_questions as qq

ANSWERS = json.loads((_store.DATA / "quantization.json").read_text())


@pytest.mark.parametrize("case", list(ANSWERS["graphs"]))
def test_graph_is_that_of_mxnet(case: str) -> None:
    assert qq.graph(mx, quantization, *case.split()) == ANSWERS["graphs"][case]


@pytest.mark.parametrize("case", list(ANSWERS["ranges"]))
def test_ranges_are_those_of_mxnet(case: str) -> None:
    mode, dtype, *excluded = case.split()
    ranges = qq.ranges(mx, quantization, mode, dtype, excluded)
    expected = ANSWERS["ranges"][case]
    assert list(ranges) == list(expected)
    for name, bounds in expected.items():
        np.testing.assert_allclose(ranges[name], bounds, rtol=2e-6, atol=1e-6, err_msg=name)


def test_parameters_are_those_of_mxnet() -> None:
    params = qq.params(mx, quantization)
    assert list(params) == list(ANSWERS["params"])
    for name, (dtype, shape, values) in ANSWERS["params"].items():
        assert params[name][:2] == [dtype, shape]
        np.testing.assert_allclose(params[name][2], values, rtol=1e-6, err_msg=name)


def test_histograms_are_those_of_mxnet() -> None:
    for ours, theirs in zip(qq.histograms(quantization), ANSWERS["histograms"], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("mode", list(ANSWERS["outputs"]))
def test_quantised_network_computes_what_mxnets_computes(mode: str) -> None:
    ours = qq.outputs(mx, quantization, mode)
    np.testing.assert_allclose(ours, ANSWERS["outputs"][mode], rtol=1e-4, atol=1e-5)


def _network() -> tuple[mx.Symbol, dict[str, mx.nd.NDArray]]:
    symbol = qq.small(mx.sym)
    shapes, _, _ = symbol.infer_shape(data=(2, 3, 6, 6))
    names = zip(symbol.list_arguments(), shapes, strict=True)
    return symbol, {n: mx.nd.ones(s) for n, s in names if n not in ("data", "softmax_label")}


def test_graph_and_ranges_in_two_steps() -> None:
    symbol, args = _network()
    qsym, qargs, aux, collector = quantization.quantize_graph(symbol, args, {}, calib_mode="naive")
    collector.collect("data", np.array([-1.0, 2.0]))
    collector.collect("data", mx.nd.array([-3.0]))
    collector.collect("unknown", np.array([9.0]))
    qsym, _, _ = quantization.calib_graph(qsym, qargs, aux, collector, "naive")
    ranges = {name: attrs for _, name, _, attrs in qq.nodes(qsym) if "min_calib_range" in attrs}
    assert ranges == {
        "data_quantize": {
            "out_type": "int8", "min_calib_range": "-3.000000", "max_calib_range": "2.000000",
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"calib_mode": "naive"}, "calib_data is none, expected a DataIter"),
        ({"calib_mode": "naive", "calib_data": 3}, "calib_data is int, expected a DataIter"),
        ({"calib_mode": "best"}, "calib_mode is 'best'"),
        ({"calib_mode": "none", "quantized_dtype": "int4"}, "quantized_dtype is 'int4'"),
        ({"calib_mode": "none", "quantize_mode": "x"}, "quantize_mode is 'x'"),
        ({"calib_mode": "none", "quantize_granularity": "x"}, "quantize_granularity is 'x'"),
        ({"calib_mode": "none", "excluded_sym_names": "c"}, "excluded_sym_names is 'c'"),
        ({"calib_mode": "none", "excluded_op_names": "c"}, "excluded_op_names is 'c'"),
    ],
)
def test_wrong_arguments_are_refused(options: dict, problem: str) -> None:
    symbol, args = _network()
    with pytest.raises(ValueError, match=problem):
        quantization.quantize_model(symbol, args, {}, **options)


@pytest.mark.parametrize("name", ["quantize_model_mkldnn", "quantize_net", "quantize_net_v2"])
def test_what_is_not_served_says_what_to_do(name: str) -> None:
    with pytest.raises(NotImplementedError, match=r"try: .*quantize_model"):
        getattr(quantization, name)(None)
