"""Reasons why an operator of MXNet is not supported, for the table of operators and ``coverage``.

Names are matched by their beginnings or their ends, so that all names of MXNet's registry that
are no operators here have a reason, and names of plugins and builds that are not in it too.
"""

from __future__ import annotations

import re

_REASONS: tuple[tuple[str, str], ...] = (
    (
        r"_np_|_npi_|_npx_|_backward_npi?_|.*_np_",
        "NumPy interface (mx.np, mx.npx), no part of symbols",
    ),
    (
        r"_backward_|_broadcast_backward|_contrib_backward_|_split_v2_backward",
        "gradient of another operator: JAX derives it",
    ),
    (r"_contrib_dgl_|_contrib_edge_id$", "graph sampling on CSR matrices (DGL)"),
    (r"_sparse_", "sparse storage: arrays here are dense"),
    (r"_cv|_imdecode$", "works on images on the host, on arrays only: mx.image"),
    (r"_TensorRT$|_contrib_tvm_|_tvm|_fused_op$|_FusedOp", "code generator of a GPU build"),
    (r"_NDArray$|_Native$", "holds pointers into the process that made it: see Custom"),
    (
        r"_CachedOp|_CrossDeviceCopy$|_CustomFunction$|_NoGradient$|_set_value$|_zeros_without_dtype$",
        "internal to MXNet's engine, never in a file",
    ),
    (r"_contrib_quantize_asym$|_contrib_quantized_rnn$", "quantised recurrent networks"),
    (r"Caffe|Torch", "plugin that runs another framework"),
)


def unsupported_reason(name: str) -> str | None:
    """The reason why the operator that MXNet calls ``name`` is not supported, None if unknown.

    >>> unsupported_reason("_npi_einsum")
    'NumPy interface (mx.np, mx.npx), no part of symbols'
    """
    return next((reason for names, reason in _REASONS if re.match(names, name)), None)
