"""``mx.gluon.contrib.estimator``: a training loop with handlers of its events."""

from . import batch_processor as batch_processor, event_handler as event_handler
from .batch_processor import BatchProcessor as BatchProcessor
from .estimator import Estimator as Estimator
from .event_handler import (
    BatchBegin as BatchBegin,
    BatchEnd as BatchEnd,
    CheckpointHandler as CheckpointHandler,
    EarlyStoppingHandler as EarlyStoppingHandler,
    EpochBegin as EpochBegin,
    EpochEnd as EpochEnd,
    GradientUpdateHandler as GradientUpdateHandler,
    LoggingHandler as LoggingHandler,
    MetricHandler as MetricHandler,
    ProgressBarHandler as ProgressBarHandler,
    StoppingHandler as StoppingHandler,
    TrainBegin as TrainBegin,
    TrainEnd as TrainEnd,
    ValidationHandler as ValidationHandler,
)
