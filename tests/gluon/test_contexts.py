"""Parameters on several contexts: interrupted changes, programs of a step, what runs apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit import autograd, gluon
from executorkit.gluon import _update_modes, nn
from tests._tools.interrupts import Interrupter
from tests.autograd.test_recorded_programs import programs_of
from tests.golden.gluon_scripts._facts import fill, numbers

TWO = [mx.cpu(0), mx.cpu(1)]


def _parameter() -> gluon.Parameter:
    parameter = gluon.Parameter("w", shape=(2,))
    mx.random.seed(1)
    parameter.initialize(ctx=TWO)
    for grad in parameter.list_grad():
        grad[:] = 3
    return parameter


def _seen(parameter: gluon.Parameter) -> list[Any]:
    """What a change of a parameter may change."""
    grads = [] if parameter.grad_req == "null" else parameter.list_grad()
    arrays = parameter.list_data()
    return [
        [x.asnumpy().tolist() for x in (*arrays, *grads)],
        [None if x.grad is None else x.grad.asnumpy().tolist() for x in arrays],
        [parameter.grad_req, parameter.shape, np.dtype(parameter.dtype).name],
        [x.dtype for x in (*arrays, *grads)],
        [str(c) for c in parameter.list_ctx()],
    ]


CHANGES: dict[str, Callable[[gluon.Parameter], object]] = {
    "set_data": lambda p: p.set_data(mx.nd.array([5, 6])),
    "zero_grad": lambda p: p.zero_grad(),
    "grad_req": lambda p: setattr(p, "grad_req", "add"),
    "no gradient": lambda p: setattr(p, "grad_req", "null"),
    "reset_ctx": lambda p: p.reset_ctx([mx.cpu(1), mx.cpu(2)]),
    "cast": lambda p: p.cast("float16"),
    "initialize": lambda p: p.initialize(ctx=TWO, force_reinit=True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_interrupt_changes_all_contexts_or_none(name):
    change = CHANGES[name]
    change(_parameter())
    before, after = _parameter(), _parameter()
    first = _seen(before)
    change(after)
    last, drawn = _seen(after), mx.nd.random.uniform(shape=(3,)).asnumpy().tolist()
    raised, at = 0, 1
    while True:
        parameter = _parameter()
        interrupter = Interrupter(at, only="executorkit")
        if not interrupter.run(lambda: change(parameter)):  # noqa: B023
            break
        raised, at = raised + 1, at + 1 + at // 12
        seen = _seen(parameter)
        assert seen in (first, last), interrupter.place
        if seen == first != last:
            change(parameter)
            assert _seen(parameter) == last
            assert mx.nd.random.uniform(shape=(3,)).asnumpy().tolist() == drawn
    assert raised > 10


class Loop:
    """A loop over contexts: two layers with BatchNorm and Dropout in between."""

    def __init__(
        self, n: int = 2, optimizer: Any = "adam", norm: Any = None, rate: float = 0.3,
        **options: Any,
    ) -> None:  # fmt: skip
        norm = nn.BatchNorm(in_channels=3) if norm is None else norm
        self.contexts = [mx.cpu(k) for k in range(n)]
        self.net = net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Dense(3, in_units=4, use_bias=False), norm)
            net.add(nn.Dropout(rate), nn.Dense(2, in_units=3))
        net.initialize(ctx=self.contexts)
        fill(net)
        self.trainer = gluon.Trainer(net.collect_params(), optimizer, **options)
        self.loss = gluon.loss.L2Loss()
        mx.random.seed(4)

    def losses(self, number: int, rows: int = 16) -> list[Any]:
        """The recorded losses of a batch."""
        load = gluon.utils.split_and_load
        data = load(numbers(f"x{number}", (rows, 4)), self.contexts, even_split=False)
        label = load(numbers(f"y{number}", (rows, 2)), self.contexts, even_split=False)
        with autograd.record():
            return [self.loss(self.net(x), y) for x, y in zip(data, label, strict=True)]

    def step(self, number: int = 0, disturb: Callable[..., object] | None = None) -> list[Any]:
        """Takes a step; returns the losses."""
        losses = self.losses(number)
        autograd.backward(losses)
        if disturb is not None:
            disturb(self, losses)
        self.trainer.step(16)
        return losses

    def values(self) -> list[np.ndarray]:
        """Everything that a step changes on any context."""
        parameters = self.net.collect_params().values()
        arrays = [x for p in parameters for x in p.list_data()]
        grads = [x for p in parameters if p.grad_req != "null" for x in p.list_grad()]
        return [x.asnumpy() for x in (*arrays, *grads)]


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize(
    ("n", "optimizer", "options"),
    [
        (2, "adam", {}),
        (4, "sgd", {"kvstore": "local"}),
        (2, "adam", {"update_on_kvstore": False}),
        (2, optax.adamw(1e-2), {}),
    ],
)
def test_a_step_of_all_contexts_is_one_program_and_copies_nothing(n, optimizer, options):
    loop = Loop(n, optimizer, **options)
    for _ in range(2):
        loop.step()
    assert programs_of(loop.step) == (1, 0)
    if n == 2 and not options:
        loop.net.hybridize()
        _ = [x.asnumpy() for x in loop.step()]  # compiles what takes the losses apart, too
        assert programs_of(loop.step) == (1, 0)
        mx.nd.waitall()
        assert programs_of(lambda: [x.asnumpy() for x in loop.step()])[0] == 1 + n


def _other_calls(loop: Loop, _: Any) -> None:
    losses = loop.losses(7)
    with autograd.record():
        losses[1] = losses[1] * 2
    autograd.backward(losses)


def _uneven(loop: Loop, _: Any) -> None:
    autograd.backward(loop.losses(7, 15))


def _one_by_one(loop: Loop, _: Any) -> None:
    for loss in loop.losses(7):
        loss.backward()


def _first(loop: Loop, *, grad: bool = False) -> mx.nd.NDArray:
    parameter = loop.net[0].weight
    return (parameter.list_grad() if grad else parameter.list_data())[1]


#: What a script may do between backward and the step.
DISTURBANCES: dict[str, Callable[[Loop, list[Any]], object]] = {
    "loss": lambda _, losses: losses[1].asnumpy(),
    "gradient": lambda loop, _: _first(loop, grad=True).asnumpy(),
    "written gradient": lambda loop, _: _first(loop, grad=True).__imul__(2),
    "written weight": lambda loop, _: _first(loop).__imul__(2),
    "written loss": lambda _, losses: losses[1].__setitem__(slice(None), 3),
    "set": lambda loop, _: loop.net[0].weight.set_data(mx.nd.ones((3, 4))),
    "weight": lambda loop, _: _first(loop).asnumpy(),
    "clipped": lambda loop, _: gluon.utils.clip_global_norm(
        [x for p in loop.net[3].collect_params().values() for x in p.list_grad()], 0.1
    ),
    "other calls": _other_calls,
    "uneven": _uneven,
    "one by one": _one_by_one,
    "recorded only": lambda loop, _: loop.losses(8),
    "waited": lambda *_: mx.nd.waitall(),
}


@pytest.mark.parametrize("options", [{}, {"update_on_kvstore": False}], ids=["store", "sums"])
def test_whatever_happens_in_between_steps_are_those_of_separate_programs(options, monkeypatch):
    """Each disturbance once, steps of all contexts as one program between them."""

    def train() -> list[list[np.ndarray]]:
        loop, seen = Loop(2, "adam", **options), []
        for number, disturb in enumerate(DISTURBANCES.values()):
            loop.step(2 * number)
            values = [loss.asnumpy() for loss in loop.step(2 * number + 1, disturb)]
            seen.append([*values, *(loop.values() if number % 3 == 2 else ())])
        return [*seen, loop.values()]

    joined: list[bool] = []
    join = _update_modes.combine_steps

    def counted(*arguments: Any, **more: Any) -> bool:
        joined.append(join(*arguments, **more))
        return joined[-1]

    monkeypatch.setattr(_update_modes, "combine_steps", counted)
    together = train()
    assert joined.count(True) >= len(DISTURBANCES)
    monkeypatch.setattr(_update_modes, "combine_steps", lambda *_, **__: False)
    for name, seen, expected in zip([*DISTURBANCES, "end"], together, train(), strict=True):
        for x, y in zip(seen, expected, strict=True):
            np.testing.assert_allclose(x, y, 2e-4, 2e-5, err_msg=name)


def test_an_optimizer_of_its_own_goes_on_after_steps_that_were_apart(tmp_path):
    """States that are saved, loaded and set are those of all contexts."""
    loop, other = Loop(2, "adam"), Loop(2, "adam")
    loop.step(0)
    loop.trainer.save_states(tmp_path / "states")
    other.step(0)
    for p, q in zip(*(x.net.collect_params().values() for x in (loop, other)), strict=True):
        q.set_data(p.data(mx.cpu(0)))
    other.trainer._ready_mode()
    other.trainer.load_states(tmp_path / "states")
    state = mx.random.get_state()
    loop.step(1)
    mx.random.set_state(state)
    other.step(1)
    for x, y in zip(loop.values()[:2], other.values()[:2], strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-6)


def _synchronized(n: int = 2) -> Loop:
    norm = gluon.contrib.nn.SyncBatchNorm(in_channels=3, num_devices=n)
    return Loop(n, "sgd", norm, 0, optimizer_params={"learning_rate": 0.1, "momentum": 0.9})


def test_statistics_of_all_contexts_are_those_of_the_whole_batch():
    loops = [_synchronized(4), _synchronized(2), Loop(
        1, "sgd", nn.BatchNorm(in_channels=3, epsilon=1e-5), 0,
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
    )]  # fmt: skip
    seen = []
    for loop in loops:
        losses = [np.concatenate([x.asnumpy() for x in loop.step(k)]) for k in range(3)]
        parameters = loop.net.collect_params().values()
        last = mx.cpu(len(loop.contexts) - 1)
        seen.append([*losses, *(p.data(last).asnumpy() for p in parameters)])
    for other in seen[:2]:
        for x, y in zip(other, seen[2], strict=True):
            np.testing.assert_allclose(x, y, 1e-4, 1e-5)


@pytest.mark.parametrize("disturb", [DISTURBANCES["loss"], _uneven], ids=["read", "uneven"])
def test_statistics_of_all_contexts_need_one_program(disturb):
    loop = _synchronized()
    loop.step(0)
    with pytest.raises(mx.MXNetError, match="statistics span all contexts"):
        loop.step(1, disturb)
    with pytest.raises(mx.MXNetError, match="SyncBatchNorm"):
        mx.nd.waitall()  # the other context
    with autograd.predict_mode():
        assert np.isfinite(loop.net(mx.nd.ones((2, 4))).asnumpy()).all()
    values = loop.step(2)
    assert np.isfinite(values[1].asnumpy()).all()


def test_a_clipped_norm_is_a_numpy_scalar():
    norm = gluon.utils.clip_global_norm([mx.nd.array([3, 4.2]), mx.nd.array([3])], 1)
    assert type(norm).__name__ == "float32"
    assert str(norm) == "5.9699244"
