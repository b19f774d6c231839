"""Chapters of a book on deep learning give the numbers that they give under MXNet."""

from __future__ import annotations

import json
from contextlib import chdir
from typing import Any

import pytest

import executorkit as mx
from tests._tools.answers import differences
from tests._tools.golden import GOLDEN
from tests.golden import numpy_scripts

pytestmark = pytest.mark.golden

ANSWERS = json.loads((GOLDEN / "data" / "numpy_scripts.json").read_text())


@pytest.mark.parametrize("name", list(numpy_scripts.SCRIPTS))
def test_a_chapter_gives_the_numbers_of_mxnet(name: str, tmp_path: Any) -> None:
    with chdir(tmp_path):
        seen = json.loads(json.dumps(numpy_scripts.run(name, mx)))
    assert list(differences(seen, ANSWERS[name], name)) == []
