"""``mx.test_utils``: helpers for tests of networks and operators. ``from executorkit.test_utils
import *`` also brings MXNet's other names: ``mx``, ``np``, the modules ``os``, ``sys``, ``time``,
... and ``ss``, which is ``scipy.stats``."""

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

from ..context import Context as Context, current_context as current_context
from ..ndarray import array as array
from ..runtime import Features as Features
from ..symbol import Symbol as Symbol
from ..util import (
    get_cuda_compute_capability as get_cuda_compute_capability,
    getenv as getenv,
    setenv as setenv,
    use_np as use_np,
)
from ._check import (
    check_numeric_gradient as check_numeric_gradient,
    check_symbolic_backward as check_symbolic_backward,
    check_symbolic_forward as check_symbolic_forward,
    numeric_grad as numeric_grad,
    same_symbol_structure as same_symbol_structure,
    simple_forward as simple_forward,
)
from ._compare import (
    almost_equal as almost_equal,
    assert_allclose as assert_allclose,
    assert_almost_equal as assert_almost_equal,
    assert_almost_equal_ignore_nan as assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err as assert_almost_equal_with_err,
    assert_exception as assert_exception,
    checkShapes as checkShapes,
    compare_ndarray_tuple as compare_ndarray_tuple,
    default_atols as default_atols,
    default_numeric_eps as default_numeric_eps,
    default_rtols as default_rtols,
    effective_dtype as effective_dtype,
    get_atol as get_atol,
    get_etol as get_etol,
    get_rtol as get_rtol,
    get_tolerance as get_tolerance,
    get_tols as get_tols,
    locationError as locationError,
    same as same,
    same_array as same_array,
)
from ._consistency import check_consistency as check_consistency, check_speed as check_speed
from ._data_sets import (
    DummyIter as DummyIter,
    download as download,
    download_model as download_model,
    get_bz2_data as get_bz2_data,
    get_cifar10 as get_cifar10,
    get_mnist as get_mnist,
    get_mnist_iterator as get_mnist_iterator,
    get_mnist_pkl as get_mnist_pkl,
    get_mnist_ubyte as get_mnist_ubyte,
    get_zip_data as get_zip_data,
)
from ._distribution_tests import (
    chi_square_check as chi_square_check,
    gen_buckets_probs_with_ppf as gen_buckets_probs_with_ppf,
    mean_check as mean_check,
    var_check as var_check,
    verify_generator as verify_generator,
)
from ._environment import (
    default_context as default_context,
    default_dtype as default_dtype,
    discard_stderr as discard_stderr,
    environment as environment,
    get_im2rec_path as get_im2rec_path,
    has_tvm_ops as has_tvm_ops,
    is_aarch64_run as is_aarch64_run,
    is_cd_run as is_cd_run,
    is_op_runnable as is_op_runnable,
    list_gpus as list_gpus,
    retry as retry,
    set_default_context as set_default_context,
)
from ._optimizer_comparison import compare_optimizer as compare_optimizer
from ._random_data import (
    assign_each as assign_each,
    assign_each2 as assign_each2,
    check_gluon_hybridize_consistency as check_gluon_hybridize_consistency,
    collapse_sum_like as collapse_sum_like,
    create_2d_tensor as create_2d_tensor,
    create_sparse_array as create_sparse_array,
    create_sparse_array_zd as create_sparse_array_zd,
    create_vector as create_vector,
    get_identity_mat as get_identity_mat,
    get_identity_mat_batch as get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d as new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd as new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d as new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d as new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd as new_sym_matrix_with_real_eigvals_nd,
    np_reduce as np_reduce,
    rand_coord_2d as rand_coord_2d,
    rand_ndarray as rand_ndarray,
    rand_shape_2d as rand_shape_2d,
    rand_shape_3d as rand_shape_3d,
    rand_shape_nd as rand_shape_nd,
    rand_sparse_ndarray as rand_sparse_ndarray,
    random_arrays as random_arrays,
    random_sample as random_sample,
    random_uniform_arrays as random_uniform_arrays,
    shuffle_csr_column_indices as shuffle_csr_column_indices,
)

#: The package itself.
mx: Any = sys.modules[__name__.partition(".")[0]]


#: Modules that take long to import, by the names that MXNet gives them here.
_LATE = {"npt": "numpy.testing", "ss": "scipy.stats"}

__all__ = [*(n for n in list(globals()) if n[0] != "_"), *_LATE]  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(_LATE[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
