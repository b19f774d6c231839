"""Modes of a thread: recording or not, training or not, as scopes."""

from __future__ import annotations

from typing import Any

from ..calls.recording import modes
from ._tape import tape


def is_recording() -> bool:
    """Returns whether calls of this thread are recorded."""
    return modes.recording


def is_training() -> bool:
    """Returns whether calls of this thread compute as in training."""
    return modes.training


def set_recording(is_recording: bool) -> bool:
    """Begins or ends recording in this thread; returns whether it was recording."""
    before = modes.recording
    if is_recording and not before:
        tape.begin()
    modes.recording = bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Has calls of this thread compute as in training, or not; returns the former mode."""
    before = modes.training
    modes.training = bool(train_mode)
    return before


class _Scope:
    """A context with other modes. It restores the former ones, and may be entered twice."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        recording, training = modes.recording, modes.training
        if self._recording and not recording:
            tape.begin()
        self._before.append((recording, training))
        try:
            if self._recording is not None:
                modes.recording = self._recording
            if self._training is not None:
                modes.training = self._training
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        try:
            self._leave()
        except BaseException:
            self._leave()
            raise
        finally:
            del self._before[-1]

    def _leave(self) -> None:
        recording, training = self._before[-1]
        if self._recording not in (None, recording):
            modes.recording = recording
        if self._training not in (None, training):
            modes.training = training


def record(train_mode: bool | None = True) -> _Scope:
    """Returns a scope in which calls on arrays that belong to a graph are recorded, for
    ``backward``. They compute as in training if ``train_mode``; None leaves the mode unchanged."""
    return _Scope(True, None if train_mode is None else bool(train_mode))


def pause(train_mode: bool | None = False) -> _Scope:
    """Returns a scope in which nothing is recorded; ``train_mode`` as for :func:`record`."""
    return _Scope(False, None if train_mode is None else bool(train_mode))


def train_mode() -> _Scope:
    """Returns a scope in which calls compute as in training; recording stays as it is."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """Returns a scope in which calls compute as in inference; recording stays as it is."""
    return _Scope(None, False)
