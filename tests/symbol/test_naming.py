"""Names and annotations from with statements."""

from __future__ import annotations

import threading

import pytest

import executorkit as mx

pytestmark = pytest.mark.smoke


def test_each_thread_has_its_own_scopes():
    seen = []

    def other():
        seen.append((mx.name.NameManager.current.get(None, "fc"), mx.AttrScope.current.get(None)))

    with mx.name.Prefix("mine_"), mx.AttrScope(ctx_group="mine"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        in_main_thread = (
            mx.name.NameManager.current.get(None, "fc"),
            mx.AttrScope.current.get(None),
        )
    assert seen == [("fc0", {})]
    assert in_main_thread == ("mine_fc0", {"ctx_group": "mine"})


def test_scopes_end_with_an_exception():
    before = mx.AttrScope.current, mx.name.NameManager.current
    with pytest.raises(KeyError), mx.AttrScope(a="1"), mx.name.Prefix("p_"):
        raise KeyError
    assert (mx.AttrScope.current, mx.name.NameManager.current) == before


def test_a_scope_entered_again_drops_its_former_outer_scope():
    scope = mx.AttrScope(a="1")
    with mx.AttrScope(b="2"), scope:
        assert mx.AttrScope.current.get(None) == {"a": "1", "b": "2"}
    assert scope.get(None) == {"a": "1"}


def test_current_of_prefix_is_the_current_name_manager():
    manager = mx.name.NameManager()
    with manager:
        assert mx.name.Prefix.current is manager
