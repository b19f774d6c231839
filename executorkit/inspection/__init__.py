"""Diagnosis of checkpoints: a symbol, its parameters, and how the two fit, without running them."""

from ._diagnosis import Diagnosis as Diagnosis, diagnose as diagnose
from ._differences import (
    Comparison as Comparison,
    Difference as Difference,
    random_inputs as random_inputs,
)
from ._input_shapes import (
    deduce_inputs as deduce_inputs,
    example_shapes as example_shapes,
    label_names as label_names,
)
from ._parameter_check import (
    NotFinite as NotFinite,
    ParameterCheck as ParameterCheck,
    as_ndarray as as_ndarray,
    check_parameters as check_parameters,
    host_arrays as host_arrays,
    plain_name as plain_name,
)
