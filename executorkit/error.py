"""``mx.error``: MXNet's exceptions, and the registration of further ones by name."""

from .base import error_types as error_types, register_error as register_error
from .errors import MXNetError as MXNetError

#: MXNet's name for failures inside its library; here the base of all errors.
InternalError = MXNetError
register = register_error
