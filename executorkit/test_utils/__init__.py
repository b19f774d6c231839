"""``mx.test_utils``: helpers for tests of networks and operators.

``from executorkit.test_utils import *`` also brings what MXNet's brings with them: ``mx``, ``np``,
the modules ``os``, ``sys``, ``time``, ... and ``ss``, which is ``scipy.stats``.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import json
import logging
import numbers
import os
import platform
import struct
import sys
import time
import traceback
import zipfile
from collections import OrderedDict
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import numpy.random as rnd

from ..context import Context, current_context
from ..ndarray import array
from ..runtime import Features
from ..symbol import Symbol
from ..util import get_cuda_compute_capability, getenv, setenv, use_np
from ._check import (
    check_numeric_gradient,
    check_symbolic_backward,
    check_symbolic_forward,
    numeric_grad,
    same_symbol_structure,
    simple_forward,
)
from ._compare import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    checkShapes,
    compare_ndarray_tuple,
    default_atols,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
    locationError,
    same,
    same_array,
)
from ._consistency import check_consistency, check_speed
from ._data_sets import (
    DummyIter,
    download,
    download_model,
    get_bz2_data,
    get_cifar10,
    get_mnist,
    get_mnist_iterator,
    get_mnist_pkl,
    get_mnist_ubyte,
    get_zip_data,
)
from ._distribution_tests import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from ._environment import (
    default_context,
    default_dtype,
    discard_stderr,
    environment,
    get_im2rec_path,
    has_tvm_ops,
    is_aarch64_run,
    is_cd_run,
    is_op_runnable,
    list_gpus,
    retry,
    set_default_context,
)
from ._optimizer_comparison import compare_optimizer
from ._random_data import (
    assign_each,
    assign_each2,
    check_gluon_hybridize_consistency,
    collapse_sum_like,
    create_2d_tensor,
    create_sparse_array,
    create_sparse_array_zd,
    create_vector,
    get_identity_mat,
    get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
    np_reduce,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    rand_sparse_ndarray,
    random_arrays,
    random_sample,
    random_uniform_arrays,
    shuffle_csr_column_indices,
)

#: The package itself.
mx: Any = sys.modules[__name__.partition(".")[0]]

__all__ = [
    "Context",
    "DummyIter",
    "Features",
    "OrderedDict",
    "Symbol",
    "almost_equal",
    "array",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "bz2",
    "checkShapes",
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "contextmanager",
    "create_2d_tensor",
    "create_sparse_array",
    "create_sparse_array_zd",
    "create_vector",
    "current_context",
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "download_model",
    "effective_dtype",
    "environment",
    "errno",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_bz2_data",
    "get_cifar10",
    "get_cuda_compute_capability",
    "get_etol",
    "get_identity_mat",
    "get_identity_mat_batch",
    "get_im2rec_path",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "get_zip_data",
    "getenv",
    "gzip",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "json",
    "list_gpus",
    "locationError",
    "logging",
    "mean_check",
    "mx",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np",
    "np_reduce",
    "npt",
    "numbers",
    "numeric_grad",
    "os",
    "platform",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "rand_sparse_ndarray",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "retry",
    "rnd",
    "same",
    "same_array",
    "same_symbol_structure",
    "set_default_context",
    "setenv",
    "shuffle_csr_column_indices",
    "simple_forward",
    "ss",
    "struct",
    "sys",
    "time",
    "traceback",
    "use_np",
    "var_check",
    "verify_generator",
    "zipfile",
]

#: Modules that take long to import, by the names that MXNet gives them here.
_LATE = {"npt": "numpy.testing", "ss": "scipy.stats"}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(_LATE[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
