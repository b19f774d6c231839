"""Every translated operator in ONNX Runtime, compared with MXNet's recorded answers.

All cases of a family are one graph, and so one session.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.ops import all_ops, lookup
from executorkit.ops.schema.attrs import to_text
from tests._tools import golden as _golden
from tests.golden import _store
from tests.golden.cases._case import Case

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

#: Inputs that are parameters in these cases.
_PARAMETERS = ("weight", "bias", "gamma", "beta", "parameters")
_NAN = "NaN counts otherwise in ONNX Runtime"
#: Cases that are not compared, with the reason.
_LEFT_OUT = {
    "elemwise": {"sign": _NAN, "erf-edges": "infinity as an integer"},
    "gather": {"gather_nd-fractions": "fractions of negative indices"},
    "norm": dict.fromkeys(
        ("LRN_even", "LayerNorm__mean_std", "LayerNorm__mean_std_axis_1", "GroupNorm__mean_std"),
        "refused",
    ),
    "batch_norm": dict.fromkeys(
        ("BatchNorm_mean_var", "BatchNorm_mean_var_inference", "BatchNorm_v1_mean_var"), "refused"
    ),
    "pool": {"Pooling__full_beyond_avg": "refused"},
    "reduce": {
        **dict.fromkeys(("max-odd", "min-odd", "argmax-nan", "argmin-nan"), _NAN),
        "mean-wraps": "ONNX's mean does not wrap around",
    },
    "rnn": {"RNN_projection": "refused", "RNN_projection_layers": "refused"},
    "roi_align": {
        f"_contrib_ROIAlign_sensitive{form}": "refused" for form in ("", "_unequal", "_row")
    },
    "softmax": dict.fromkeys(
        ("softmax_half_to_single", "softmax_dtype", "softmin_dtype"), "rounded elsewhere"
    ),
    "straight_through": {"sign_ste": _NAN},
    "vision": {"ROIPooling_not_a_number": _NAN},
}
#: Dtypes that ONNX Runtime has kernels for, everywhere and in most families.
_ALWAYS, _MOSTLY = ("float32",), ("float32", "float16", "int32")
_FEW_KERNELS = ("layout",)
#: Operators that behave in another way in training, or draw random numbers.
_RANDOM = ("_random", "_sample")


def _is_exported(case: Case) -> bool:
    op = lookup(case.op)
    return (
        op is not None
        and op.name in mx.onnx.TRANSLATIONS
        and not op.name.startswith(_RANDOM)
        and not (case.eager or "mutates" in op.traits)
        and not (op.train_name is not None and case.train and op.aux)
        and "Deformable" not in op.name
    )


def _cases() -> dict[str, list[tuple[Case, str]]]:
    families = defaultdict(list)
    for family, case, dtype in _golden.questions():
        names = _LEFT_OUT.get(family, {})
        dtypes = _ALWAYS if family in _FEW_KERNELS else _MOSTLY
        if dtype in dtypes and _is_exported(case) and case.name not in names:
            families[family].append((case, dtype))
    return families


_CASES = _cases()


def _symbol(case: Case, prefix: str) -> Any:
    """The case as a symbol whose names begin with a prefix."""
    op = lookup(case.op)
    attrs = {k: to_text(v) for k, v in case.attrs.items()}
    if op.variadic is not None and op.count is not None:
        attrs.setdefault(op.count, str(len(case.inputs)))
    nodes: list[Any] = [{"op": "null", "name": f"{prefix}{n}", "inputs": []} for n in case.inputs]
    inputs = [[i, 0, 0] for i in range(len(nodes))]
    nodes.append({"op": case.op, "name": f"{prefix}node", "attrs": attrs, "inputs": inputs})
    heads = [[len(inputs), k, 0] for k in range(op.visible(op.parse(attrs)))]
    document = {"nodes": nodes, "arg_nodes": list(range(len(inputs))), "heads": heads}
    return mx.sym.load_json(json.dumps(document))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", sorted(_CASES))
def test_results_are_those_of_mxnet(family: str) -> None:
    symbols, arrays, parameters = [], {}, {}
    for number, (case, dtype) in enumerate(_CASES[family]):
        symbols.append(_symbol(case, f"c{number}_"))
        states = lookup(case.op).aux
        for name, array in case.arrays(dtype).items():
            is_parameter = name in _PARAMETERS or name in states
            (parameters if is_parameter else arrays)[f"c{number}_{name}"] = array
    shapes = {n: a.shape for n, a in arrays.items()}
    dtypes = {n: a.dtype.name for n, a in arrays.items()}
    model = mx.onnx.to_onnx(mx.sym.Group(symbols), parameters, shapes, dtypes, free=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        outputs, _, runtime = mx.onnx.run_model(model, arrays)
    assert runtime == "ONNX Runtime"
    results = iter(outputs)
    stored = _golden.answers(family)
    problems = []
    for (case, dtype), symbol in zip(_CASES[family], symbols, strict=True):
        key = case.key(dtype)
        for k in range(len(symbol.list_outputs())):
            problem = _difference(next(results), case, key, f"out{k}", stored)
            if problem:
                problems.append(f"{key}, {case.op}({dict(case.attrs)}): out{k} {problem}")
    assert not problems, "\n".join(problems)


def _difference(
    result: np.ndarray, case: Case, key: str, name: str, stored: _store.Answers
) -> str | None:
    shape, dtype = stored.facts[key]["arrays"][name]
    if (list(result.shape), result.dtype.name) != (shape, dtype):
        return f"is {result.dtype.name} {result.shape}, MXNet's is {dtype} {shape}"
    rtol, atol = {"float16": (1e-2, 1e-3), "float32": (1e-4, 1e-6)}.get(dtype, (0, case.steps))
    return _golden.difference(_store.condense(result), stored[f"{key}|{name}"], rtol, atol)


def test_every_translation_is_of_an_operator_and_most_have_cases() -> None:
    names = {op.name for op in all_ops()}
    assert set(mx.onnx.TRANSLATIONS) <= names
    compared = {lookup(case.op).name for cases in _CASES.values() for case, _ in cases}
    without = set(mx.onnx.TRANSLATIONS) - compared
    # Random numbers; BatchNorm and its kin are compared as parts of networks.
    assert without == {
        *(n for n in without if n.startswith(_RANDOM)),
        *(n for n in without if "BatchNorm" in n),
        "_contrib_ModulatedDeformableConvolution", "_copyto", "IdentityAttachKLSparseReg",
        "_square_sum", "_contrib_sign_ste",
    }  # fmt: skip


def test_operators_without_recorded_answers_are_those_of_the_symbol() -> None:
    data = mx.sym.var("data")
    symbol = mx.sym.Group(
        [
            mx.sym.contrib.sign_ste(data),
            mx.sym._internal._square_sum(data, axis=1, keepdims=True),
            mx.sym.IdentityAttachKLSparseReg(mx.sym.sigmoid(data), name="sparse"),
        ]
    )
    inputs = mx.onnx.random_inputs({"data": (3, 4)}, {})
    parameters = {"sparse_moving_avg": np.ones(4, np.float32)}
    model = mx.onnx.to_onnx(symbol, parameters, {"data": (3, 4)})
    assert mx.onnx.compare(model, symbol, parameters, inputs).absolute < 1e-6


def test_deformable_convolution_needs_a_newer_opset() -> None:
    case = next(
        c for c in _golden.cases("deformable") if c.op == "_contrib_ModulatedDeformableConvolution"
    )
    arrays = case.arrays("float32")
    shapes = {n: a.shape for n, a in arrays.items()}
    symbol = _symbol(case, "")
    with pytest.raises(mx.MXNetError, match="opset_version=19"):
        mx.onnx.to_onnx(symbol, {}, shapes)
    model = mx.onnx.to_onnx(symbol, {}, shapes, opset_version=19)
    (result,), *_ = mx.onnx.run_model(model, arrays)
    key, stored = case.key("float32"), _golden.answers("deformable")
    assert _difference(result, case, key, "out0", stored) is None
