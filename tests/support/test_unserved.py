"""Names and modules that the package does not have: what an import, or a look-up, says."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import executorkit as mx
from executorkit._support.unserved import UnservedModules, refuse_imports

pytestmark = pytest.mark.smoke

KERNELS = "jax.experimental.pallas, or a kernel called by jax.ffi"


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (mx, "metrics", "'metric'"),
        (mx, "rtc", KERNELS),
        (mx.np, "median", "numpy.median of x.asnumpy(), or jax.numpy.median of x.jax"),
        (mx, "np_symbol", "mx.sym.np"),
        (mx.sym, "Convolutoin", "'Convolution' or 'Convolution_v1' or 'Deconvolution'"),
        (mx.mod, "SequentialModul", "'SequentialModule' or 'sequential_module'"),
        (mx.metric, "TopKAcuracy", "'TopKAccuracy' or 'Accuracy'"),
        (mx.io, "NDArrayItr", "'NDArrayIter'"),
        (mx.init, "Xaver", "'Xavier'"),
        (mx.optimizer, "Adm", "'Adam'"),
        (mx.lr_scheduler, "FactorScheduer", "'FactorScheduler' or 'MultiFactorScheduler'"),
        (mx.callback, "Speedomter", "'Speedometer'"),
        (mx.rnn, "GRUCel", "'GRUCell' or 'ConvGRUCell'"),
        (mx.image, "imred", "'imread'"),
        (mx.contrib, "quantisation", "'quantization'"),
    ],
)
def test_a_missing_name_is_reported_with_an_alternative(module, name, hint):
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    assert str(caught.value).endswith(f"has no attribute {name!r}\n  try: {hint}")


def test_no_hint_for_private_names():
    assert not hasattr(mx, "__wrapped__")
    assert not hasattr(mx, "rtc")
    with pytest.raises(AttributeError, match=r"has no attribute 'zzzzzz'$"):
        mx.zzzzzz  # type: ignore[attr-defined]  # noqa: B018


def test_an_import_of_what_is_not_served_says_what_to_do():
    with pytest.raises(ImportError) as caught:
        exec("from executorkit import rtc", {})
    assert str(caught.value) == f"executorkit.rtc: it is not part of executorkit\n  try: {KERNELS}"


def test_an_import_of_an_alias_names_the_module():
    with pytest.raises(ImportError) as caught:
        exec("from executorkit.mod import Module", {})
    assert str(caught.value) == (
        "executorkit.mod: it is an attribute of executorkit, not a module\n"
        "  try: import executorkit.module, or from executorkit import mod"
    )


def test_other_modules_are_left_to_python():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'executorkit\.nothing'$"):
        exec("import executorkit.nothing", {})
    assert importlib.util.find_spec("executorkit.nothing") is None
    assert importlib.util.find_spec("rtc_of_nobody") is None
    refuse_imports()
    assert sum(isinstance(finder, UnservedModules) for finder in sys.meta_path) == 1
