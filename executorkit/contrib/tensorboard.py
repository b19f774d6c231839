"""``mx.contrib.tensorboard``: metrics written for TensorBoard."""

from importlib import import_module
from typing import Any

from ..errors import MissingDependencyError

#: Packages with a ``SummaryWriter``, in the order in which they are tried.
_WRITERS = ("mxboard", "tensorboardX", "torch.utils.tensorboard")


class LogMetricsCallback:
    """A callback, of batches or epochs, that writes the metric's values to ``logging_dir``, under
    names with ``prefix`` and a hyphen. MissingDependencyError without mxboard, tensorboardX or
    torch (MXNet takes mxboard only)."""

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = _writer_class()(logging_dir)

    def __call__(self, param: Any) -> None:
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)


def _writer_class() -> Any:
    for name in _WRITERS:
        try:
            return import_module(name).SummaryWriter
        except ImportError:
            continue
    problem = "no package that writes TensorBoard's files is installed"
    raise MissingDependencyError("LogMetricsCallback", problem, hint="pip install tensorboardX")
