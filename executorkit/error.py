"""``mx.error``: MXNet's exceptions, and the registration of further ones by name."""

from __future__ import annotations

from .base import error_types, register_error
from .errors import MXNetError

#: MXNet's name for failures inside its library; here the base of all errors.
InternalError = MXNetError
register = register_error

__all__ = ["InternalError", "MXNetError", "error_types", "register", "register_error"]
