"""``mx.gluon.parameter``: MXNet's import path of :class:`Parameter` and its kin."""

from ..errors import DeferredInitializationError as DeferredInitializationError
from ._parameter import Constant as Constant, Parameter as Parameter, tensor_types as tensor_types
from ._parameter_dict import ParameterDict as ParameterDict
