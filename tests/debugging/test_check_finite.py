"""``check_finite`` names the node that produced the first NaN or infinity, on any device."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.debugging.check_finite import _backward_function, _forward_function
from executorkit.display import view_of
from executorkit.executor import NotFiniteError

from ..display._html import checked
from ..display._snapshots import matches


def _deep(depth=4):
    """log of what may be negative, deep inside."""
    net = mx.sym.Variable("data")
    for i in range(depth):
        net = mx.sym.FullyConnected(net, num_hidden=3, no_bias=True, name=f"fc{i}")
        net = mx.sym.log(net, name="log") if i == 1 else mx.sym.tanh(net, name=f"act{i}")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _bound(net, fill=0.5, **kwargs):
    executor = net.simple_bind(mx.cpu(), **kwargs)
    for name, array in executor.arg_dict.items():
        if not name.endswith("label"):
            array[:] = fill
    return executor


def _root():
    return mx.sym.MakeLoss(mx.sym.sqrt(mx.sym.Variable("x"), name="root") * 3, name="loss")


def test_a_finite_run_is_true():
    executor = _bound(_deep(), data=(2, 3))
    executor.forward(is_train=True)
    executor.backward()
    report = executor.check_finite(raise_error=True)
    assert report
    assert report.first is report.node is None
    # 6 variables, 9 outputs of operators, and 2 + 1 gradients for each of 4 layers, 2 of the loss.
    assert str(report) == "all 29 arrays are finite"
    checked(report._repr_html_())


def test_log_of_a_negative_number_deep_inside():
    executor = _bound(_deep(), data=(2, 3))
    executor.arg_dict["fc1_weight"][:] = [[-1, 0.5, 0.25]] * 3
    executor.arg_dict["data"][1] = [4, 5, -9]
    executor.forward(is_train=True)
    executor.backward()
    report = executor.check_finite()
    assert not report
    assert (report.node, report.first.op, report.first.stage) == ("log", "log", "forward")
    assert report.outputs == ("softmax_output",)
    # A NaN that a node only passes on is not attributed to it.
    assert {f.node for f in report.findings} == {"log"}
    matches("check_finite", view_of(report).text())
    checked(report._repr_html_())
    with pytest.raises(NotFiniteError, match="node 'log'") as caught:
        executor.check_finite(raise_error=True)
    assert isinstance(caught.value, FloatingPointError)
    assert isinstance(caught.value, mx.MXNetError)


def test_check_finite_changes_nothing_and_computes_nothing_pending():
    executor = _bound(_deep(), data=(2, 3))
    executor.forward(is_train=True)
    executor.backward()
    traces = executor.program.traces
    assert executor.check_finite()
    assert executor.program.traces == traces
    assert not executor.last_step.has_outputs
    assert executor.last_step.heads is not None


def test_nodes_that_are_alike_are_compiled_once():
    _forward_function.cache_clear()
    _backward_function.cache_clear()
    executor = _bound(_deep(8), data=(3, 3))
    executor.check_finite()
    # FullyConnected, log, tanh, SoftmaxOutput
    assert [f.cache_info().misses for f in (_forward_function, _backward_function)] == [4, 4]
    compiled = _forward_function.cache_info(), _backward_function.cache_info()
    executor.check_finite()
    assert compiled[0].misses == _forward_function.cache_info().misses


def test_nan_in_a_parameter_and_in_a_state():
    net = mx.sym.BatchNorm(_deep().get_internals()["act0_output"], name="bn")
    executor = _bound(net, data=(2, 3))
    executor.aux_dict["bn_moving_var"][0] = np.inf
    executor.arg_dict["fc0_weight"][2] = np.nan
    executor.forward(is_train=False)
    report = executor.check_finite()
    assert [(f.stage, f.node) for f in report.findings] == [
        ("given", "fc0_weight"),
        ("given", "bn_moving_var"),
    ]
    assert str(report).startswith("argument 'fc0_weight': it holds 3 NaN, float32 (3, 3)\n")


def test_infinite_derivative():
    executor = _bound(_root(), x=(3,))
    executor.arg_dict["x"][:] = [0, 4, 9]
    executor.forward(is_train=True)
    executor.backward()
    executor.grad_arrays[0].asnumpy()
    report = executor.check_finite()
    assert (report.node, report.first.stage) == ("root", "backward")
    assert report.gradients == ("x",)
    assert report.outputs == ()
    assert str(report) == (
        "node 'root' (sqrt): going back through it made 1 Inf in the gradient of input 'data', "
        "float32 (3,)\n"
        "  given by: data: x float32 (3,) 0 to 9; gradient of root_output float32 (3,) 3 to 3\n"
        "  gradients that are not finite: x"
    )


def test_a_derivative_that_jax_drops_is_no_finding():
    # argmax has no derivative, so that sqrt's infinite one is never met; and is not in the sum.
    x = mx.sym.Variable("x")
    dropped = mx.sym.argmax(mx.sym.sqrt(x, name="root"), axis=0, keepdims=True)
    net = mx.sym.MakeLoss(mx.sym.broadcast_add(x, dropped), name="loss")
    executor = _bound(net, fill=0.0, x=(3,))
    executor.forward(is_train=True)
    executor.backward()
    assert np.isfinite(executor.grad_arrays[0].asnumpy()).all()
    assert executor.check_finite()


def test_head_gradients_are_those_used_last():
    executor = _bound(mx.sym.square(mx.sym.Variable("x"), name="sq"), x=(2,))
    executor.forward(is_train=True)
    assert "output 'sq_output' needs a head gradient" in str(executor.check_finite())
    executor.backward(mx.nd.array([1, np.nan]))
    for _ in range(2):
        report = executor.check_finite()
        assert str(report.first.message).startswith("head gradient of 'sq_output': it holds 1 NaN")
        executor.grad_arrays[0].asnumpy()
    assert executor.check_finite(mx.nd.ones((2,)))
    assert not executor.check_finite([mx.nd.array([np.inf, 1])])


def test_a_sum_of_gradients_that_overflows():
    x = mx.sym.Variable("x")
    y = x * 1
    net = mx.sym.Group([mx.sym.identity(y, name="a"), mx.sym.identity(y, name="b")])
    executor = _bound(net, x=(2,), type_dict={"x": "float16"})
    executor.forward(is_train=True)
    executor.backward([mx.nd.array([40000, 1], dtype="float16")] * 2)
    report = executor.check_finite()
    assert report.node is not None
    assert "1 Inf in the sum of the gradients of '_mulscalar0_output'" in str(report).replace(
        report.node, "_mulscalar0"
    )
    assert "because the largest float16 is 6.55e+04" in str(report)


@pytest.mark.parametrize("how", ["bound", "computed"])
def test_overflow_in_half_precision(how):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, no_bias=True, name="fc")
    net = mx.sym.MakeLoss(mx.sym.square(net, name="sq"), name="loss")
    if how == "bound":
        executor = _bound(net, fill=100, x=(2, 3), type_dict={"x": "float16"})
    else:
        with mx.program.options(compute_dtype="float16"):
            executor = _bound(net, fill=100, x=(2, 3))
    executor.forward(is_train=True)
    executor.backward()
    assert not np.isfinite(executor.outputs[0].asnumpy()).any()
    report = executor.check_finite()
    assert report.node == "sq"
    assert "data: fc_output float16 (2, 2) 3e+04 to 3e+04" in str(report)
    assert ("computed in float16" in str(report)) == (how == "computed")


def test_accumulated_gradients_that_are_not_finite_are_named():
    executor = _bound(_root(), x=(2,), grad_req="add")
    executor.grad_arrays[0][:] = np.nan
    assert "grad_req 'add' keeps non-finite values in x" in str(executor.check_finite())


def test_networks_of_every_kind_are_finite():
    """Random numbers, states, loops, several devices."""
    data = mx.sym.Variable("data")
    outs, _ = mx.sym.contrib.foreach(lambda x, s: (x * s[0], [s[0] + x]), data, [data.sum(axis=0)])
    with mx.AttrScope(ctx_group="b"):
        net = mx.sym.FullyConnected(mx.sym.Dropout(outs, p=0.5), num_hidden=3, name="fc")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn")
    net = mx.sym.MakeLoss(net + mx.sym.random.normal(shape=(4, 3)), name="loss")
    for groups in (None, {"b": mx.cpu(1)}):
        executor = _bound(net, data=(4, 3), group2ctx=groups)
        assert executor.check_finite()
        executor.forward(is_train=True)
        executor.backward()
        assert executor.check_finite()
        executor.arg_dict["fc_weight"][:] = np.nan
        executor.forward(is_train=True)
        assert executor.check_finite().node == "fc_weight"


def test_after_an_update_the_new_parameters_are_checked():
    module = mx.mod.Module(_deep())
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": np.inf})
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2,))]))
    assert module.check_finite()
    module.update()
    report = module.check_finite()
    assert report.first.stage == "given"
    assert "after the update" in str(report)
