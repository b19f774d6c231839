"""The modes of imperative calls, and what arrays know of recorded graphs.

A thread records or not, and computes as in training or as in inference. Under ``record()`` calls on
arrays that belong to a graph go to a :class:`Recorder`, which a layer above installs. An array
belongs to a graph by its *entry*: a :class:`Variable` that gradients are computed for, or a value
of a recorded call. Entries belong to handles: another handle on the same elements has none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from .._support.annotations import Arrays, Raw
from ..arrays.handle import Handle
from ..context import Context
from ..errors import DTypeError, MXNetError, ShapeError, UnknownNameError


class _AbsentRecorder:
    def __getattr__(self, name: str) -> Any:
        import_module(f"{__name__.partition('.')[0]}.autograd")
        return getattr(Modes.recorder, name)


class Modes(threading.local):
    """The modes of the present thread."""

    #: The same in all threads.
    recorder: Recorder = cast("Any", _AbsentRecorder())
    recording = False
    training = False

    def run(self, recording: bool, training: bool, function: Callable[[], Any]) -> Any:
        before = self.recording, self.training
        try:
            self.recording, self.training = recording, training
            return function()
        finally:
            self.recording, self.training = before


modes = Modes()


class Variable:
    """An array that gradients are computed for: written to ``grad`` by ``request``."""

    __slots__ = ("__weakref__", "grad", "history", "is_fresh", "is_trained", "kind", "request")

    #: A variable belongs to graphs for good, a value of a recorded call until its graph is used up.
    is_live = True

    def __init__(self, grad: Handle, request: str) -> None:
        self.grad = grad
        self.request = request
        #: True if a backward has reached it since the flag was set to False.
        self.is_fresh = False
        #: True if a recorded step has read it first of all variables.
        self.is_trained = False
        #: The recorder's notes about its training and about the array.
        self.history: Any = None
        self.kind: Any = None


#: Ways in which gradients are stored.
REQUESTS = ("write", "add", "null")


def new_variable(name: str, array: Handle, grad: Handle, request: str) -> Variable:
    """Returns the entry that makes an array a variable; errors name the function ``name``."""
    if request not in REQUESTS:
        problem = f"grad_req is {request!r}, expected {', '.join(map(repr, REQUESTS))}"
        raise UnknownNameError(name, problem)
    if request != "null":
        if grad.shape != array.shape:
            problem = f"the gradient array is {grad.shape}, expected {array.shape}"
            raise ShapeError(name, problem)
        if grad.storage.dtype != array.storage.dtype:
            problem = f"the gradient array is {grad.storage.dtype}, expected {array.storage.dtype}"
            raise DTypeError(name, problem)
    return Variable(grad, request)


class Recorder(Protocol):
    """The layer that records calls."""

    def takes(self, arrays: Sequence[Handle], out: Any) -> bool:
        """Returns whether to record a call on these arrays, since one belongs to a graph."""
        ...

    def record(
        self,
        resolved: Any,
        cls: type[Handle],
        arrays: Sequence[Handle],
        out: Any = None,
        numbers: Arrays = (),
    ) -> Any:
        """Records a call, with the values of its numbers, and returns its pending outputs."""
        ...

    def record_graph(
        self, call: Any, cls: type[Handle], arrays: Sequence[Handle], check: Callable[[], object]
    ) -> list[Raw]:
        """Records a graph's calls, new shapes after ``check``; returns the pending outputs."""
        ...

    def watch(self, arrays: Sequence[Handle], compute: Callable[[], Any]) -> tuple[Any, Any]:
        """Returns the result, and as a graph's the calls on these arrays that were recorded; None
        for others."""
        ...

    def record_view(self, view: Handle, array: Handle, calls: Sequence[Any]) -> None:
        """Lets ``view``, elements of ``array``, belong to the graph as the result of calls."""
        ...

    def record_copy(self, cls: type[Handle], array: Handle, context: Context) -> Any: ...

    def record_write(self, array: Handle, value: Handle, covers: bool) -> None: ...

    def backward(
        self, heads: Sequence[Handle], head_grads: Arrays, retain_graph: bool, train_mode: bool
    ) -> None: ...


def is_recorded(array: Handle) -> bool:
    entry = array.graph_entry
    return entry is not None and entry.is_live


def check_unrecorded(array: Handle) -> None:
    if is_recorded(array):
        raise MXNetError(
            "autograd",
            "Assigning to NDArrays that are already in a computational graph will cause undefined "
            "behavior when evaluating gradients",
            hint="write outside autograd.record(), inside autograd.pause(), or to a copy",
        )


def install_recorder(recorder: Recorder) -> None:
    Modes.recorder = recorder
