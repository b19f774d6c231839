"""The distributions of ``mx.nd.random`` and ``mx.sym.random``: a table of their parameters, and
:func:`sampler`, which makes the functions."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._support.annotations import Function
from ..ops.schema.calls import numpy_dtype_name

REQUIRED = inspect.Parameter.empty

#: Parameters of a function by name, with their defaults.
Parameters = Mapping[str, Any]


class Distribution(NamedTuple):
    """A distribution: ``name`` after ``_random_`` (parameters are numbers) or ``_sample_``
    (arrays); ``parameters`` are MXNet's and their defaults."""

    name: str
    parameters: Parameters
    doc: str

    def operator_parameters(self, values: dict[str, Any], arrays: bool) -> dict[str, Any]:
        """Returns the operators' parameters; ``arrays``: some are arrays or symbols."""
        if self.name == "exponential":
            return {"lam": 1.0 / values["scale"]}
        if self.name == "normal" and arrays:
            return {"mu": values["loc"], "sigma": values["scale"]}
        return values


_TABLE: tuple[tuple[str, Parameters, str], ...] = (
    ("uniform", {"low": 0, "high": 1},
     "Samples from the uniform distribution over [``low``, ``high``)."),
    ("normal", {"loc": 0, "scale": 1},
     "Samples from the normal distribution of mean ``loc`` and standard deviation ``scale``."),
    ("gamma", {"alpha": 1, "beta": 1},
     "Samples from the gamma distribution of shape ``alpha`` and scale ``beta``."),
    ("exponential", {"scale": 1}, "Samples from the exponential distribution of mean ``scale``."),
    ("poisson", {"lam": 1},
     "Samples from the Poisson distribution of mean ``lam``, in a floating dtype."),
    ("negative_binomial", {"k": 1, "p": 1},
     "Samples of the number of failures before success ``k``, of probability ``p`` each."),
    ("generalized_negative_binomial", {"mu": 1, "alpha": 1},
     "Samples from the negative binomial distribution of mean ``mu`` and dispersion ``alpha``."),
    ("randint", {"low": REQUIRED, "high": REQUIRED},
     "Integers drawn evenly from ``low`` up to, not including, ``high``: int32, or int64 by"
     " dtype."),
)  # fmt: skip
DISTRIBUTIONS = {row[0]: Distribution(*row) for row in _TABLE}


def sampler(
    name: str, module: str, options: Parameters, option_docs: str, draw: Function
) -> Function:
    """Makes a distribution's function: its parameters, ``options``, further keywords.
    ``draw(distribution, values, options, keywords)`` gets dicts by name, without a
    ``dtype`` that is not given."""
    distribution = DISTRIBUTIONS[name]
    defaults = {**distribution.parameters, **options}
    names = tuple(defaults)

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{name}() takes up to {len(names)} arguments, got {len(args)}")
        values = defaults.copy()
        values.update(zip(names, args, strict=False))
        keywords = {}
        for key, value in kwargs.items():
            if key not in defaults:
                keywords[key] = value
            elif key in names[: len(args)]:
                raise TypeError(f"{name}() got multiple values for argument {key!r}")
            else:
                values[key] = value
        parameters = {key: values.pop(key) for key in distribution.parameters}
        for key, value in parameters.items():
            if value is REQUIRED:
                raise TypeError(f"{name}() missing the required argument {key!r}")
        dtype = values.pop("dtype")
        if dtype is not ...:
            values["dtype"] = numpy_dtype_name(dtype)
        return draw(distribution, parameters, values, keywords)

    kind = inspect.Parameter
    parameters = [
        kind(key, kind.POSITIONAL_OR_KEYWORD, default=default, annotation=Any)
        for key, default in defaults.items()
    ]
    parameters.append(kind("kwargs", kind.VAR_KEYWORD, annotation=Any))
    function.__signature__ = inspect.Signature(parameters, return_annotation=Any)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"{distribution.doc}\n\n{option_docs}"
    return function
