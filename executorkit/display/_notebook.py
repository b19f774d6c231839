"""Views of objects in notebooks: functions registered with ``view_of``, in the class's package."""

import sys
from collections.abc import Collection
from functools import singledispatch
from typing import Any

from ._parts import View, escape, tag


@singledispatch
def view_of(obj: Any) -> View:
    """Returns the view of an object, by the function that is registered for its class."""
    raise NotImplementedError(f"no view is registered for {type(obj).__name__}")


def safe_repr(obj: object) -> str:
    try:
        return repr(obj)
    except Exception:
        return object.__repr__(obj)


class Viewed:
    """An object that notebooks show by its view (:func:`view_of`); by its repr if that fails."""

    __slots__ = ()

    #: True if its text in a notebook is its repr rather than the view's text form.
    _text_is_repr = False

    def _repr_html_(self) -> str:
        try:
            return view_of(self).html()
        except Exception:
            return tag("pre", escape(safe_repr(self)))

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        kinds = {"text/plain", "text/html"} - set(exclude or ())
        if include:
            kinds &= set(include)
        bundle: dict[str, Any] = {}
        view = None
        try:
            if "text/html" in kinds or not self._text_is_repr:
                view = view_of(self)
            if "text/html" in kinds and view is not None:
                bundle["text/html"] = view.html()
            if "text/plain" in kinds:
                text = "" if view is None else view.text()
                bundle["text/plain"] = safe_repr(self) if self._text_is_repr else text
        except Exception:
            return {"text/plain": safe_repr(self)} if "text/plain" in kinds else {}
        return bundle


def notebook_display() -> Any:
    """Returns IPython's ``display`` in a notebook, else None. Imports nothing."""
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
        """Shows the object in place of the previous one; returns False outside a notebook."""
        display = notebook_display()
        if display is None:
            return False
        if self._handle is None:
            self._handle = display(viewed, display_id=True)
        else:
            self._handle.update(viewed)
        return True
