"""Every operator's arrays and attributes against those that MXNet registers."""

from __future__ import annotations

import json
import re

import pytest

from executorkit import ops
from executorkit.ops import OpDef
from executorkit.ops.schema.operator_modules import unsupported_reason
from tests._tools import golden as _golden

pytestmark = pytest.mark.golden

ARGUMENTS: dict[str, dict[str, str]] = json.loads(
    (_golden.GOLDEN / "data/arguments.json").read_text()
)
SERVED = [op for op in ops.all_ops() if op.name in ARGUMENTS]

#: Attributes in which an operator differs from what MXNet registers, and why.
DIFFERENT = {
    "Custom": "op_type is required by MXNet when it runs",
    "_linspace": "MXNet registers the attributes of _arange, and reads these",
    "_linalg_potrf": "MXNet reads lower, which it does not register",
    "_linalg_potri": "MXNet reads lower, which it does not register",
    "_contrib_SparseEmbedding": "files have deterministic, which MXNet does not register",
    "Embedding": "shares its function with _contrib_SparseEmbedding",
    "_sg_mkldnn_conv": "MXNet registers nothing",
    "_sg_mkldnn_fully_connected": "MXNet registers nothing",
    "add_n": "MXNet counts its arguments without registering num_args",
    "khatri_rao": "MXNet counts its arguments without registering num_args",
    "smooth_l1": "MXNet registers no type for scalar, and reads is_int too",
}
#: Operators with arrays that MXNet does not register, auxiliary states or ranges.
MORE = {
    "BatchNorm_v1",
    "IdentityAttachKLSparseReg",
    "_sg_mkldnn_selfatt_qk",
    "_sg_mkldnn_selfatt_valatt",
}
#: Operators that take any number of arrays, of which MXNet registers none.
ANY_NUMBER = {"_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"}


def is_array(kind: str) -> bool:
    return "NDArray" in kind or "Symbol" in kind


def attributes(op: OpDef) -> dict[str, str]:
    return {n: kind for n, kind in ARGUMENTS[op.name].items() if not is_array(kind)}


def compared() -> list[OpDef]:
    return [op for op in SERVED if op.name not in DIFFERENT]


def test_attributes_have_mxnets_names_and_order():
    wrong = {op.name: list(op.attrs) for op in compared() if list(op.attrs) != [*attributes(op)]}
    assert wrong == {}


def test_arrays_have_mxnets_names_and_order():
    wrong = {}
    for op in SERVED:
        arrays = [n for n, kind in ARGUMENTS[op.name].items() if is_array(kind)]
        if op.variadic is None:
            ours = op.array_names[: len(arrays)] if op.name in MORE else op.array_names
            if list(ours) != arrays:
                wrong[op.name] = ours
        elif op.name not in ANY_NUMBER and "[]" not in "".join(ARGUMENTS[op.name].values()):
            wrong[op.name] = op.variadic
    assert wrong == {}


def test_defaults_are_mxnets():
    wrong = []
    for op in compared():
        for name, kind in attributes(op).items():
            attr = op.attrs[name]
            default = re.search(r"default=(.*)$", kind)
            if attr.required is not ("required" in kind):
                wrong.append((op.name, name, kind))
            elif not attr.required and default:
                theirs, ours = attr.parse(default[1].strip("'")), attr.default
                same = theirs == pytest.approx(ours) if isinstance(ours, float) else theirs == ours
                if not same:
                    wrong.append((op.name, name, kind))
    assert wrong == []


def test_every_value_that_mxnet_names_is_taken():
    for op in compared():
        for name, kind in attributes(op).items():
            values = re.match(r"\{(.*?)\}", kind)
            for value in values[1].split(",") if values else ():
                op.attrs[name].read(op.name, value.strip().strip("'"))


def test_listed_differences_exist():
    same = [n for n in DIFFERENT if list(ops.all_names()[n].attrs) == [*ARGUMENTS[n]]]
    assert same == []


def test_all_unsupported_operators_have_a_reason():
    assert [n for n in ARGUMENTS if ops.lookup(n) is None and unsupported_reason(n) is None] == []


def test_operators_without_attributes_ignore_any():
    """MXNet does; files of other programs hold some."""
    relu = ops.lookup("relu")
    assert relu is not None
    assert relu.parse({"colour": "red"}) == {}
