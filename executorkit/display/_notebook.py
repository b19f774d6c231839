"""Whether a notebook runs this process, and how it shows something there."""

from __future__ import annotations

import sys
from typing import Any


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
