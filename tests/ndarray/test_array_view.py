"""Views of arrays in notebooks, and the statistics behind them."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.display import view_of
from executorkit.ndarray import array_statistics
from executorkit.ndarray.array_statistics import (
    host_statistics,
    pool_statistics,
    statistics,
    statistics_of_lists,
)

from ..display._html import checked
from ..display._snapshots import matches

RANDOM = np.random.RandomState(3)
ARRAYS = {
    "normal": RANDOM.randn(700, 900).astype("float32"),
    "shifted": (RANDOM.randn(300_000) * 1e-2 + 50).astype("float32"),
    "small": RANDOM.randn(3, 4, 5).astype("float32"),
    "one": np.array([2.5], "float32"),
    "scalar": np.array(2.5, "float64"),
    "equal": np.full(40_000, 0.1, "float32"),
    "odd": np.array([np.nan, 1, -np.inf, 3, np.inf, np.inf], "float32"),
    "nothing finite": np.array([np.nan, np.inf], "float32"),
    "integers": RANDOM.randint(-5, 2**40, 5000),
    "bytes": RANDOM.randint(0, 255, 70_000).astype("uint8"),
    "bools": RANDOM.rand(100) > 0.3,
    "halves": (RANDOM.randn(2000) * 100).astype("float16"),
    "doubles": RANDOM.randn(40_000) * 1e100,
    "not even": RANDOM.randn(8192 * 5 + 17).astype("float32"),
}


@pytest.mark.parametrize("joined", [2**20, 16])
def test_one_program_agrees_with_the_host(monkeypatch, joined):
    monkeypatch.setattr(array_statistics, "_JOINED", joined)
    with jax.enable_x64(True):
        values = [jax.numpy.asarray(a) for a in ARRAYS.values()]
        array_statistics._statistics_rows.clear()
        results = statistics(values)
    for name, array, one in zip(ARRAYS, ARRAYS.values(), results, strict=True):
        host = host_statistics(array)
        assert (one.nans, one.infs) == (host.nans, host.infs), name
        assert (one.low, one.high) == (host.low, host.high), name
        if host.mean is None:
            assert one.mean is None
            continue
        spread = max(host.std, 1e-6 * abs(host.mean))  # type: ignore[reportArgumentType]
        assert one.mean == pytest.approx(host.mean, abs=1e-4 * spread), name
        assert one.std == pytest.approx(host.std, rel=1e-4, abs=1e-6 * abs(host.mean)), name
        assert sum(one.counts) == sum(host.counts), name
        assert sum(abs(a - b) for a, b in zip(one.counts, host.counts, strict=True)) <= 4, name


@pytest.mark.parametrize("scan", [True, False])
def test_both_ways_of_reducing_agree(scan, monkeypatch):
    monkeypatch.setattr(array_statistics, "_JOINED", 1000)
    values = (jax.numpy.asarray(ARRAYS["shifted"]), jax.numpy.asarray(ARRAYS["small"]))
    with jax.enable_x64(True):
        rows = jax.jit(lambda v: array_statistics._statistics_rows.function(v, scan))(values)
    assert rows[0, 1] == pytest.approx(ARRAYS["shifted"].astype("float64").mean(), rel=1e-8)
    assert rows[0, 2] == pytest.approx(ARRAYS["shifted"].astype("float64").std(), rel=1e-4)


def test_arrays_on_several_devices():
    arrays = [mx.nd.ones((3,), ctx=mx.cpu(k)) * k for k in (2, 0, 1)]
    assert [s.mean for s in statistics([a.value for a in arrays])] == [2, 0, 1]


@pytest.mark.usefixtures("compiled")
def test_lists_are_fetched_together_and_compiled_separately():
    lists = [[jax.numpy.ones((3,))], [], [jax.numpy.zeros((2,)), jax.numpy.ones((4,))]]
    array_statistics._statistics_rows.clear()
    results = statistics_of_lists(lists)
    assert [[s.mean for s in each] for each in results] == [[1], [], [0, 1]]
    statistics_of_lists(lists[1:])
    assert array_statistics._statistics_rows.executables == 2


def test_arrays_pooled_are_as_if_they_were_one():
    parts = [ARRAYS["odd"], ARRAYS["small"].ravel(), ARRAYS["nothing finite"], ARRAYS["one"]]
    pooled = pool_statistics([host_statistics(a) for a in parts])
    whole = host_statistics(np.concatenate(parts))
    for name in ("mean", "std", "low", "high"):
        assert getattr(pooled, name) == pytest.approx(getattr(whole, name), rel=1e-6), name
    assert (pooled.finite, pooled.nans, pooled.infs) == (whole.finite, whole.nans, whole.infs)
    assert sum(pooled.counts) == sum(whole.counts)
    assert pool_statistics([host_statistics(ARRAYS["nothing finite"])] * 2).mean is None


def test_text_form():
    array = mx.nd.array(np.arange(60).reshape(2, 5, 6))
    matches("ndarray", view_of(array).text())


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 3, 4, 5), (600, 600)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "bfloat16"])
def test_every_array_has_a_view(shape, dtype):
    with mx.np_shape():
        array = mx.nd.ones(shape, dtype=dtype)
    words = checked(array._repr_html_())
    assert f"NDArray {shape} {dtype} @cpu(0)" in words
    assert array._repr_mimebundle_()["text/plain"] == repr(array)


def test_a_view_leaves_the_buffer_free():
    array = mx.nd.ones((600, 600)) + 1
    array._repr_html_()
    assert not array.storage.shared
