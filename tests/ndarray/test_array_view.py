"""Views of arrays in notebooks, and the statistics behind them."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.display import view_of
from executorkit.ndarray.array_statistics import pool_statistics, statistics

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


@pytest.mark.parametrize("name", ARRAYS)
def test_statistics_describe_the_finite_elements(name):
    array = ARRAYS[name]
    one = statistics(array)
    wide = array.astype("float64")
    finite = wide[np.isfinite(wide)]
    assert (one.finite, one.nans) == (finite.size, np.isnan(wide).sum())
    assert one.infs == array.size - one.finite - one.nans
    if not finite.size:
        assert one.mean is None
        return
    low, high = finite.min(), finite.max()
    assert (one.low, one.high) == (low, high)
    assert one.mean == pytest.approx(finite.mean(), abs=1e-12 * np.abs(finite).max())
    assert one.std == pytest.approx(finite.std(), rel=1e-9, abs=1e-12 * np.abs(finite).max())
    sample = array.ravel()[:: max(1, array.size // 2048)][:2048].astype("float64")
    sample = sample[np.isfinite(sample)]
    if high > low:
        assert list(one.counts) == np.histogram(sample, 16, (low, high))[0].tolist()
    else:
        assert one.counts[8] == sum(one.counts) == sample.size


def test_arrays_pooled_are_as_if_they_were_one():
    parts = [ARRAYS["odd"], ARRAYS["small"].ravel(), ARRAYS["nothing finite"], ARRAYS["one"]]
    pooled = pool_statistics([statistics(a) for a in parts])
    whole = statistics(np.concatenate(parts))
    for name in ("mean", "std", "low", "high"):
        assert getattr(pooled, name) == pytest.approx(getattr(whole, name), rel=1e-6), name
    assert (pooled.finite, pooled.nans, pooled.infs) == (whole.finite, whole.nans, whole.infs)
    assert sum(pooled.counts) == sum(whole.counts)
    assert pool_statistics([statistics(ARRAYS["nothing finite"])] * 2).mean is None


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
