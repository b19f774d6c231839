"""Output shapes that operators state are those of their functions, which would take the inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import pytest
from hypothesis import given, settings, strategies as st

from executorkit.ops import OpDef, Params, lookup
from tests._tools import golden as _golden

FLOATING = {"float16", "bfloat16", "float32", "float64"}
Shape = tuple[int, ...]
#: An operator's name, its attributes and the shapes of its inputs.
Question = tuple[str, dict[str, Any], list[Shape]]


def _traced(op: OpDef, p: Params, shapes: Sequence[Shape], dtypes: Sequence[str]) -> list[Shape]:
    with jax.enable_x64(True):
        arrays = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
        key = jax.eval_shape(lambda: jax.random.key(0))
        results = jax.eval_shape(lambda k, *xs: op.apply(p, xs, key=k, train=True), key, *arrays)
    return [r.shape for r in results[: len(op.outputs(p))]]


def test_recorded_cases() -> None:
    compared = set()
    for _, case, dtype in _golden.questions():
        op, p = _golden.parsed(case)
        arrays = case.arrays(dtype)
        shapes = [x.shape for x in arrays.values()]
        dtypes = [x.dtype.name for x in arrays.values()]
        if op.output_shapes is None or any(0 in s for s in shapes) or not set(dtypes) <= FLOATING:
            continue
        stated = op.output_shapes(p, tuple(shapes))
        if stated is not None:
            assert list(stated) == _traced(op, p, shapes, dtypes), (case.name, dtype)
            compared.add(op.name)
    assert len(compared) > 100
    assert {"Convolution", "Pooling", "BatchNorm", "FullyConnected", "Concat"} <= compared
    assert {"Embedding", "Dropout", "SliceChannel", "transpose", "Reshape"} <= compared


_SIZES = st.integers(1, 9)
_DATA = st.lists(_SIZES, min_size=2, max_size=5).map(tuple)
_BOOLEANS = st.booleans()


def _per_axis(rank: int, low: int, high: int) -> st.SearchStrategy[Shape]:
    return st.lists(st.integers(low, high), min_size=rank, max_size=rank).map(tuple)


@st.composite
def _convolutions(draw: st.DrawFn) -> Question:
    data = draw(_DATA)
    rank = draw(st.integers(1, 3))
    groups, filters = draw(st.integers(1, 3)), draw(_SIZES)
    kernel = draw(_per_axis(rank, 1, 4))
    weight = (filters, max(data[1] // groups, draw(st.integers(1, 2))), *kernel)
    attrs = {
        "kernel": kernel, "num_filter": filters, "num_group": groups, "no_bias": True,
        "stride": draw(_per_axis(rank, 0, 3)), "dilate": draw(_per_axis(rank, 0, 2)),
        "pad": draw(_per_axis(rank, -1, 2)),
    }  # fmt: skip
    return "Convolution", attrs, [data, weight]


@st.composite
def _poolings(draw: st.DrawFn) -> Question:
    rank = draw(st.integers(1, 3))
    attrs = {
        "kernel": draw(_per_axis(rank, 1, 4)), "stride": draw(_per_axis(rank, 0, 3)),
        "pad": draw(_per_axis(rank, -1, 2)), "global_pool": draw(_BOOLEANS),
        "pool_type": draw(st.sampled_from(["max", "avg"])),
        "pooling_convention": draw(st.sampled_from(["valid", "full", "same"])),
    }  # fmt: skip
    return "Pooling", attrs, [draw(_DATA)]


@st.composite
def _dense_layers(draw: st.DrawFn) -> Question:
    data, hidden = draw(_DATA), draw(_SIZES)
    features = draw(st.sampled_from([data[-1], math.prod(data[1:])]))
    attrs = {"num_hidden": hidden, "flatten": draw(_BOOLEANS), "no_bias": True}
    return "FullyConnected", attrs, [data, (hidden, features)]


@st.composite
def _joins(draw: st.DrawFn) -> Question:
    data, at = draw(_DATA), draw(st.integers(-3, 3))
    other = list(data)
    other[draw(st.integers(0, len(data) - 1))] = draw(_SIZES)
    return "Concat", {"dim": at, "num_args": 2}, [data, tuple(other)]


@st.composite
def _pairs(draw: st.DrawFn) -> Question:
    data = draw(_DATA)
    other = tuple(draw(st.sampled_from([1, n, n + 1])) for n in data)
    name = draw(st.sampled_from(["broadcast_add", "elemwise_add"]))
    return name, {}, [data, other[draw(st.integers(0, 1)) :]]


_AXES = st.integers(0, 4).flatmap(lambda n: st.permutations(range(n))).map(tuple)
_QUESTIONS = st.one_of(
    _convolutions(),
    _poolings(),
    _dense_layers(),
    _joins(),
    _pairs(),
    st.builds(
        lambda data, axis, count, squeeze: (
            "SliceChannel", {"axis": axis, "num_outputs": count, "squeeze_axis": squeeze}, [data]
        ),
        _DATA, st.integers(-3, 3), st.integers(1, 4), _BOOLEANS,
    ),
    st.builds(
        lambda data, shape, reverse: ("Reshape", {"shape": shape, "reverse": reverse}, [data]),
        _DATA, st.lists(st.integers(-4, 6), min_size=1, max_size=4).map(tuple), _BOOLEANS,
    ),
    st.builds(
        lambda data, slopes: ("LeakyReLU", {"act_type": "prelu"}, [data, slopes]),
        _DATA, st.lists(_SIZES, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(lambda data, axes: ("transpose", {"axes": axes}, [data]), _DATA, _AXES),
    st.builds(lambda data, axes: ("Dropout", {"axes": axes}, [data]), _DATA, _AXES),
    st.builds(
        lambda data, multi, kept: (
            "SoftmaxOutput", {"multi_output": multi, "preserve_shape": kept}, [data, data]
        ),
        _DATA, _BOOLEANS, _BOOLEANS,
    ),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(_QUESTIONS)
def test_what_an_operator_states_its_function_computes(question: Question) -> None:
    """What does not fit is refused as the function refuses it, or left to the function."""
    name, attrs, shapes = question
    op = lookup(name)
    assert op is not None
    assert op.output_shapes is not None
    p, dtypes = op.parse(attrs), ["float32"] * len(shapes)
    try:
        stated = op.output_shapes(p, tuple(shapes))
    except Exception as error:
        with pytest.raises(type(error)):
            _traced(op, p, shapes, dtypes)
        return
    if stated is not None:
        assert list(stated) == _traced(op, p, shapes, dtypes)
