"""The committed notebooks are complete, small and without warnings; changed outputs are noticed.

They are run by ``python -m tests.notebooks``, which CI calls beside these tests.
"""

from __future__ import annotations

import copy
import re

import pytest

from .notebooks import NOTEBOOKS, ROOT, alike, differences, faults, plain, read

pytestmark = pytest.mark.notebook

README = (ROOT / "README.md").read_text(encoding="utf-8")
_LINK = re.compile(r"\]\((?!http)([^)#]+)\)")


def _notebook(*outputs, count=1, tags=()):
    cell = {
        "cell_type": "code",
        "execution_count": count,
        "metadata": {"tags": list(tags)},
        "outputs": list(outputs),
        "source": [],
    }
    return {"cells": [cell]}


def _printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def test_there_are_fourteen_and_the_readme_leads_to_them():
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{k:02}_" for k in range(1, 15)]
    assert "](notebooks/01_symbol_and_executor.ipynb)" in README


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_notebook_is_fit_to_be_read(path):
    notebook = read(path)
    assert list(faults(notebook)) == []
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    texts = ["".join(cell["source"]) for cell in notebook["cells"]]
    assert texts[0].startswith(f"# {int(path.stem[:2])} · ")
    shown = [plain(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert sum(map(bool, shown)) > 3
    for target in _LINK.findall("\n".join(texts)):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize(
    ("notebook", "fault"),
    [
        (_notebook(_printed("x" * 300_000)), "more than 300,000 bytes"),
        (_notebook(count=2), "not run from top to bottom"),
        (_notebook({"output_type": "error", "ename": "E", "evalue": "no"}), "cell 1: E: no"),
        (_notebook(_printed("careful", "stderr")), "on the error stream: 'careful'"),
        (_notebook(_printed("saved to /tmp/x")), "'/tmp/' in its text"),
        (_notebook(_printed(f"in {ROOT}")), "in its text"),
        (_notebook(_printed("<Thing at 0x7f12345678>")), "'0x7f12345678' in its text"),
        (
            _notebook({"output_type": "display_data", "data": {"text/html": "<script></script>"}}),
            "'<script' in its html",
        ),
    ],
)
def test_faults_are_found(notebook, fault):
    (message,) = faults(notebook)
    assert fault in message


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("loss 0.1234", "loss 0.1235", True),
        ("loss 0.12", "loss 0.13", False),
        ("16 rows", "16  rows\n", True),
        ("16 rows", "17 rows", False),
        ("(16, 10)", "(16, 1)", False),
        ("fc1: 3", "fc2: 3", False),
        ("took 2.5 s", "took 31 s", True),
        ("a 1.5\n--  ---\n", "a 1.52\n--  ----\n", True),
        ("mean 1e-09  ▁▂█", "mean 3e-10  ▁▃█", True),
        ("mean 0.5", "mean nan", False),
        ("-0.5", "0.5", False),
    ],
)
def test_texts_are_alike_but_for_rounding_and_time(a, b, same):
    assert alike(a, b) is same


def test_changed_outputs_are_shown_unless_they_vary():
    old, new = _notebook(_printed("10 rows")), _notebook(_printed("11 rows"))
    (message,) = differences(old, new)
    assert "10 rows" in message
    assert "11 rows" in message
    varying = copy.deepcopy(old)
    varying["cells"][0]["metadata"]["tags"] = ["varies"]
    assert list(differences(varying, new)) == []
