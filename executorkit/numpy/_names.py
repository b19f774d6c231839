"""The message about a name that ``mx.np`` does not have."""

import numpy as np

from .._support.unserved import absent_attribute


def absent_function(module: str, name: str) -> str:
    """Returns the message about a missing name, with NumPy's function as a hint."""
    if not name.startswith("_") and hasattr(np, name):
        problem = f"module {module!r} has no attribute {name!r}"
        return f"{problem}\n  try: numpy.{name} of x.asnumpy(), or jax.numpy.{name} of x.jax"
    return absent_attribute(module, name)
