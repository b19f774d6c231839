"""Scales of losses, and steps that are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._facts import script

INF, NAN = float("inf"), float("nan")
#: Factors of losses: gradients overflow with some of them.
FACTORS = (1, 1, INF, 1, 1, 1, 1, NAN, INF, 1, 1e37, 1)


def parameter_and_trainer(
    mx: Any, optimizer: str = "sgd", contexts: int = 1, **options: Any
) -> Any:
    """A parameter (2,) of ones and a trainer, which halves its learning rate at every step."""
    parameter = mx.gluon.Parameter("w", shape=(2,), init="ones")
    parameter.initialize(ctx=[mx.cpu(k) for k in range(contexts)])
    rate = {"learning_rate": 0.5}
    if optimizer == "adam":
        rate = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.5)}
    arguments = {**rate, **options.pop("arguments", {})}
    return parameter, mx.gluon.Trainer([parameter], optimizer, arguments, **options)


def backward(mx: Any, parameter: Any, trainer: Any, factors: Sequence[float]) -> Any:
    """The scaled losses of the contexts, whose gradients are scale * (factor, 2)."""
    amp, losses = mx.contrib.amp, []
    with mx.autograd.record():
        for weight, factor in zip(parameter.list_data(), factors, strict=False):
            numbers = mx.nd.array([factor, 2], ctx=weight.context)
            losses.append((weight * numbers).sum())
        with amp.scale_loss(losses if len(losses) > 1 else losses[0], trainer) as scaled:
            mx.autograd.backward(scaled)
    return scaled


def _scale(trainer: Any) -> list[float]:
    scaler = trainer._amp_loss_scaler
    return [scaler._next_loss_scale, scaler.loss_scale, scaler._unskipped, trainer._scale]


def _state(trainer: Any) -> Any:
    state = trainer._updaters[0].states.get(0)
    return [x.asnumpy().tolist() for x in (state if isinstance(state, tuple) else [state])]


def _steps(mx: Any, optimizer: str, **arguments: Any) -> list[Any]:
    mx.contrib.amp.init("bfloat16")
    parameter, trainer = parameter_and_trainer(mx, optimizer, arguments=arguments)
    mx.contrib.amp.init_trainer(trainer)
    trainer._amp_loss_scaler._scale_seq_len = 3
    seen = []
    for factor in FACTORS:
        scaled = backward(mx, parameter, trainer, [factor])
        trainer.step(2)
        seen.append([
            scaled, parameter.grad(), parameter.data(), _scale(trainer), _state(trainer),
            trainer.learning_rate, trainer.optimizer.num_update, trainer.optimizer.rescale_grad,
            bool(parameter.data()._fresh_grad),
        ])  # fmt: skip
    return seen


@script
def steps_of_sgd_are_skipped(mx):
    return _steps(mx, "sgd", momentum=0.5)


@script
def steps_of_adam_are_skipped(mx):
    return _steps(mx, "adam")


@script
def gradients_are_unscaled(mx):
    amp = mx.contrib.amp
    amp.init("bfloat16")
    parameter, trainer = parameter_and_trainer(mx, arguments={"rescale_grad": 0.5})
    amp.unscale(trainer)
    amp.init_trainer(trainer)
    seen = []
    for factor in (1.0, INF, 2.0):
        backward(mx, parameter, trainer, [factor])
        before = parameter.grad().copy()
        amp.unscale(trainer)
        unscaled = parameter.grad().copy()
        trainer.step(1)
        seen.append([before, unscaled, parameter.data().copy(), _scale(trainer)])
    with mx.autograd.record():
        loss = (parameter.data() * 2).sum()
    loss.backward()
    trainer.step(1)
    return seen, parameter.data(), _scale(trainer)


@script
def several_losses_are_scaled(mx):
    amp = mx.contrib.amp
    amp.init("bfloat16")
    parameter, trainer = parameter_and_trainer(mx)
    amp.init_trainer(trainer)
    one = mx.nd.ones((2,))
    with amp.scale_loss([one, one * 2], trainer) as pair, amp.scale_loss((one,), trainer) as single:
        seen = [pair, type(pair).__name__, single, type(single).__name__]
    with mx.autograd.record():
        loss = parameter.data().sum()
        with amp.scale_loss([loss, loss * 2], trainer) as scaled:
            mx.autograd.backward(scaled)
    trainer.step(1)
    return seen, parameter.data(), _scale(trainer)


def _in_mode(mx: Any, contexts: int, **options: Any) -> Any:
    parameter, trainer = parameter_and_trainer(mx, contexts=contexts, **options)
    mx.contrib.amp.init_trainer(trainer)
    seen = []
    for factor in (1.0, INF, 1.0):
        backward(mx, parameter, trainer, [factor, 1.0])
        trainer.step(1)
        data = [x.copy() for x in parameter.list_data()]
        seen.append([data, _scale(trainer), trainer.optimizer.num_update])
    return seen


@script
def every_mode_skips_steps(mx):
    mx.contrib.amp.init("bfloat16")
    return {
        "none": _in_mode(mx, 1, kvstore=None),
        "sums": _in_mode(mx, 1, kvstore="local", update_on_kvstore=False),
        "two sums": _in_mode(mx, 2, update_on_kvstore=False),
        "two apart": _in_mode(mx, 2, kvstore=None),
        "two on store": _in_mode(mx, 2),
    }


@script
def trainers_have_scales_of_their_own(mx):
    amp = mx.contrib.amp
    amp.init("bfloat16")
    pairs = [parameter_and_trainer(mx) for _ in range(2)]
    for _, trainer in pairs:
        amp.init_trainer(trainer)
    scaled = backward(mx, *pairs[0], [INF])
    pairs[0][1].step(1)
    x = mx.nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.SoftmaxOutput(x, mx.nd.array([0, 1]), grad_scale=0.75)
    loss.backward()
    return scaled, [_scale(trainer) for _, trainer in pairs], x.grad
