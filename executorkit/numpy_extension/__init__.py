"""``mx.npx``: neural operators on arrays of ``mx.np``, switches to NumPy's semantics, and files."""

from importlib import import_module
from typing import Any

from .._support.unserved import absent_attribute
from ..arrays.pending import waitall as waitall
from ..context import (
    Context as Context,
    cpu as cpu,
    cpu_pinned as cpu_pinned,
    current_context as current_context,
    gpu as gpu,
    gpu_memory_info as gpu_memory_info,
    num_gpus as num_gpus,
)
from ..numpy.utils import extension_function as _extension_function
from ..util import (
    get_cuda_compute_capability as get_cuda_compute_capability,
    is_np_array as is_np_array,
    is_np_shape as is_np_shape,
    reset_np as reset_np,
    set_np as set_np,
)
from . import random as random
from ._files import load as load, save as save

_OPERATORS = (
    "activation", "arange_like", "batch_dot", "batch_flatten", "batch_norm", "cast",
    "constraint_check", "convolution", "deconvolution", "dropout", "embedding", "erf", "erfinv",
    "fully_connected", "gamma", "gammaln", "gather_nd", "layer_norm", "leaky_relu", "log_softmax",
    "multibox_detection", "multibox_prior", "multibox_target", "nonzero", "one_hot", "pick",
    "pooling", "relu", "reshape", "reshape_like", "rnn", "roi_pooling", "sequence_mask",
    "shape_array", "sigmoid", "slice", "smooth_l1", "softmax", "topk",
)  # fmt: skip

for _name in _OPERATORS:
    globals()[_name] = _extension_function(_name)


def __getattr__(name: str) -> Any:
    if name == "image":
        return import_module(f"{__name__}.image")
    raise AttributeError(absent_attribute(__name__, name))
