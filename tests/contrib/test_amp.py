"""Mixed precision: programs of a step, skipped steps, converted networks."""

from __future__ import annotations

import logging
from typing import Any, cast

import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit import autograd, gluon, nd
from executorkit.contrib import amp
from executorkit.ops import lookup
from executorkit.ops.schema.call_rules import call_rules
from executorkit.ops.schema.operator_modules import unsupported_reason
from tests.autograd.test_recorded_programs import programs_of
from tests.golden.amp_scripts.conversion import network


@pytest.fixture(autouse=True)
def _no_rule(monkeypatch):
    """Each test begins before ``amp.init``."""
    monkeypatch.setattr(call_rules, "rule", None)


class Training:
    """Two layers; a factor of the data makes gradients overflow."""

    def __init__(
        self, optimizer: Any = "sgd", hybrid: bool = True, dtype: str = "float32", **arguments: Any
    ) -> None:
        self.net = gluon.nn.HybridSequential(prefix="net_")
        with self.net.name_scope():
            self.net.add(
                gluon.nn.Dense(8, activation="tanh", in_units=6), gluon.nn.Dense(3, in_units=8)
            )
        rng = np.random.default_rng(1)
        self.net.initialize()
        self.net.cast(dtype)
        for parameter in self.net.collect_params().values():
            parameter.set_data(nd.array(rng.uniform(-0.5, 0.5, parameter.shape), dtype=dtype))
        if hybrid:
            self.net.hybridize()
        self.data = nd.array(rng.normal(size=(5, 6)), dtype=dtype)
        self.label = nd.array([0, 1, 2, 0, 1])
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        if isinstance(optimizer, str):
            arguments.setdefault("learning_rate", 0.1)
        parameters = self.net.collect_params()
        self.trainer = gluon.Trainer(parameters, optimizer, arguments or None)
        if call_rules.rule is not None:
            amp.init_trainer(self.trainer)

    def step(self, factor: float = 1.0) -> Any:
        with autograd.record():
            loss = self.loss(self.net(self.data), self.label) * nd.array([factor])
            if call_rules.rule is None:
                loss.backward()
            else:
                with amp.scale_loss(loss, self.trainer) as scaled:
                    autograd.backward(scaled)
        self.trainer.step(5)
        return loss

    def state(self) -> list[Any]:
        """Weights, then the states of the optimizer."""
        weights = [p.data().asnumpy() for p in self.net.collect_params().values()]
        states = self.trainer._updaters[0].states
        return [*weights, *(x.asnumpy() for key in sorted(states) for x in _arrays(states[key]))]


def _arrays(state: Any) -> list[Any]:
    if isinstance(state, tuple | list):
        return [x for part in state for x in _arrays(part)]
    return [] if state is None else [state]


def _assert_equal(a: list[Any], b: list[Any]) -> None:
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.usefixtures("fresh_programs", "compiled")
@pytest.mark.parametrize(("dtype", "hybrid"), [("bfloat16", False), ("float16", True)])
def test_a_step_is_one_program_whatever_the_scale(dtype, hybrid):
    amp.init(dtype)
    training = Training("adam", hybrid)
    for _ in range(3):
        training.step()
    assert programs_of(training.step) == (1, 0)
    training.step(np.inf)
    traces = mx.program.cache_info().traces
    scales = set()
    for _ in range(4):
        training.step()
        scales.add(training.trainer._scale)
    assert len(scales) == 2
    assert mx.program.cache_info().traces == traces
    assert programs_of(training.step) == (1, 0)


