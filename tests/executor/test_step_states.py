"""The states of a pending step, and the transitions between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.executor import Computed, PendingStep

HEAD = np.ones((4, 3), np.float32)


class _Recording(PendingStep):
    """A step that notes the names of its states."""

    __slots__ = ("names",)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "train":
            self.names: list[str] = []
        elif name == "state" and self.names[-1:] != [type(value).__name__]:
            self.names.append(type(value).__name__)


@pytest.fixture
def executor(monkeypatch):
    mx.nd.waitall()  # executors of other tests may share the program that fails here
    monkeypatch.setattr("executorkit.executor._executor.PendingStep", _Recording)
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False)
    executor = net.simple_bind(mx.cpu(), x=(4, 3))
    executor.arg_dict["x"][:] = np.arange(12).reshape(4, 3)
    return executor


def _read(executor: Any) -> None:
    executor.outputs[0].asnumpy()


def _backward(executor: Any) -> None:
    executor.backward(mx.nd.array(HEAD))


def _gradient(executor: Any) -> None:
    executor.grad_dict["bn_beta"].asnumpy()


def _update(executor: Any) -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.9))
    names = list(executor.arg_dict)
    grads, weights = ([d[n] for n in names] for d in (executor.grad_dict, executor.arg_dict))
    updater(list(range(len(names))), grads, weights)


def _failing(action: Callable[[Any], None]) -> Callable[[Any], None]:
    """The action where every program fails, twice; afterwards programs run again."""

    def run(executor: Any) -> None:
        def fail(*args: Any) -> None:
            raise RuntimeError("device lost")

        class Failing:
            call_into = __call__ = staticmethod(fail)
            code_bytes = 0
            may_interpret = False

        with pytest.MonkeyPatch.context() as patch:
            for name in ("infer", "forward", "forward_backward"):
                patch.setattr(executor.program, name, (Failing(), Failing()))
            patch.setattr(executor.program, "step_function", lambda *args: Failing())
            for _ in range(2):
                with pytest.raises(RuntimeError, match="device lost"):
                    action(executor)
            mx.nd.waitall()  # its error was raised

    return run


def _withdraw(executor: Any) -> None:
    executor.last_step.withdraw()


BACKWARD = ["Waiting", "Backward", "Storing", "Computed"]
#: States that a step goes through, by what is done after forward.
PATHS: dict[str, tuple[list[Callable[[Any], None]], list[str]]] = {
    "nothing": ([], ["Waiting"]),
    "read": ([_read, _read], ["Waiting", "Computed"]),
    "backward": ([_backward], ["Waiting", "Backward"]),
    "backward, read": ([_backward, _read, _gradient], BACKWARD),
    "read, backward": ([_read, _backward, _gradient], ["Waiting", "Computed", *BACKWARD[1:]]),
    "backward twice": (
        [_backward, _backward, _gradient],  # the second computes the first, and states are written
        [*BACKWARD, *BACKWARD[1:]],
    ),
    "update": ([_backward, _update, _read], BACKWARD),
    "update of what is computed": ([_backward, _gradient, _update], BACKWARD),
    "failing read": ([_failing(_read), _read], ["Waiting", "Computed"]),
    "failing gradient": ([_backward, _failing(_gradient), _gradient], BACKWARD),
    "failing update": ([_backward, _failing(_update), _update], BACKWARD),
    "failing at once": (
        [_backward, _gradient, _failing(_backward), _backward],
        [*BACKWARD, "Backward", "Computed", "Backward", "Computed", *BACKWARD[1:]],
    ),
    "withdrawn": ([_backward, _withdraw, _read], BACKWARD),
    "withdrawn after a read": ([_read, _withdraw], ["Waiting", "Computed"]),
}


@pytest.mark.parametrize("name", PATHS)
def test_states_of_a_step(executor, name):
    actions, expected = PATHS[name]
    executor.forward(is_train=True)
    for action in actions:
        action(executor)
    assert executor.last_step.names == expected


def test_the_paths_above_have_every_transition_that_is_documented():
    text = PendingStep.__init__.__globals__["__doc__"]
    lines = [line.split("--") for line in text.splitlines() if "-->" in line]
    documented = {(first.strip(), last.strip(" >")) for first, _, last in lines}
    rest = ("Backward", "the state before")
    assert rest in documented
    seen = {pair for _, names in PATHS.values() for pair in pairwise(names)}
    assert documented - {rest} | {("Backward", "Computed")} == seen


def test_a_withdrawn_step_leaves_auxiliary_states_as_they_were(executor):
    before = executor.aux_dict["bn_moving_mean"].asnumpy()
    executor.forward(is_train=True)
    _read(executor)
    _backward(executor)
    _gradient(executor)
    assert (executor.aux_dict["bn_moving_mean"].asnumpy() != before).any()
    _withdraw(executor)
    np.testing.assert_array_equal(executor.aux_dict["bn_moving_mean"].asnumpy(), before)


def test_a_step_whose_forward_failed_and_then_ran_is_forced_again(executor):
    """waitall is silent about an error that was raised; not about the work that comes after it."""
    executor.forward(is_train=True)
    _failing(_read)(executor)
    _read(executor)
    _backward(executor)
    mx.nd.waitall()
    assert isinstance(executor.last_step.state, Computed)
