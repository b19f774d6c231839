"""The convolution in C computes what NumPy's sums in float64 give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.ops.nn.conv_kernels import native

needs_compiler = pytest.mark.skipif(not native.available(), reason="there is no compiler")

#: data, weight (depthwise where it has one channel of several), strides, padding, dilation.
CASES: dict[str, tuple[Any, ...]] = {
    "one pixel": ((1, 1, 1, 40), (1, 1, 40, 100), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "a long row": ((2, 7, 7, 33), (1, 1, 33, 64), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "strided, one tap": ((2, 7, 9, 16), (1, 1, 16, 48), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    "3 x 3": ((2, 9, 13, 20), (3, 3, 20, 32), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "3 x 3, few filters": ((1, 14, 14, 8), (3, 3, 8, 17), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "5 vectors": ((1, 8, 8, 8), (3, 3, 8, 80), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "7 vectors, the last of 4": ((1, 5, 8, 8), (1, 3, 8, 100), (1, 1), ((0, 0), (1, 1)), (1, 1)),
    "first layer": ((2, 23, 21, 3), (7, 7, 3, 64), (2, 2), ((3, 3), (3, 3)), (1, 1)),
    "asymmetric padding": ((1, 6, 5, 4), (3, 2, 4, 24), (2, 1), ((0, 3), (2, 0)), (1, 1)),
    "padding beyond the window": ((1, 2, 2, 4), (2, 2, 4, 16), (1, 1), ((4, 3), (3, 4)), (1, 1)),
    "negative padding": ((1, 6, 6, 4), (1, 1, 4, 16), (1, 1), ((-1, 1), (1, -1)), (1, 1)),
    "dilation": ((1, 12, 9, 16), (3, 3, 16, 32), (1, 1), ((2, 2), (3, 3)), (2, 3)),
    "blocks of channels": ((1, 5, 5, 300), (3, 3, 300, 128), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "blocks, odd filters": ((1, 4, 4, 300), (3, 3, 300, 129), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "no pictures": ((0, 5, 5, 3), (3, 3, 3, 16), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "no positions": ((1, 2, 2, 3), (3, 3, 3, 16), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "many tasks": ((2, 40, 40, 32), (3, 3, 32, 64), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "depthwise": ((2, 8, 15, 20), (3, 3, 1, 20), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "depthwise, strided": ((2, 8, 15, 32), (3, 3, 1, 32), (2, 2), ((1, 1), (0, 1)), (1, 1)),
    "depthwise, dilation": ((1, 9, 9, 40), (3, 3, 1, 40), (3, 1), ((1, 1), (2, 2)), (1, 2)),
    "depthwise, 5 x 2": ((1, 9, 2, 17), (5, 2, 1, 17), (1, 3), ((2, 2), (1, 0)), (1, 1)),
    "depthwise, many tasks": ((1, 56, 56, 96), (3, 3, 1, 96), (1, 1), ((1, 1), (1, 1)), (1, 1)),
}  # fmt: skip
#: Whether there are bias and addend; the bounds.
EXTRAS = {
    "bare": (False, False, None, None),
    "all": (True, True, -0.5, 1.5),
    "relu": (True, False, 0.0, None),
}


def _operands(data: Any, weight: Any, *window: Any) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    shape = data[0], *_sizes(data, weight, *window), weight[3]
    shapes = data, weight, weight[3:], shape
    return tuple(rng.standard_normal(s).astype(np.float32) for s in shapes)


def _sizes(data: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> list[int]:
    axes = zip(data[1:3], weight, strides, padding, dilation, strict=False)
    return [max(0, (n + sum(p) - d * (k - 1) - 1) // s + 1) for n, k, s, p, d in axes]


def _expected(data: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    rows, columns = _sizes(data.shape, weight.shape, strides, padding, dilation)
    (top, bottom), (left, right) = padding
    widths = [(0, 0), *((max(p, 0), max(q, 0)) for p, q in padding), (0, 0)]
    data = np.pad(data.astype(np.float64), widths)
    data = data[:, max(-top, 0) : data.shape[1] + min(bottom, 0)]
    data = data[:, :, max(-left, 0) : data.shape[2] + min(right, 0)]
    total = np.zeros((len(data), rows, columns, weight.shape[3]))
    for i, j in product(*map(range, weight.shape[:2])):
        x = data[:, i * dilation[0] :: strides[0], j * dilation[1] :: strides[1]]
        x = x[:, :rows, :columns]
        total += x * weight[i, j, 0] if weight.shape[2] < data.shape[3] else x @ weight[i, j]
    return total


def _convolve(
    data: Any, weight: Any, bias: Any = None, addend: Any = None, *, strides: Any = (1, 1),
    padding: Any = ((0, 0), (0, 0)), dilation: Any = (1, 1), lower: Any = None, upper: Any = None,
) -> Any:  # fmt: skip
    """A chain of one convolution."""
    groups = data.shape[3] if weight.shape[2] < data.shape[3] else 1
    packed = native.pack(weight, groups).ravel()
    sizes = _sizes(data.shape, weight.shape, strides, padding, dilation)
    shape = data.shape[0], *sizes, weight.shape[3]
    window = *weight.shape[:2], *strides, padding[0][0], padding[1][0], *dilation
    step = native.ChainStep(
        data="data", addend=None if addend is None else "addend", result="result", weights=0,
        bias=None if bias is None else packed.size, shapes=(data.shape, shape), window=window,
        is_depthwise=groups > 1,
    )  # fmt: skip
    arrays = [data] if addend is None else [data, addend]
    names = [*("data", "addend")[: len(arrays)], "result"]
    rows, size = native.planned([step], {name: i + 1 for i, name in enumerate(names)}, {})
    bounds = -np.inf if lower is None else lower, np.inf if upper is None else upper
    weights = packed if bias is None else jnp.concatenate([packed, bias])
    (result,) = native.convolve_chain(
        weights, *arrays, results=[shape], rows=rows, bounds=[bounds], size=size
    )
    return result


@needs_compiler
@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("case", CASES)
def test_it_computes_numpys_sums(case: str, extras: str) -> None:
    shape, weights, *window = CASES[case]
    names = dict(zip(("strides", "padding", "dilation"), window, strict=True))
    groups = shape[3] if weights[2] == 1 else 1
    data, weight, bias, addend = _operands(shape, weights, *window)
    has_bias, has_addend, lower, upper = EXTRAS[extras]
    assert native.supports(shape, weights, groups=groups, **names)

    @jax.jit
    def run(data: Any, weight: Any, bias: Any, addend: Any) -> Any:
        extras = bias if has_bias else None, addend if has_addend else None
        return _convolve(data, weight, *extras, lower=lower, upper=upper, **names)

    expected = _expected(data, weight, *window)
    expected = np.clip(expected + has_bias * bias + has_addend * addend, lower, upper)
    error = np.sqrt(weight[..., 0].size) * 5e-6
    np.testing.assert_allclose(run(data, weight, bias, addend), expected, atol=error, rtol=0)


@needs_compiler
@pytest.mark.parametrize("filters", [16, 17, 31, 64, 65, 80, 100, 129, 160, 257])
def test_unpacked_weights_are_the_weights(filters: int) -> None:
    weight = jnp.arange(2.0 * 3 * 5 * filters).reshape(2, 3, 5, filters)
    packed = native.pack(weight, 1)
    np.testing.assert_array_equal(native.unpack(packed, weight.shape, 1), weight)


@needs_compiler
def test_nan_and_infinity_stay() -> None:
    data = jnp.array([np.nan, np.inf, -np.inf, 1], jnp.float32).reshape(1, 1, 4, 1)
    weight = jnp.ones((1, 1, 1, 16))
    result = _convolve(data, weight, lower=0.0)
    np.testing.assert_array_equal(result[0, 0, :, 3], [np.nan, np.inf, 0, 1])


@needs_compiler
def test_calls_at_the_same_time_have_results_of_their_own() -> None:
    weight = jnp.asarray(np.random.default_rng(0).standard_normal((3, 3, 32, 64)), jnp.float32)
    run = jax.jit(lambda data: _convolve(data, weight, padding=((1, 1), (1, 1))))

    def check(seed: int) -> bool:
        data = np.random.default_rng(seed).standard_normal((1, 28, 28, 32)).astype(np.float32)
        results = [np.asarray(run(data)) for _ in range(5)]
        expected = _expected(data, np.asarray(weight), (1, 1), ((1, 1), (1, 1)), (1, 1))
        return all(np.allclose(r, expected, atol=1e-4) for r in results)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(check, range(12)))


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_a_chain_computes_what_single_calls_do(seed: int) -> None:
    """Numbers of steps are their results; two of them are one concatenation."""
    rng = np.random.default_rng(seed)
    n, height, width = (int(x) for x in rng.integers([1, 3, 3], [3, 24, 24]))
    data = rng.standard_normal((n, height, width, 16)).astype(np.float32)
    values: dict[Any, Any] = {-1: jnp.asarray(data)}
    parts: dict[Any, Any] = {}
    steps, packed, unread = [], [], set()
    while len(steps) < 12:
        number, start = len(steps), sum(p.size for p in packed)
        source, kernel = list(values)[rng.integers(len(values))], int(rng.choice([1, 3]))
        x, depthwise = values[source], bool(rng.integers(2))
        filters = x.shape[3] if depthwise else int(rng.choice([16, 20, 48, 100]))
        shape = kernel, kernel, 1 if depthwise else x.shape[3], filters
        groups, scale = x.shape[3] if depthwise else 1, 1 / np.sqrt(np.prod(shape[:3]))
        weight = jnp.asarray(rng.standard_normal(shape) * scale, jnp.float32)
        bias = jnp.asarray(rng.standard_normal(filters), jnp.float32)
        equal = [k for k, v in values.items() if v.shape[3] == filters]
        addend = equal[rng.integers(len(equal))] if equal and rng.integers(2) else None
        result = _convolve(
            x, weight, bias, values.get(addend), padding=((kernel // 2,) * 2,) * 2, lower=-1.0
        )
        packed += [native.pack(weight, groups).ravel(), bias]
        window = kernel, kernel, 1, 1, kernel // 2, kernel // 2, 1, 1
        steps.append(native.ChainStep(
            source, addend, number, start, start + packed[-2].size, (x.shape, result.shape),
            window, depthwise,
        ))  # fmt: skip
        values[number] = result
        unread = (unread | {number}) - {source, addend}
        if number >= 5 and not parts and {number - 1, number} <= unread:
            both = [values.pop(k) for k in (number - 1, number)]
            values["both"] = jnp.concatenate(both, 3)
            channels = values["both"].shape[3]
            first = both[0].shape[3]
            parts = {number - 1: ("both", channels, 0), number: ("both", channels, first)}
    assert parts or seed
    del values[-1]
    results = [k for k in values if k in unread or rng.integers(3) == 0]
    rows, size = native.planned(steps, {x: i + 1 for i, x in enumerate((-1, *results))}, parts)
    shapes, bounds = [values[k].shape for k in results], [(-1.0, np.inf)] * len(steps)

    @jax.jit
    def run(weights: Any, x: Any) -> Any:
        facts = {"results": shapes, "rows": rows, "bounds": bounds, "size": size}
        return native.convolve_chain(weights, x, **facts)

    for _ in range(5):
        for k, result in zip(results, run(jnp.concatenate(packed), data), strict=True):
            np.testing.assert_array_equal(result, values[k])


@pytest.mark.parametrize(
    "script",
    [None, "exit 1", "exit 0", 'while [ "$1" != -o ]; do shift; done; cp "$0" "$2"'],
    ids=["none", "fails", "no library", "no code"],
)
def test_it_is_not_available_without_a_working_compiler(
    script: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "compiler"
    if script is not None:
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        compiler.chmod(0o700)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr(native, "_is_loaded", None)
    monkeypatch.setattr(native, "answer", lambda question, find: find())
    assert native.wanted() == (script is not None)
    assert not native.available()
    assert not native.wanted()
