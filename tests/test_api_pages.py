"""The API pages show what packages re-export."""

from __future__ import annotations

import pytest

import executorkit as mx
from tests.api_pages import exported_names


def test_a_package_shows_its_re_exports_and_submodules_and_no_foreign_modules():
    assert {"Program", "program_for", "clear_cache", "SMALL_BYTES"} <= set(
        exported_names(mx.program)
    )
    assert {"record", "grad", "Function"} <= set(exported_names(mx.autograd))
    names = exported_names(mx.image)
    assert {"ImageIter", "detection"} <= set(names)
    assert not {"np", "os", "io", "recordio", "det"} & set(names)


@pytest.mark.filterwarnings("ignore:Error parsing type annotation")
def test_pages_name_the_classes_of_private_files(tmp_path, monkeypatch):
    pdoc = pytest.importorskip("pdoc")
    monkeypatch.setitem(vars(mx.program), "__all__", exported_names(mx.program))
    pdoc.pdoc("executorkit.program", output_directory=tmp_path)
    assert 'id="Program"' in (tmp_path / "executorkit" / "program.html").read_text()
