"""``mx.library``: libraries of operators compiled for MXNet, which cannot be loaded here."""

import os

from .errors import FileAccessError, NotSupportedError


def load(path: str, verbose: bool = True) -> None:
    """Raises NotSupportedError, or FileAccessError for a missing file."""
    where = f"library.load({path!r})"
    if not os.path.exists(path):
        raise FileAccessError(where, "no such file")
    hint = "write the operator in Python: mx.operator.register, or executorkit.ops"
    raise NotSupportedError(where, "it is compiled for MXNet's C interface", hint=hint)
