"""Operators that reshape, cut, join, index and multiply: what no golden case can hold.

Backwards inference of shapes, refusals, and the places where we leave MXNet.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.errors import AttributeValueError, MXNetError, ShapeError
from executorkit.ops import lookup
from executorkit.ops.schema.inference import ShapeFacts, TypeFacts


def filled(op_name: str, attrs: dict[str, Any], **shapes: tuple[int, ...]) -> dict[str, Any]:
    """Shapes around one node after its operator's rule has been applied."""
    op = lookup(op_name)
    assert op is not None
    assert op.infer_shape is not None
    p = op.parse(attrs)
    outs = [f"out{i}" for i in range(len(op.outputs(p)))]
    facts = ShapeFacts(op_name, {**dict.fromkeys([*op.inputs(p), *outs]), **shapes})
    for _ in range(3):
        op.infer_shape(facts, p)
    return facts


def apply(op_name: str, attrs: dict[str, Any], *arrays: Any) -> tuple[Any, ...]:
    op = lookup(op_name)
    assert op is not None
    p = op.parse(attrs)
    with jax.enable_x64(True):
        return jax.jit(lambda *xs: op.apply(p, xs))(*arrays)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("op", "attrs", "shapes", "expected"),
    [
        ("Reshape", {"shape": (-1, 12)}, {"data": (0, 3, 4), "out0": (5, 12)}, (5, 3, 4)),
        ("Reshape", {"shape": (6, 4)}, {"data": (0, 3, 4)}, (2, 3, 4)),
        ("Reshape", {"shape": (0, -1)}, {"data": (2, 0, 4), "out0": (2, 12)}, (2, 3, 4)),
        ("Reshape", {"shape": (0, 0, -1)}, {"data": (0, 0, 4), "out0": (2, 3, 4)}, (2, 3, 4)),
        ("Reshape", {"shape": (-2,)}, {"data": (0, 0), "out0": (5, 4)}, (5, 4)),
        ("Reshape", {"shape": (-3,)}, {"data": (0, 4), "out0": (20,)}, (5, 4)),
        ("Reshape", {"shape": (-4, -1, 2, 0)}, {"data": (0, 4), "out0": (4, 2, 4)}, (8, 4)),
        (
            "Reshape",
            {"shape": (-1, 0), "reverse": True},
            {"data": (2, 0, 0), "out0": (6, 4)},
            (2, 3, 4),
        ),
        ("Reshape", {"shape": (2, 3)}, {"data": (0, 0)}, (0, 0)),
        ("Flatten", {}, {"data": (0, 3, 4), "out0": (5, 12)}, (5, 3, 4)),
        ("expand_dims", {"axis": 1}, {"out0": (2, 1, 3)}, (2, 3)),
        ("expand_dims", {"axis": -1}, {"data": (0, 3), "out0": (2, 0, 1)}, (2, 3)),
        ("transpose", {"axes": (2, 0, 1)}, {"out0": (4, 2, 3)}, (2, 3, 4)),
        ("transpose", {}, {"out0": (4, 3, 2)}, (2, 3, 4)),
        ("transpose", {"axes": (1, 0, 2)}, {"data": (2, 0, 4), "out0": (3, 2, 4)}, (2, 3, 4)),
        ("SwapAxis", {"dim1": 0, "dim2": 2}, {"data": (0, 3, 4), "out0": (4, 3, 7)}, (7, 3, 4)),
        ("depth_to_space", {"block_size": 2}, {"out0": (1, 2, 4, 6)}, (1, 8, 2, 3)),
        ("space_to_depth", {"block_size": 2}, {"out0": (1, 8, 2, 3)}, (1, 2, 4, 6)),
        ("SliceChannel", {"num_outputs": 2}, {"out1": (2, 3)}, (2, 6)),
        ("SliceChannel", {"num_outputs": 2, "squeeze_axis": True}, {"out0": (3, 5)}, (3, 2, 5)),
        ("slice", {"begin": (0,), "end": (2,)}, {"data": (3, 0), "out0": (2, 5)}, (3, 5)),
        ("slice_axis", {"axis": 1, "begin": 0, "end": 2}, {"data": (0, 3), "out0": (5, 2)}, (5, 3)),
        (
            "Pad",
            {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 1, 2, 0)},
            {"out0": (1, 2, 5, 6)},
            (1, 2, 3, 4),
        ),
        ("Embedding", {"input_dim": 9, "output_dim": 2}, {"out0": (5, 3, 2)}, (5, 3)),
        ("SequenceMask", {}, {"out0": (3, 2, 2)}, (3, 2, 2)),
        (
            "SequenceMask",
            {"use_sequence_length": True},
            {"data": (3, 0, 2), "sequence_length": (2,)},
            (3, 2, 2),
        ),
        ("SequenceLast", {}, {"data": (3, 0, 0), "out0": (2, 5)}, (3, 2, 5)),
    ],
)
def test_the_shape_of_the_first_input_is_deduced(op, attrs, shapes, expected):
    facts = filled(op, attrs, **shapes)
    assert next(iter(facts.values())) == expected


