"""AdamW and LAMB as mx.nd.contrib calls them: the operators, with lists put in order."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx

ADAMW = {"lr": 0.1, "eta": 0.5, "wd": 0.01}


def arrays(seed, dtype="float32", copy=False):
    """weight, gradient, mean, variance, and the weight's float32 copy."""
    rng = np.random.RandomState(seed)
    values = [rng.uniform(0.1, 1, 3).astype("float32") for _ in range(4)]
    ndarrays = [mx.nd.array(v, dtype=dtype if i < 2 else "float32") for i, v in enumerate(values)]
    return [*ndarrays, mx.nd.array(values[0])] if copy else ndarrays


def state(many):
    return [x.asnumpy() for x in many]


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("scale", [0.5, "array"])
@pytest.mark.parametrize("mixed", [False, True])
def test_adamw(mixed, scale):
    dtype = "float16" if mixed else "float32"
    one, two = (arrays(0, dtype, copy=mixed) for _ in range(2))
    half = mx.nd.array([0.5])
    name = "mp_adamw_update" if mixed else "adamw_update"
    rescale = half if scale == "array" else scale
    getattr(mx.nd.contrib, name)(*one, rescale, **ADAMW, out=one[0])
    getattr(mx.nd._internal, f"_{name}")(*two, half, **ADAMW, out=two[0])
    assert_same(state(one), state(two))
    assert not np.array_equal(one[0].asnumpy(), arrays(0, dtype)[0].asnumpy())


@pytest.mark.parametrize("mixed", [False, True])
def test_many_weights_are_each_updated_alone(mixed):
    mp, dtype = ("mp_", "float16") if mixed else ("", "float32")
    together = [arrays(s, dtype, copy=mixed) for s in (1, 2)]
    alone = [arrays(s, dtype, copy=mixed) for s in (1, 2)]
    columns = [list(c) for c in zip(*together, strict=True)]
    getattr(mx.nd.contrib, f"multi_{mp}adamw_update")(
        *columns, 0.5, [0.1, 0.2], [0.0, 0.1], [1.0, 0.5], out=columns[0]
    )
    for operands, lr, wd, eta in zip(alone, (0.1, 0.2), (0.0, 0.1), (1.0, 0.5), strict=True):
        update = getattr(mx.nd.contrib, f"{mp}adamw_update")
        update(*operands, 0.5, lr=lr, wd=wd, eta=eta, out=operands[0])
    for ours, theirs in zip(together, alone, strict=True):
        for a, b in zip(state(ours), state(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("mixed", [False, True])
def test_lamb_is_the_operator(mixed):
    mp, dtype = ("mp_", "float16") if mixed else ("", "float32")
    one, two = ([arrays(s, dtype, copy=mixed) for s in (1, 2)] for _ in range(2))
    columns = [list(c) for c in zip(*one, strict=True)]
    getattr(mx.nd.contrib, f"multi_{mp}lamb_update")(
        *columns, [1, 3], [0.1, 0.2], [0.0, 0.1], out=columns[0]
    )
    getattr(mx.nd._internal, f"_multi_{mp}lamb_update")(
        *two[0], *two[1], num_tensors=2, step_count=[1, 3], learning_rates=[0.1, 0.2],
        wds=[0.0, 0.1], out=[two[0][0], two[1][0]],
    )  # fmt: skip
    assert_same(state([*one[0], *one[1]]), state([*two[0], *two[1]]))


def test_expected_counts_of_zipfian_classes():
    sampled, true, drawn = mx.sym.contrib.rand_zipfian(mx.sym.var("c"), 4, 5)
    (count,) = true.eval(c=mx.nd.array([3.0]))
    np.testing.assert_allclose(count.asnumpy(), 4 * np.log(5 / 4) / np.log(6), rtol=1e-12)
    classes, counts = (x.asnumpy() for x in mx.sym.Group([sampled, drawn]).eval())
    assert (classes.shape, classes.dtype) == ((4,), np.int64)
    assert set(classes.tolist()) <= set(range(5))
    np.testing.assert_allclose(counts, 4 * np.log((classes + 2) / (classes + 1)) / np.log(6))


@pytest.mark.parametrize("name", ["adamw_update", "mp_adamw_update"])
def test_graphs_cannot_hold_updates(name):
    arrays = [mx.sym.Variable(n) for n in ("weight", "grad", "mean", "var", "weight32")]
    with pytest.raises(mx.base.MXNetError, match="changes arrays in place"):
        getattr(mx.sym.contrib, name)(*arrays[: 5 if name[0] == "m" else 4], 1.0, lr=0.1, eta=1)
