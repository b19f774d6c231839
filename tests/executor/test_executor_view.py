"""The view of an executor: statistics of the contents that are there; nothing is run for it."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.display import view_of

from ..display._html import checked
from ..display._snapshots import matches

pytestmark = pytest.mark.usefixtures("fresh_programs")


def _net():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    net = mx.sym.BatchNorm(net, name="bn")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _bound(net=None, **kwargs):
    executor = (_net() if net is None else net).simple_bind(mx.cpu(), data=(2, 3), **kwargs)
    for name, array in executor.arg_dict.items():
        if name != "softmax_label":
            array[:] = np.linspace(-1, 2, array.size).reshape(array.shape)
    return executor


def test_text_form():
    executor = _bound(grad_req={"fc_weight": "write", "fc_bias": "add"})
    executor.arg_dict["data"][1] = [np.nan, np.inf, -np.inf]
    matches("executor", view_of(executor).text())


def test_after_a_training_step_gradients_are_said_not_to_be_stored():
    executor = _bound()
    step = mx.training.Step(executor, "sgd")
    for _ in range(2):
        step(data=np.ones((2, 3)), softmax_label=np.zeros(2))
    text = view_of(executor).text()
    assert "trained by a Step, 2 steps" in text
    assert "not run yet" not in text
    assert text.count("a Step stores none") == len(executor.grad_dict)
    executor.forward(is_train=True)
    executor.backward()
    executor.grad_dict["fc_weight"].asnumpy()
    text = view_of(executor).text()
    assert "last forward for training" in text
    assert "a Step" not in text


def _rows(executor, title):
    """The rows of one section, as words."""
    lines = view_of(executor).text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(title)) + 3
    stop = next(i for i in range(start, len(lines)) if not lines[i].startswith("  "))
    return lines[start:stop]


def test_views_run_and_compile_nothing():
    executor = _bound()
    assert "not run yet" in view_of(executor).text()
    executor.forward(is_train=True)
    assert all("not computed yet" in row for row in _rows(executor, "outputs"))
    executor.backward()
    checked(executor._repr_html_())
    for title in ("outputs", "gradients", "auxiliary states"):
        assert all("not computed yet" in row for row in _rows(executor, title))
    assert executor.last_step is not None
    assert not executor.last_step.has_outputs
    assert executor.program.traces == 0
    executor.outputs[0].asnumpy()
    for title in ("outputs", "gradients", "auxiliary states"):
        assert not any("not computed" in row for row in _rows(executor, title))
    # Nothing was read in between: still one program, forwards and backwards.
    assert executor.program.traces == 1


def test_a_view_of_a_pending_array_is_pending_too():
    executor = _bound()
    small = executor.reshape(data=(1, 3), softmax_label=(1,), partial_shaping=True)
    executor.forward(is_train=True)
    executor.backward()
    assert "not computed yet" in _rows(small, "gradients")[0]
    assert executor.program.traces == 0


def test_consumed_gradients_are_named():
    module = mx.mod.Module(_net())
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer()
    executor = module._exec_group.execs[0]
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2,))]))
    with module.discard_gradients():  # as in fit, where they cannot be read
        module.update()
    assert all("used up by the update" in row for row in _rows(executor, "gradients"))
    assert not any("not computed" in row for row in _rows(executor, "arguments"))


def test_arrays_of_several_devices():
    with mx.AttrScope(ctx_group="a"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    with mx.AttrScope(ctx_group="b"):
        net = mx.sym.FullyConnected(net, num_hidden=4, name="fc2")
    executor = _bound(net, group2ctx={"a": mx.cpu(1), "b": mx.cpu(2)}, grad_req="null")
    rows = _rows(executor, "arguments")
    assert ["cpu(1)" in row for row in rows] == [True] * 3 + [False] * 2


def test_large_executors_have_bounded_views():
    variables = [mx.sym.Variable(f"<x{i}>") for i in range(700)]
    executor = mx.sym.add_n(*variables, name="sum").bind(
        mx.cpu(), {f"<x{i}>": mx.nd.zeros((2,)) for i in range(700)}
    )
    view = view_of(executor)
    html = view.html()
    checked(html)
    assert "<x1>" not in html
    assert len(html) < 600_000
    assert "... 200 more" in html
    assert "... 670 more" in view.text() or "... 470 more" in view.text()


def test_a_failing_view_is_the_repr():
    executor = _bound()
    executor.arg_arrays[0].value.delete()
    assert "<Executor of softmax on cpu(0): " in checked(executor._repr_html_())
    assert executor._repr_mimebundle_()["text/plain"].startswith("<Executor of softmax on cpu(0): ")
