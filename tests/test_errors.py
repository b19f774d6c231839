"""Tracebacks in notebooks: the caller's frames and the message, or everything on request."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from IPython.core.ultratb import AutoFormattedTB

import executorkit as mx


def _raised(shapes):
    net = mx.sym.broadcast_add(mx.sym.sin(mx.sym.var("x")), mx.sym.var("y"), name="both")
    with pytest.raises(mx.MXNetError) as caught:
        net.simple_bind(mx.cpu(), **shapes)
    return caught.value


@pytest.fixture
def shell(monkeypatch):
    def start(inside=True):
        printer = AutoFormattedTB(mode="Context", tb_offset=0)
        running = SimpleNamespace(InteractiveTB=printer) if inside else None
        monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: running)

    return start


def _shown(error):
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error._render_traceback_()))


def test_a_notebook_shows_the_callers_frames_and_the_message(shell):
    shell()
    text = _shown(_raised({"x": (2, 3), "y": (2, 4)}))
    assert "net.simple_bind(mx.cpu(), **shapes)" in text
    assert "_bind.py" not in text
    message, note = text.splitlines()[-2:]
    assert message == (
        "ShapeError: node 'both' (broadcast_add): lhs (2, 3) and rhs (2, 4) do not broadcast "
        "together"
    )
    assert note.endswith("inner frames; JAX_TRACEBACK_FILTERING=off shows them)")


def test_all_frames_are_shown_on_request(shell, monkeypatch):
    shell()
    monkeypatch.setenv("JAX_TRACEBACK_FILTERING", "off")
    text = _shown(_raised({"x": (2, 3), "y": (2, 4)}))
    assert "_bind.py" in text
    assert "inner frames" not in text


def test_outside_of_notebooks_it_is_pythons_traceback(shell):
    shell(inside=False)
    text = _shown(_raised({"x": (2, 3), "y": (2, 4)}))
    assert text.startswith("Traceback (most recent call last):")
    assert "_bind.py" in text


def test_an_error_that_was_never_raised_has_a_message_only(shell):
    shell()
    assert "ShapeError: nothing" in _shown(mx.errors.ShapeError("nothing"))


def test_inner_frames_of_the_cause_are_left_out_too(shell):
    def divided(labels, predictions):
        return 1 / 0

    shell()
    try:
        mx.metric.np(divided).update([mx.nd.ones(2)], [mx.nd.ones(2)])
    except ZeroDivisionError as cause:
        error = mx.MXNetError("the metric fails")
        error.__cause__ = cause
    text = _shown(error)
    assert "return 1 / 0" in text
    assert "_custom.py" not in text
    assert "direct cause" in text
