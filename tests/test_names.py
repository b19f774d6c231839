"""Public names of MXNet's modules: here they are, or there is a reason."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import executorkit as mx
from tests._tools.answers import stored_answers

NAMES: dict[str, list[str]] = stored_answers("names")

C_INTERFACE = "belongs to MXNet's C interface"
NUMPY = "belongs to the code that makes MXNet's functions take NumPy's calls"
SPARSE = "sparse storage is not served"
TYPES = "a constant of mx.base that a module of MXNet imports for its own use"
CODE_GENERATOR = "belongs to the code that generates MXNet's functions"
NO_OPERATOR = "the operator is not served"
NOTEBOOK = "a chart of Bokeh; executorkit's are HTML"
INDEXING = "a step of MXNet's indexing"

#: Names that are not here, by module ('' for all modules), and why.
ABSENT: dict[str, dict[str, str]] = {
    "": {
        **dict.fromkeys(("string_types", "numeric_types", "integer_types"), TYPES),
        "np_symbol": "mx.sym.np, which test_utils imports under this name",
        "set_kvstore_handle": C_INTERFACE,
        "register": CODE_GENERATOR,
        "spsp": SPARSE,
    },
    "mxnet": {
        "api": C_INTERFACE,
        "cython": C_INTERFACE,
        "ndarray_doc": CODE_GENERATOR,
        "symbol_doc": CODE_GENERATOR,
        "numpy_dispatch_protocol": NUMPY,
        "numpy_op_fallback": NUMPY,
        "numpy_op_signature": NUMPY,
        "rtc": C_INTERFACE,
        "th": C_INTERFACE,
        "torch": C_INTERFACE,
        "tvmop": C_INTERFACE,
    },
    "mxnet.base": dict.fromkeys(("MXCallbackList", "c2pyerror"), C_INTERFACE),
    "mxnet.contrib.quantization": {"stats": "scipy.stats, or None without it"},
    "mxnet.io.utils": {"h5py": "files of HDF5 are not read"},
    "mxnet.lr_scheduler": {"pi": "a constant of math"},
    "mxnet.model": {"SKLEARN_INSTALLED": "a detail of FeedForward's base class"},
    "mxnet.ndarray": {
        "get_indexing_dispatch_code": INDEXING,
        "get_oshape_of_gather_nd_op": INDEXING,
        "indexing_key_expand_implicit_axes": INDEXING,
    },
    "mxnet.ndarray.ndarray": {
        **dict.fromkeys(("DLContext", "DLDataType", "DLManagedTensor", "DLTensor"), C_INTERFACE),
        "check_boolean_array_dimension": INDEXING,
        "get_indexing_dispatch_code": INDEXING,
        "get_oshape_of_gather_nd_op": INDEXING,
        "indexing_key_expand_implicit_axes": INDEXING,
    },
    "mxnet.notebook": {"Bokeh_Failed_To_Import": NOTEBOOK, "bokeh": NOTEBOOK},
    "mxnet.notebook.callback": dict.fromkeys(
        ("LiveBokehChart", "LiveTimeSeries", "Pandas_Failed_To_Import", "pd"), NOTEBOOK
    ),
    "mxnet.test_utils": {"requests": "nothing is fetched from the net"},
}  # fmt: skip
#: Operators of ``contrib`` that are not served; each says why when it is looked up.
OPERATORS = frozenset({
    "backward_gradientmultiplier", "backward_hawkesll", "backward_index_copy", "backward_quadratic",
    "dgl_adjacency", "dgl_csr_neighbor_non_uniform_sample", "dgl_csr_neighbor_uniform_sample",
    "dgl_graph_compact", "dgl_subgraph", "edge_id", "quantize_asym", "quantized_rnn",
})  # fmt: skip
CONTRIB = ("mxnet.contrib.ndarray", "mxnet.contrib.symbol", "mxnet.ndarray.contrib")


def _reason(module: str, name: str) -> str | None:
    if name.startswith("gen_"):
        return CODE_GENERATOR
    if module.endswith((".contrib", *CONTRIB)) and name in OPERATORS:
        return NO_OPERATOR
    return {**ABSENT[""], **ABSENT.get(module, {})}.get(name)


def _has(module: ModuleType, name: str) -> bool:
    """True if the name is there, if only to say that it is not served and what to do."""
    try:
        getattr(module, name)
    except AttributeError:
        return False
    except mx.MXNetError as error:
        return "try:" in str(error)
    return True


@pytest.mark.parametrize("module", list(NAMES))
def test_names_of_a_module_are_here_or_have_a_reason(module: str) -> None:
    ours = importlib.import_module(module.replace("mxnet", "executorkit", 1))
    absent = {name for name in NAMES[module] if not _has(ours, name)}
    assert absent == {name for name in absent if _reason(module, name)}
    stated = ABSENT.get(module, {}).keys()
    assert stated == stated & absent, "these are here by now"


def test_import_of_all_names_of_test_utils() -> None:
    names: dict[str, object] = {}
    exec("from executorkit.test_utils import *", names)
    expected = {n for n in NAMES["mxnet.test_utils"] if not _reason("mxnet.test_utils", n)}
    assert expected <= names.keys()
    assert names["mx"] is mx
