"""Types of the arguments that the methods of modules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..io import DataDesc
from ..metric import EvalMetric
from ..ndarray import NDArray

#: Names and shapes of inputs, such as an iterator's ``provide_data``.
Descriptions = Sequence[DataDesc | tuple[str, Sequence[int]]]
#: Parameters, or auxiliary states, by name.
NamedArrays = Mapping[str, NDArray]
#: Head gradients of the outputs.
HeadGradients = NDArray | Sequence[NDArray] | None
#: 'write', 'add' or 'null', for all arguments or by argument.
GradientRequests = str | Sequence[str] | Mapping[str, str]
#: A metric, its name, a function of labels and predictions, or a list of these.
Metric = EvalMetric | str | Callable[..., Any] | Sequence[Any]

#: Arguments of an optimizer that is made by name.
OptimizerParams = Mapping[str, Any] | Sequence[tuple[str, Any]]
#: A function that is called during training, or several.
Callbacks = Callable[..., Any] | Sequence[Callable[..., Any]] | None


class Batch(Protocol):
    """A batch: a DataBatch, or another object with its data and labels."""

    @property
    def data(self) -> Any:
        """The inputs, a list of arrays."""
        ...

    @property
    def label(self) -> Any:
        """The labels, a list of arrays, or None."""
        ...
