"""Scripts by name, for MXNet and for executorkit. Nothing but Python."""

from collections.abc import Callable
from typing import Any


class Scripts(dict[str, Callable[[Any], Any]]):
    """Functions of ``mx``, by name, that return what they saw; a decorator that adds one."""

    def __call__(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if function.__name__ in self:
            raise ValueError(f"two scripts are called {function.__name__}")
        self[function.__name__] = function
        return function
