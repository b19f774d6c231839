"""``mx.gluon.contrib.estimator.event_handler``: MXNet's import path of events and handlers."""

from ._basic_handlers import (
    GradientUpdateHandler as GradientUpdateHandler,
    MetricHandler as MetricHandler,
    StoppingHandler as StoppingHandler,
    ValidationHandler as ValidationHandler,
)
from ._events import (
    BatchBegin as BatchBegin,
    BatchEnd as BatchEnd,
    EpochBegin as EpochBegin,
    EpochEnd as EpochEnd,
    EventHandler as EventHandler,
    TrainBegin as TrainBegin,
    TrainEnd as TrainEnd,
)
from ._logging_handlers import (
    LoggingHandler as LoggingHandler,
    ProgressBarHandler as ProgressBarHandler,
)
from ._monitored_handlers import (
    CheckpointHandler as CheckpointHandler,
    EarlyStoppingHandler as EarlyStoppingHandler,
)
