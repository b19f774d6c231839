"""The table of all operators is current and complete, and the README quotes it correctly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from executorkit import ops
from tests.ops import make_readme

pytestmark = pytest.mark.smoke


def test_the_table_is_current():
    assert make_readme.PATH.read_text() == make_readme.text(), "python -m tests.ops.make_readme"


def test_all_that_is_left_out_has_a_reason():
    assert make_readme.absent().get("no reason") is None


def test_supported_operators_have_no_reason_to_be_left_out():
    served = {name for op in make_readme.served() for name in op.names}
    reasons = {n for names in make_readme.absent().values() for n in names}
    assert not served & reasons


def test_notes_are_about_operators():
    assert [n for n in make_readme.BESIDE_MXNET | make_readme.GRADIENTS if not ops.lookup(n)] == []


def test_docstrings_that_differ_from_mxnet_have_a_note():
    differs = re.compile(r"MXNet (refuses|has no gradient|returns garbage)|in MXNet\)")
    differing = {
        op.name for op in make_readme.served() if differs.search(op.doc.replace("\n", " "))
    }
    assert sorted(differing - make_readme.BESIDE_MXNET.keys() - {"_contrib_getnnz"}) == []


def test_the_readme_quotes_the_count():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    count = re.search(r"^(\d+) of MXNet's (\d+) operators", make_readme.text(), re.MULTILINE)
    assert count is not None
    assert f"| operators | {count[1]} of MXNet's {count[2]}" in readme
    assert f"{count[1]} operators are supported" in readme
