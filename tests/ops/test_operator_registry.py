"""Registration of operators: traits and facts about files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from executorkit import ops
from executorkit.ops.schema import operator_registry, traits

#: Operators with each trait. A new operator is added here when it states one.
TRAITS = {
    traits.MATMUL: {
        "BilinearSampler", "Convolution", "Convolution_v1", "Deconvolution", "FullyConnected",
        "RNN", "batch_dot", "dot", "_linalg_gemm", "_linalg_gemm2", "_linalg_trmm", "khatri_rao",
        "_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt",
        "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt",
    },
    traits.SHARED_PRODUCT: {"FullyConnected", "dot"},
    traits.SPANS_DEVICES: {"_contrib_SyncBatchNorm"},
    traits.TRANSPOSED_WEIGHT: {"FullyConnected"},
    traits.CONVOLUTION: {"Convolution", "Convolution_v1", "Deconvolution"},
    traits.FILTERS_FIRST: {"Convolution", "Convolution_v1", "FullyConnected"},
    traits.FILTERS_SECOND: {"Deconvolution"},
    traits.MOVING_STATISTICS: {
        "BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm",
    },
    traits.LOOP: {"RNN", "_foreach", "_while_loop"},
    traits.BARRIERS: {"RNN"},
    traits.SPLIT: {"SliceChannel"},
    traits.CUTS_AXES: {"slice", "slice_axis"},
    traits.CONCAT: {"Concat"},
    traits.STACK: {"stack"},
    traits.IDENTITY: {"_copy"},
    traits.AMP_CAST: {"amp_cast", "amp_multicast"},
    traits.LABEL_FOR_GRADIENT: {
        "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput",
        "SVMOutput", "SoftmaxOutput", "WarpCTC",
    },
    traits.NEEDS_VALUES: {"_contrib_boolean_mask"},
    traits.NEEDS_NUMBERS: {"smooth_l1"},
    traits.STOPS_GRADIENT: {"BlockGrad"},
    traits.CALLS_PYTHON: {"Custom"},
    traits.DYNAMIC_SHAPE: {"_cond", "_while_loop"},
    traits.INNER_STATES: {"_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"},
    traits.IGNORES_UNKNOWN: {
        "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput",
    },
    traits.MUTATES: {
        "_copyto", "_onehot_encode", "_scatter_set_nd", "fill_element_0index", "reset_arrays",
        *(op.name for op in ops.all_ops() if re.search("_(update|phase.)$", op.name)),
    },
    traits.STOPS_INTEGER_GRADIENT: {"_mod", "_mod_scalar", "_rmod_scalar", "broadcast_mod"},
    traits.TRUNCATES_DERIVATIVE: {
        "_equal", "_equal_scalar", "_greater", "_greater_equal", "_greater_equal_scalar",
        "_greater_scalar", "_hypot", "_hypot_scalar", "_lesser", "_lesser_equal",
        "_lesser_equal_scalar", "_lesser_scalar", "_logical_and", "_logical_and_scalar",
        "_logical_or", "_logical_or_scalar", "_logical_xor", "_logical_xor_scalar", "_maximum",
        "_maximum_scalar", "_minimum", "_minimum_scalar", "_minus_scalar", "_mul_scalar",
        "_not_equal", "_not_equal_scalar", "_plus_scalar", "_power", "_power_scalar",
        "_rdiv_scalar", "_rminus_scalar", "_rpower_scalar", "abs", "arccos", "arccosh", "arcsin",
        "arcsinh", "arctan", "arctanh", "broadcast_add", "broadcast_div", "broadcast_equal",
        "broadcast_greater", "broadcast_greater_equal", "broadcast_hypot", "broadcast_lesser",
        "broadcast_lesser_equal", "broadcast_logical_and", "broadcast_logical_or",
        "broadcast_logical_xor", "broadcast_maximum", "broadcast_minimum", "broadcast_mul",
        "broadcast_not_equal", "broadcast_power", "broadcast_sub", "cbrt", "ceil", "cos", "cosh",
        "degrees", "elemwise_add", "elemwise_div", "elemwise_mul", "elemwise_sub", "erf", "erfinv",
        "exp", "expm1", "fix", "floor", "gamma", "gammaln", "log", "log10", "log1p", "log2",
        "logical_not", "negative", "radians", "rcbrt", "reciprocal", "relu", "rint", "round",
        "rsqrt", "sigmoid", "sign", "sin", "sinh", "smooth_l1", "softsign", "sqrt", "square",
        "tan", "tanh", "trunc",
    },
    traits.NAMED_DATA: {
        "Custom", "Dropout", "GridGenerator", "L2Normalization", "LRN", "LeakyReLU", "MakeLoss",
        "Pad", "Pooling", "Pooling_v1", "SequenceLast", "SequenceMask", "SequenceReverse",
        "SliceChannel", "SwapAxis", "_contrib_BilinearResize2D", "_contrib_MultiBoxPrior",
        "_contrib_index_array", "_ravel_multi_index", "_split_v2", "_unravel_index",
        "depth_to_space", "diag", "log_softmax", "repeat", "reverse", "softmax", "space_to_depth",
        "squeeze", "tile",
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """A registry that forgets what a test registers."""
    monkeypatch.setattr(operator_registry, "_OPS", dict(ops.all_names()))


@pytest.mark.parametrize("trait", sorted(traits.ALL_TRAITS))
def test_operators_with_a_trait(trait):
    assert {op.name for op in ops.all_ops() if trait in op.traits} == TRAITS[trait]


def test_an_unknown_trait_is_refused():
    with pytest.raises(ValueError, match=r"unknown trait 'matmull'[\s\S]*matmul"):
        ops.register("test_trait", traits={"matmull"})


def test_an_unknown_keyword_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'shapes'"):
        ops.register("test_keyword", shapes=None)  # pyright: ignore[reportCallIssue]


def test_facts_about_files():
    leaky, pooling = ops.lookup("LeakyReLU"), ops.lookup("Pooling")
    assert leaky is not None
    assert pooling is not None
    assert leaky.file_format.initializers == {"gamma": '["Constant", {"value": 0.25}]'}
    counts = [
        pooling.file_format.scratch_outputs(ops.Params(pool_type=kind)) for kind in ("max", "avg")
    ]
    assert counts == [1, 0]


def test_the_schema_does_not_import_jax():
    folder = Path(operator_registry.__file__).parent
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert "dataclasses" in imported
    assert not {name for name in imported if name.split(".")[0] == "jax"}
