"""Names of ``mx.np`` and ``mx.npx`` for operators of ``mx.nd``; files have the latter's."""

from ..schema.operator_registry import NUMPY_OPS, lookup

#: Names behind ``_npx_`` by operator.
_EXTENSION = {
    "Activation": "activation", "BatchNorm": "batch_norm", "Cast": "cast",
    "Convolution": "convolution", "Deconvolution": "deconvolution", "Dropout": "dropout",
    "Embedding": "embedding", "Flatten": "batch_flatten", "FullyConnected": "fully_connected",
    "LayerNorm": "layer_norm", "LeakyReLU": "leaky_relu", "Pooling": "pooling", "RNN": "rnn",
    "ROIPooling": "roi_pooling", "SequenceMask": "sequence_mask",
    "_contrib_MultiBoxDetection": "multibox_detection",
    "_contrib_MultiBoxPrior": "multibox_prior", "_contrib_MultiBoxTarget": "multibox_target",
    "_contrib_arange_like": "arange_like",
    **{name: name for name in (
        "batch_dot", "erf", "erfinv", "gamma", "gammaln", "gather_nd", "log_softmax", "one_hot",
        "pick", "reshape_like", "shape_array", "slice", "smooth_l1", "softmax", "topk",
    )},
    **{f"_image_{name}": f"_image_{name}" for name in (
        "adjust_lighting", "crop", "flip_left_right", "flip_top_bottom", "normalize",
        "random_brightness", "random_color_jitter", "random_contrast", "random_flip_left_right",
        "random_flip_top_bottom", "random_hue", "random_lighting", "random_saturation", "resize",
        "to_tensor",
    )},
}  # fmt: skip
#: Names behind ``_npi_`` by operator.
_INTERNAL = {
    "Cast": "cast", "Custom": "Custom", "SwapAxis": "swapaxes", "_copyto": "copyto",
    "_contrib_boolean_mask": "boolean_mask", "_full": "full", "_histogram": "histogram",
    "_hypot_scalar": "hypot_scalar", "_linalg_det": "det", "_linalg_inverse": "inv",
    "_linalg_slogdet": "slogdet", "_linspace": "linspace", "_maximum_scalar": "maximum_scalar",
    "_minimum_scalar": "minimum_scalar", "_random_randint": "random_randint",
    "_rnn_param_concat": "rnn_param_concat", "_scatter_set_nd": "scatter_set_nd",
    "_shuffle": "shuffle", "_slice_assign": "slice_assign",
    "_slice_assign_scalar": "slice_assign_scalar", "_split_v2": "split",
    "broadcast_maximum": "maximum", "broadcast_minimum": "minimum",
    **{name: name for name in (
        "argsort", "clip", "expand_dims", "gather_nd", "slice", "sort", "take", "tile",
    )},
}  # fmt: skip

for _prefix, _names in (("_npx_", _EXTENSION), ("_npi_", _INTERNAL)):
    for _original, _name in _names.items():
        _op = lookup(_original)
        assert _op is not None, _original
        NUMPY_OPS[_prefix + _name] = _op
_repeat = lookup("repeat")
assert _repeat is not None
NUMPY_OPS["_np_repeat"] = _repeat
