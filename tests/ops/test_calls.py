"""Names of operators in mx.sym and mx.nd, signatures, docstrings, and the sorting of calls."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

from executorkit import nd
from executorkit.errors import DTypeError
from executorkit.ops import OpDef, all_ops, lookup
from executorkit.ops.schema.calls import (
    MODULES,
    bind_call,
    call_doc,
    call_signature,
    namespace_entries,
    public_names,
)
from executorkit.ops.schema.inference import normal_axis, shape_text


@pytest.fixture(name="fc")
def _fc() -> OpDef:
    op = lookup("FullyConnected")
    assert op is not None
    return op


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("relu", [("op", "relu")]),
        ("_plus_scalar", [("_internal", "_plus_scalar")]),
        ("_contrib_box_nms", [("contrib", "box_nms")]),
        ("_linalg_gemm2", [("linalg", "gemm2")]),
        ("linalg_gemm2", [("op", "linalg_gemm2")]),
        ("_image_crop", [("image", "crop")]),
        ("_random_uniform", [("random", "uniform"), ("_internal", "_random_uniform")]),
        ("_sample_uniform", [("_internal", "_sample_uniform")]),
    ],
)
def test_public_names(name, expected):
    assert list(public_names(name)) == expected


def test_namespace_entries_cover_the_registry(fc):
    assert ("op", "FullyConnected", fc) in list(namespace_entries(["FullyConnected"]))
    assert {module for module, _, _ in namespace_entries()} <= set(MODULES)


def test_signature_is_that_of_the_definition(fc):
    assert str(call_signature(fc, "symbol")) == (
        "(data=None, weight=None, bias=None, num_hidden: int = <required>, no_bias: bool = False, "
        "flatten: bool = True, name=None, attr=None, out=None, **kwargs)"
    )
    names = list(call_signature(fc, "ndarray").parameters)
    assert names[-3:] == ["out", "name", "kwargs"]


def test_a_call_is_sorted_into_arrays_attributes_and_options(fc):
    call = bind_call(fc, "symbol", "FullyConnected", ("x", None, None, 3), {"name": "fc", "zz": 1})
    assert call.named == {"data": "x"}
    assert call.attrs == {"num_hidden": 3, "zz": 1}
    assert call.options == {"name": "fc"}


def test_positional_arguments_are_counted_as_python_does(fc):
    with pytest.raises(TypeError, match=r"FullyConnected\(\) takes at most 9 positional"):
        bind_call(fc, "symbol", "FullyConnected", tuple(range(10)), {})
    with pytest.raises(TypeError, match=r"got 'data' by position and by keyword"):
        bind_call(fc, "symbol", "FullyConnected", ("x",), {"data": "y"})


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "float64"), (float, "float64"), ("int", "int64"), (np.float16, "float16")],
)
def test_dtype_arguments_are_read_by_numpy(fc, value, text):
    assert bind_call(fc, "symbol", "cast", (), {"dtype": value}).attrs == {"dtype": text}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Concat", "All arrays, results too, are of one dtype."),
        ("take", "Results are of the dtype of a."),
    ],
)
def test_help_says_what_dtypes_are_where_the_operator_does_not(name, sentence):
    op = lookup(name)
    assert op is not None
    assert sentence in call_doc(op, "symbol").splitlines()


def test_help_of_every_operator_says_what_dtypes_it_takes():
    words = re.compile("dtype|type|float|int|bytes|bool")
    ops = [op for op in all_ops() if op.array_names or op.variadic]
    assert [op.name for op in ops if not words.search(call_doc(op, "symbol"))] == []


def test_unknown_dtype(fc):
    with pytest.raises(DTypeError, match="unknown dtype 'foo'"):
        bind_call(fc, "symbol", "cast", (), {"dtype": "foo"})


def test_signature_is_made_once(fc):
    assert call_signature(fc, "symbol") is call_signature(fc, "symbol")
    assert isinstance(call_signature(fc, "symbol"), inspect.Signature)


def test_regression_outputs_ignore_attributes_that_they_do_not_have():
    data, label = nd.ones((2, 3)), nd.zeros((2, 3))
    ignored: dict[str, Any] = {"normalization": "batch"}
    out = nd.LinearRegressionOutput(data, label, **ignored)
    assert (out.asnumpy() == 1).all()


def test_docstrings_have_a_line_for_each_attribute():
    op = lookup("expand_dims")
    assert op is not None
    assert "  axis: an integer, required" in call_doc(op, "symbol").splitlines()


def test_shapes_in_messages_and_axes_from_the_end():
    assert shape_text((0, 3)) == "(?, 3)"
    assert normal_axis(-1, 3) == 2
