"""Diagnosis of checkpoints: a symbol, its parameters, and how the two fit, without running them."""

from ._diagnosis import Diagnosis, diagnose
from ._input_shapes import deduce_inputs, example_shapes, label_names
from ._parameter_check import NotFinite, ParameterCheck, check_parameters, plain_name

__all__ = [
    "Diagnosis",
    "NotFinite",
    "ParameterCheck",
    "check_parameters",
    "deduce_inputs",
    "diagnose",
    "example_shapes",
    "label_names",
    "plain_name",
]