@pytest.mark.parametrize(
    ("optimizer", "arguments"),
    [
        ("sgd", {"momentum": 0.9}),
        ("nadam", {}),
        ("ftml", {}),
        ("lamb", {"lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.9)}),
    ],
)
def test_a_skipped_step_is_as_if_it_had_not_been(optimizer, arguments):
    amp.init("bfloat16")
    training, other = Training(optimizer, **arguments), Training(optimizer, **arguments)
    for _ in range(2):
        training.step()
        other.step()
    before = training.state()
    training.step(np.nan)
    _assert_equal(training.state(), before)
    assert training.trainer.optimizer.num_update == 2
    assert training.trainer.learning_rate == other.trainer.learning_rate
    cast(Any, other.trainer._amp_loss_scaler)._next = 2.0**15
    for _ in range(2):
        training.step()
        other.step()
    _assert_equal(training.state(), other.state())


def test_masters_of_half_precision_weights_are_kept():
    amp.init("float16")
    training = Training("adam", dtype="float16", multi_precision=True)
    for factor in (1e-2, np.inf, 1e-2):
        before = training.state()
        training.step(factor)
        after = training.state()
        changed = [not np.array_equal(x, y) for x, y in zip(before, after, strict=False)]
        assert any(changed) == (factor != np.inf)
    masters = [x for x in after if x.dtype == np.float32]
    weights = [p.data().asnumpy() for p in training.net.collect_params().values()]
    assert all(any(np.array_equal(m.astype(w.dtype), w) for m in masters) for w in weights)


class Own(mx.optimizer.Optimizer):
    """An optimizer that is called, and is no part of a program."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_count(index)
        weight -= 0.1 * self.rescale_grad * grad


@pytest.mark.parametrize("optimizer", [Own(), optax.sgd(0.1)])
def test_other_optimizers_skip_steps(optimizer):
    amp.init("bfloat16")
    training = Training(optimizer)
    training.step()
    parameters = training.net.collect_params().values()
    before = [p.data().asnumpy() for p in parameters]
    training.step(np.inf)
    _assert_equal([p.data().asnumpy() for p in parameters], before)
    assert cast(Any, training.trainer._amp_loss_scaler)._next_loss_scale == 2.0**15
    training.step()
    assert not np.array_equal(next(iter(parameters)).data().asnumpy(), before[0])


def test_steps_of_several_contexts_are_skipped_on_all():
    """Later steps too, which without a scaler are one program for all contexts."""
    amp.init("bfloat16")
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = gluon.nn.Dense(3, in_units=6)
    net.initialize(mx.init.One(), ctx=contexts)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
    amp.init_trainer(trainer)
    loss = gluon.loss.L2Loss()

    def step(factor: float) -> Any:
        with autograd.record():
            losses = [
                loss(net(nd.ones((4, 6), ctx=c)), nd.zeros((4, 3), ctx=c))
                * nd.array([factor], ctx=c)
                for c in contexts
            ]
            with amp.scale_loss(losses, trainer) as scaled:
                autograd.backward(scaled)
        trainer.step(8)
        return [net.weight.data(c).asnumpy() for c in contexts]

    for _ in range(3):
        before = step(1.0)
    _assert_equal(step(np.inf), before)
    assert trainer.optimizer.num_update == 3
    after = step(1.0)
    assert np.isfinite(after[0]).all()
    assert not np.array_equal(after[0], before[0])


def test_states_of_a_trainer_are_those_of_steps_that_were_taken(tmp_path):
    amp.init("bfloat16")
    training = Training("adam")
    for factor in (1.0, 1.0, np.inf):
        training.step(factor)
    training.trainer.save_states(tmp_path / "states")
    saved = training.state()
    training.step()
    training.trainer.load_states(tmp_path / "states")
    assert training.trainer.optimizer.num_update == 2
    n_weights = len(training.net.collect_params().keys())
    _assert_equal(training.state()[n_weights:], saved[n_weights:])


def test_the_scale_is_doubled_up_to_a_bound(caplog):
    caplog.set_level(logging.INFO)
    scaler = amp.LossScaler()
    scaler._scale_seq_len = 2
    parameter = gluon.Parameter("w", shape=(2,))
    parameter.initialize()
    scales = []
    for _ in range(20):
        assert not scaler.has_overflow([parameter])
        scales.append(scaler.loss_scale)
    assert scales[:5] == [2.0**16, 2.0**16, 2.0**17, 2.0**17, 2.0**18]
    assert scales[-1] == 2.0**24
    parameter.grad()[:] = np.inf
    assert scaler.has_overflow([parameter])
    assert "AMP: decreasing loss scale to 8388608.000000" in caplog.text


def test_losses_of_half_precision_come_close_to_those_of_float32():
    curves = []
    for dtype in (None, "bfloat16"):
        if dtype is not None:
            amp.init(dtype)
        training = Training("sgd", momentum=0.9)
        curves.append([training.step().mean().asscalar() for _ in range(25)])
    assert curves[0][-1] < curves[0][0] / 3
    np.testing.assert_allclose(curves[1], curves[0], rtol=0.02, atol=0.005)


def test_modules_of_symbols_that_are_made_later_compute_in_low_precision(caplog):
    amp.init("bfloat16")
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    assert "SoftmaxOutput does not support dynamic loss scaling" in caplog.text
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    data = np.full((4, 5), 1 + 2**-12, np.float32)
    batch = mx.io.DataBatch([nd.array(data)], [nd.array([0, 1, 2, 0])])
    module.forward_backward(batch)
    module.update()
    internals = x.get_internals()["fc_output"].eval(
        data=nd.array(data), fc_weight=nd.ones((3, 5)), fc_bias=nd.zeros(3)
    )
    assert str(internals[0].dtype) == "bfloat16" or "bfloat16" in internals[0].dtype.__name__
    assert internals[0].asnumpy().tolist() == [[5, 5, 5]] * 4
    assert module.get_params()[0]["fc_weight"].dtype == np.float32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_converted_network_predicts_and_is_stored(dtype, tmp_path):
    rng = np.random.default_rng(3)
    symbol = network(mx)
    shapes, _, states = symbol.infer_shape(data=(2, 3, 8, 8))
    inputs = dict(zip(symbol.list_arguments(), shapes, strict=True))
    del inputs["data"], inputs["out_label"]
    arguments = {n: nd.array(rng.uniform(-0.3, 0.3, s)) for n, s in inputs.items()}
    auxiliary = {n: nd.ones(s) for n, s in zip(symbol.list_auxiliary_states(), states, strict=True)}
    data = nd.array(rng.normal(size=(2, 3, 8, 8)))
    converted = amp.convert_model(symbol, arguments, auxiliary, dtype, cast_optional_params=True)
    expected = _predict(symbol, arguments, auxiliary, data)
    np.testing.assert_allclose(_predict(*converted, data), expected, atol=0.02)
    mx.model.save_checkpoint(str(tmp_path / "net"), 1, *converted, remove_amp_cast=False)
    loaded = mx.model.load_checkpoint(str(tmp_path / "net"), 1)
    assert loaded[0].tojson(remove_amp_cast=False) == converted[0].tojson(remove_amp_cast=False)
    np.testing.assert_array_equal(_predict(*loaded, data), _predict(*converted, data))


def _predict(symbol: Any, arguments: Any, states: Any, data: Any) -> Any:
    inputs = {**arguments, "data": data, "out_label": nd.zeros(len(data))}
    executor = symbol.bind(mx.cpu(), inputs, aux_states=states)
    return executor.forward()[0].asnumpy()


@pytest.mark.parametrize(
    ("dtype", "lengths"), [("float16", (4, 318, 136)), ("bfloat16", (2, 15, 438))]
)
def test_the_lists_have_mxnets_import_path(dtype, lengths):
    prefix = "FP16" if dtype == "float16" else "BF16"
    module = getattr(amp.lists, f"symbol_{prefix.lower()}")
    names = (f"{prefix}_FUNCS", f"{prefix}_FP32_FUNCS", "FP32_FUNCS")
    assert tuple(len(getattr(module, name)) for name in names) == lengths
    assert ("Activation", "act_type", ["softrelu"]) in module.CONDITIONAL_FP32_FUNCS
    assert "SoftmaxOutput" in module.LOSS_OUTPUT_FUNCTIONS
    assert "_Plus" in module.WIDEST_TYPE_CASTS
    assert hasattr(module, "BF16_USE_FP32_PARAMS") == (dtype == "bfloat16")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_operators_of_the_lists_are_here_or_have_a_reason(dtype):
    names = [n for names in _lists(dtype) for n in names]
    assert len(names) == len(set(names))
    absent = [n for n in names if lookup(n) is None and unsupported_reason(n) is None]
    assert set(absent) <= {"CuDNNBatchNorm", "BatchNormWithReLU"}


def _lists(dtype: str) -> list[list[str]]:
    return [
        amp.list_lp16_ops(dtype), amp.list_fp32_ops(dtype), amp.list_lp16_fp32_ops(dtype),
        amp.list_widest_type_cast(dtype),
    ]  # fmt: skip