@pytest.mark.parametrize(
    ("op", "attrs", "shapes", "name", "expected"),
    [
        ("Concat", {"num_args": 3}, {"arg0": (2, 3), "arg1": (0, 4), "out0": (0, 9)},
         "arg2", (2, 2)),
        ("Concat", {"num_args": 2, "dim": -1}, {"arg1": (2, 3, 4)}, "arg0", (2, 3, 0)),
        ("Concat", {"num_args": 2}, {"out0": (2, 7, 5)}, "arg1", (2, 0, 5)),
        ("stack", {"num_args": 2, "axis": 1}, {"out0": (2, 2, 3)}, "arg1", (2, 3)),
        ("where", {}, {"condition": (2,), "y": (0, 3)}, "x", (2, 3)),
        ("where", {}, {"condition": (2, 3)}, "y", (2, 3)),
        ("pick", {"axis": 1}, {"data": (2, 3, 4)}, "index", (2, 4)),
        ("pick", {"axis": 1}, {"data": (2, 3, 4), "index": (0, 1, 0)}, "index", (2, 1, 4)),
        ("_slice_assign", {"begin": (0, 1), "end": (2, 3)}, {"lhs": (4, 5)}, "rhs", (2, 2)),
        ("batch_dot", {}, {"lhs": (2, 3, 4), "out0": (0, 3, 5)}, "rhs", (2, 4, 5)),
        (
            "batch_dot",
            {"transpose_a": True},
            {"lhs": (0, 4, 3), "rhs": (2, 4, 5)},
            "lhs",
            (2, 4, 3),
        ),
        ("dot", {"transpose_b": True}, {"lhs": (2, 3), "rhs": (5, 0)}, "rhs", (5, 3)),
        ("_linalg_gemm", {"transpose_b": True}, {"A": (2, 3), "B": (4, 3)}, "C", (2, 4)),
        ("_linalg_gemm2", {"axis": 0}, {"A": (3, 2, 4), "out0": (3, 2, 5)}, "B", (4, 2, 5)),
        ("_linalg_trsm", {"rightside": True}, {"out0": (4, 3)}, "A", (3, 3)),
        ("SequenceLast", {"use_sequence_length": True, "axis": 1}, {"data": (3, 4, 2)},
         "sequence_length", (3,)),
        ("_ravel_multi_index", {"shape": (3, 4)}, {"out0": (7,)}, "data", (2, 7)),
        ("_contrib_index_copy", {}, {"old_tensor": (4, 2), "index_vector": (3,)},
         "new_tensor", (3, 2)),
    ],
)  # fmt: skip
def test_the_shape_of_another_input_is_deduced(op, attrs, shapes, name, expected):
    assert filled(op, attrs, **shapes)[name] == expected


