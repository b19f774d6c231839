"""The README's code runs as it stands, one block after the other, and its commands are true."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from executorkit.__main__ import main
from executorkit.ops.schema import operator_registry as _registry

pytestmark = pytest.mark.smoke

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    python -m executorkit (.*)$", README, re.MULTILINE)


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    """The checkpoint that the README's examples load, in the working directory."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--output", "."]) == 0


def test_the_code_runs_and_learns(checkpoint, capsys, monkeypatch):
    monkeypatch.setattr(_registry, "_OPS", dict(_registry._OPS))
    capsys.readouterr()
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    read, by_module, by_step, by_gluon, by_hand = capsys.readouterr().out.splitlines()
    guesses, labels = re.fullmatch(r"\[(.*)\] \[(.*)\]", read).groups()
    assert [int(k) for k in guesses.split()] == [int(float(k)) for k in labels.split()]
    assert by_module.removeprefix("Module:") == by_step.removeprefix("Step:")
    assert float(re.search(r"0\.\d+", by_module)[0]) > 0.9
    assert float(by_gluon.removeprefix("Gluon:")) < 0.2
    assert float(by_hand.removeprefix("by hand:")) == pytest.approx(0.5744, rel=1e-3)
    np.testing.assert_allclose(
        names["outputs"][0], names["executor"].forward()[0].asnumpy(), rtol=1e-4, atol=1e-6
    )
    assert names["net"].list_arguments() == ["data"]


def test_the_commands_run(checkpoint):
    assert len(COMMANDS) == 4
    shutil.copy(Path(__file__).parents[1] / "notebooks" / "photos" / "cat.jpg", "cat.jpg")
    for command in COMMANDS:
        assert main(command.split()) == 0


def test_the_commands_to_install_and_test_are_there():
    install = "python3 -m venv .venv && .venv/bin/pip install"
    assert f"\n    {install} . && .venv/bin/python -m executorkit demo\n" in README
    assert f"\n    {install} '.[test]' && .venv/bin/python -m pytest\n" in README


def test_links_lead_somewhere():
    headings = {
        line.lstrip("# ").lower().replace(" ", "-")
        for line in README.splitlines()
        if line.startswith("#")
    }
    for target in re.findall(r"\]\((?!http)(.*?)\)", README):
        file, _, anchor = target.partition("#")
        assert (Path(__file__).parents[1] / file).exists(), target
        assert not anchor or anchor in headings, target
