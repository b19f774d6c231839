"""``mx.autograd``: gradients of the array calls under ``record()``.

with mx.autograd.record():
    y = x * x  # after x.attach_grad()
y.backward()  # writes x.grad
"""

from ..calls.recording import install_recorder as _install_recorder
from ._explanation import explain as explain
from ._function import Function as Function
from ._functions import (
    backward as backward,
    get_symbol as get_symbol,
    grad as grad,
    mark_variables as mark_variables,
)
from ._scopes import (
    is_recording as is_recording,
    is_training as is_training,
    pause as pause,
    predict_mode as predict_mode,
    record as record,
    set_recording as set_recording,
    set_training as set_training,
    train_mode as train_mode,
)
from ._tape import TapeRecorder as _TapeRecorder

_install_recorder(_TapeRecorder())
