"""``mx.contrib.quantization`` on many small graphs: graphs, ranges and parameters are MXNet's."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.contrib import quantization
from tests._tools.answers import stored_answers
from tests.golden import quantization_questions as qq

ANSWERS = stored_answers("quantization")


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