@pytest.mark.parametrize(
    ("op", "attrs", "shapes", "message"),
    [
        (
            "Reshape",
            {"shape": (5, 5)},
            [(3, 4)],
            "data (3, 4) has 12 elements, which do not fit (5, 5)",
        ),
        ("Reshape", {"shape": (-1, -1)}, [(3, 4)], "shape=(-1, -1) has more than one -1"),
        ("Reshape", {"shape": (-5,)}, [(3, 4)], "shape=(-5,): -5 has no meaning"),
        (
            "Reshape",
            {"shape": (0, 0, 0)},
            [(3, 4)],
            "shape=(0, 0, 0) uses more axes than the 2 of (3, 4)",
        ),
        (
            "Reshape",
            {"shape": (-4, -1, -1)},
            [(4,)],
            "-4 in shape is followed by (-1, -1), expected two sizes",
        ),
        ("Reshape", {"shape": (-4, 3, -1)}, [(4,)], "-4 in shape cannot split an axis of 4 into"),
        ("Reshape", {}, [(4,)], "'shape' is not given"),
        (
            "reshape_like",
            {"lhs_begin": 1, "lhs_end": 1},
            [(2, 3), (2, 3)],
            "lhs_begin=1, lhs_end=1 name no axes of an array with 2 axes",
        ),
        ("expand_dims", {"axis": 3}, [(2, 3)], "axis=3, expected -3 to 2: the input has 3 axes"),
        ("squeeze", {"axis": 0}, [(2, 1)], "axis=(0,): not every axis named of data (2, 1) is of"),
        (
            "transpose",
            {"axes": (0, 0)},
            [(2, 3)],
            "axes=(0, 0), expected each of 0 to 1 once: data is (2, 3)",
        ),
        (
            "SliceChannel",
            {"num_outputs": 2},
            [(3, 5)],
            "axis 1 of data (3, 5) has 5 entries, expected a multiple of 2",
        ),
        ("_split_v2", {"indices": (1, 2)}, [(3, 5)], "indices=(1, 2), expected 0 first"),
        ("slice", {"begin": (0, 0), "end": (1,)}, [(3, 5)], "are of different lengths"),
        ("slice", {"begin": (0,), "end": (1,), "step": (0,)}, [(3, 5)], "must not be 0"),
        (
            "slice_axis",
            {"axis": 1, "begin": 2, "end": 9},
            [(3, 5)],
            "begin=2, end=9 are not a range in axis 1 of data (3, 5)",
        ),
        (
            "slice_like",
            {},
            [(3, 5), (4, 5)],
            "axis 0 of data (3, 5) cannot be cut as in shape_like (4, 5)",
        ),
        (
            "Crop",
            {"num_args": 1, "h_w": (3, 3), "offset": (2, 0)},
            [(1, 1, 4, 4)],
            "a window of (3, 3) at (2, 0) does not fit into images of (4, 4)",
        ),
        ("Crop", {"num_args": 1}, [(1, 1, 4, 4)], "h_w=(0, 0), expected height and width"),
        (
            "Pad",
            {"mode": "reflect", "pad_width": (0, 0, 0, 0, 3, 0, 0, 0)},
            [(1, 1, 3, 3)],
            "data (1, 1, 3, 3) has too few entries to reflect",
        ),
        ("tile", {"reps": (-1, 1)}, [(2, 2)], "reps=(-1, 1), expected no negative numbers"),
        ("reverse", {"axis": 2}, [(2, 2)], "axis=2, expected -2 to 1: the input has 2 axes"),
        ("diag", {"k": 5}, [(2, 2)], "matrices of 2 x 2 have no diagonal k=5"),
        ("pick", {"axis": None}, [(2, 2), (2,)], "axis=None is not supported, name an axis"),
        (
            "gather_nd",
            {},
            [(2, 2), (3, 1)],
            "'indices' is (3, 1), expected (M, ...) with M up to 2",
        ),
        ("scatter_nd", {"shape": (3, 4)}, [(2, 3), (1, 2)], "'data' is (2, 3), expected (2, 4)"),
        ("topk", {"k": 9}, [(2, 3)], "k=9, expected at most 3: data is (2, 3), axis=-1"),
        (
            "dot",
            {},
            [(2, 3), (4, 5)],
            "axis 1 of lhs (2, 3) and axis 0 of rhs (4, 5) are summed over, expected one size",
        ),
        ("dot", {"transpose_a": True}, [(2,), (2,)], "vectors cannot be transposed"),
        ("batch_dot", {}, [(2, 3), (3, 4)], "'lhs' is (2, 3), expected three axes or more"),
        ("_linalg_gemm2", {"axis": -1}, [(2, 2), (2, 2)], "axis=-1 holds the columns"),
        ("_linalg_potrf", {}, [(2, 3)], "'A' is (2, 3), expected square matrices (..., n, n)"),
        ("_linalg_maketrian", {}, [(4,)], "expected a last axis of k (k + 1) / 2 entries"),
        ("SequenceReverse", {"axis": 1}, [(2, 3, 4)], "axis=1, expected 0"),
        ("SequenceMask", {"axis": 2}, [(2, 3, 4)], "axis=2, expected 0 or 1"),
        ("SequenceLast", {}, [(2,)], "'data' is (2,), expected two axes or more"),
        (
            "SequenceLast",
            {"use_sequence_length": True},
            [(4, 3), (4,)],
            "'sequence_length' is (4,), expected (3,)",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused_with_the_reason(op, attrs, shapes, message):
    with pytest.raises((ShapeError, AttributeValueError)) as caught:
        apply(op, attrs, *(zeros(*s) for s in shapes))
    assert message in str(caught.value.args[0])


@pytest.mark.parametrize(
    ("op", "attrs", "text"),
    [
        ("take", {"mode": "wild"}, "mode='wild', expected one of 'clip', 'raise', 'wrap'"),
        ("topk", {"ret_typ": "values"}, "ret_typ='values', expected one of 'both', 'indices'"),
        ("Pad", {"pad_width": (0, 0)}, "required attribute 'mode' is not given"),
        ("Reshape", {"shape": "(2, x)"}, "shape='(2, x)', expected a tuple"),
        ("FullyConnected", {"num_hidden": 0}, "num_hidden='0', expected a positive integer"),
        ("SliceChannel", {"num_outputs": -1}, "num_outputs='-1', expected a positive integer"),
        ("ROIPooling", {"pooled_size": 2, "spatial_scale": 16}, "'16', expected a number from 0"),
        ("one_hot", {"depth": 3, "dtype": "bool"}, "dtype='bool', expected one of 'bfloat16'"),
        ("Concat", {"num_args": 2, "axis": 1}, "unknown attribute 'axis' (value '1')"),
    ],
)
def test_a_wrong_attribute_is_named(op, attrs, text):
    with pytest.raises(MXNetError) as caught:
        lookup(op).parse(attrs)  # type: ignore[union-attr]
    assert text in str(caught.value)


def test_inputs_of_concat_that_differ_are_named():
    with pytest.raises(ShapeError) as caught:
        filled("Concat", {"num_args": 2}, arg0=(2, 3, 4), arg1=(2, 3, 5))
    assert caught.value.args == (
        "'arg1' is (2, 3, 5), expected (2, ?, 4)",
        "only axis 1 may differ",
        "arg1",
    )


def test_types_of_indices_are_free_but_decide_defaults():
    def settle(op_name: str, attrs: dict[str, Any], **types: str) -> dict[str, Any]:
        op = lookup(op_name)
        assert op is not None
        p = op.parse(attrs)
        facts = TypeFacts(op_name, {**dict.fromkeys([*op.inputs(p), "out0"]), **types})
        op.infer_type(facts, p)
        return dict(facts)

    size = {"input_dim": 4, "output_dim": 2}
    assert settle("Embedding", size, data="int32")["weight"] == "float32"
    assert settle("Embedding", size, data="int32", weight="float64")["out0"] == "float64"
    assert settle("take", {}, a="float16", indices="int64")["out0"] == "float16"
    assert settle("take", {}, indices="int64")["a"] is None
    lengths = {"use_sequence_length": True}
    assert settle("SequenceLast", lengths, data="float16")["sequence_length"] == "float16"
    settled = settle("SequenceLast", lengths, data="float16", sequence_length="int32")
    assert settled["sequence_length"] == "int32"


def test_gather_nd_hands_gradients_to_the_entries_gathered_at_indices_outside_too():
    op = lookup("gather_nd")
    assert op is not None
    with jax.enable_x64(True):
        indices = jnp.asarray([[1, 1, 4], [-1, 3, 0]], "int32")
        out, back = jax.vjp(lambda data: op.fn(data, indices), jnp.arange(12.0).reshape(3, 4))
        (slope,) = back(jnp.asarray([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(out, [7, 7, 4])
    np.testing.assert_array_equal(slope, [[0, 0, 0, 0], [4, 0, 0, 3], [0, 0, 0, 0]])


def test_take_with_raise_clips_because_a_program_cannot_raise():
    (out,) = apply("take", {"mode": "raise"}, np.arange(3.0), np.array([7, -2], np.int32))
    np.testing.assert_array_equal(out, [2, 0])


def test_every_value_scattered_to_one_entry_gets_its_gradient():
    op = lookup("scatter_nd")
    assert op is not None
    p = op.parse({"shape": (3,)})
    where = jnp.array([[1, 1, 2]])

    def loss(data: jax.Array) -> jax.Array:
        return (op.apply(p, [data, where])[0] * jnp.array([1.0, 2.0, 3.0])).sum()

    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(jnp.ones(3)), [2, 2, 3])


def test_sort_without_axis_has_a_gradient_that_mxnet_fails_to_give():
    op = lookup("sort")
    assert op is not None
    p = op.parse({})
    weights = jnp.array([1.0, 2.0, 3.0])
    gradient = jax.grad(lambda x: (op.apply(p, [x])[0] * weights).sum())
    np.testing.assert_array_equal(gradient(jnp.array([2.0, 9.0, 1.0])), [2, 3, 1])


def test_descending_order_of_integers_does_not_overflow():
    lowest, highest = np.iinfo(np.int8).min, np.iinfo(np.int8).max
    data = np.array([0, lowest, highest, -1], np.int8)
    (order,) = apply("argsort", {"is_ascend": False, "dtype": "int32"}, data)
    np.testing.assert_array_equal(order, [2, 0, 3, 1])
    (least,) = apply("topk", {"k": 2, "is_ascend": True, "dtype": "int32"}, data)
    np.testing.assert_array_equal(least, [1, 3])


def test_unravel_index_keeps_the_axes_of_its_data():
    (out,) = apply("_unravel_index", {"shape": (3, 4)}, np.array([[5, 11], [0, 7]], np.int32))
    np.testing.assert_array_equal(out, np.unravel_index([[5, 11], [0, 7]], (3, 4)))


@pytest.mark.parametrize("op", ["SequenceMask", "SequenceLast", "SequenceReverse"])
def test_programs_do_not_grow_with_the_sequence(op):
    definition = lookup(op)
    assert definition is not None
    p = definition.parse({"use_sequence_length": True})

    def lines(steps: int) -> int:
        def loss(data: jax.Array) -> jax.Array:
            return definition.apply(p, [data, jnp.ones(4)])[0].sum()

        return jax.jit(jax.grad(loss)).lower(zeros(steps, 4, 2)).as_text().count("\n")

    assert lines(3) == lines(300)


def test_the_gradient_of_pick_scatters_nothing():
    op = lookup("pick")
    assert op is not None
    data, index = jnp.array([[1.0, jnp.nan], [3, 4]]), jnp.array([0, 9])
    grad = jax.grad(lambda x: (op.fn(x, index) * jnp.array([2.0, 5])).sum())
    np.testing.assert_array_equal(grad(data), [[2, 0], [0, 5]])
    assert "scatter" not in str(jax.make_jaxpr(grad)(data))
