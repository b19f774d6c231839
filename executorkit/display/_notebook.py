"""Whether a notebook runs this process, and how it shows something there.

The methods by which notebooks ask an object for its view; they never raise.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

from ._parts import View, escape, tag


def notebook_display() -> Any:
    """IPython's ``display`` if a notebook runs this, else None. Nothing is imported for that."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return sys.modules["IPython.display"].display


class Live:
    """One place in a notebook's output whose view is renewed."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, viewed: Any) -> bool:
        """Shows the object, in place of what was shown; False where there is no notebook."""
        display = notebook_display()
        if display is None:
            return False
        if self._handle is None:
            self._handle = display(viewed, display_id=True)
        else:
            self._handle.update(viewed)
        return True


def safe_repr(obj: object) -> str:
    """``repr(obj)``, or what every object has where that fails."""
    try:
        return repr(obj)
    except Exception:
        return object.__repr__(obj)


class Viewed:
    """An object that notebooks show by its ``_as_view()``; by its repr where that fails."""

    __slots__ = ()

    #: Whether its text in a notebook is its repr rather than the view's text form.
    _text_is_repr = False

    def _as_view(self) -> View:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Static HTML: no scripts, nothing loaded, names escaped."""
        try:
            return self._as_view().html()
        except Exception:
            return tag("pre", escape(safe_repr(self)))

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """The view as HTML and as text, as far as they are asked for."""
        kinds = {"text/plain", "text/html"} - set(exclude or ())
        if include:
            kinds &= set(include)
        bundle: dict[str, Any] = {}
        view = None
        try:
            if "text/html" in kinds or not self._text_is_repr:
                view = self._as_view()
            if "text/html" in kinds and view is not None:
                bundle["text/html"] = view.html()
            if "text/plain" in kinds:
                bundle["text/plain"] = safe_repr(self) if self._text_is_repr else _text(view)
        except Exception:
            return {"text/plain": safe_repr(self)} if "text/plain" in kinds else {}
        return bundle


def _text(view: View | None) -> str:
    return "" if view is None else view.text()
