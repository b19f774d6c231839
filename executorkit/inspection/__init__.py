"""Diagnosis of checkpoints: a symbol, its parameters, and how the two fit, without running them."""

from ._diagnosis import Diagnosis as Diagnosis, diagnose as diagnose
from ._input_shapes import (
    deduce_inputs as deduce_inputs,
    example_shapes as example_shapes,
    label_names as label_names,
)
from ._parameter_check import (
    NotFinite as NotFinite,
    ParameterCheck as ParameterCheck,
    check_parameters as check_parameters,
    plain_name as plain_name,
)
