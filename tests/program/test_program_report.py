"""Reports of programs: the reasons of compilations, the costs of nodes, the compiled text."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.lowering import disabled
from executorkit.program._compilation_log import MAX_TRACES
from executorkit.program._trace_history import argument_differences

from ..display._html import checked
from ..models.lstm import lstm

pytestmark = pytest.mark.usefixtures("fresh_programs")


def _net(hidden=5):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    net = mx.sym.BatchNorm(mx.sym.tanh(net, name="act"), name="bn")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _bound(batch=4, net=None, **kwargs):
    net = _net() if net is None else net
    return net.simple_bind(mx.cpu(), data=(batch, 6), **kwargs)


def _look(executor, train=False):
    executor.forward(is_train=train)
    if train:
        executor.backward()
        executor.grad_arrays[1].asnumpy()
    executor.outputs[0].asnumpy()


def _why(program, function):
    return [t.why for t in program.explain() if t.function == function]


def test_another_batch_size_is_named():
    executor = _bound(32)
    _look(executor)
    _look(executor.reshape(data=(8, 6), softmax_label=(8,)))
    assert _why(executor.program, "infer") == [
        "it was called, or compiled, first",
        "args['data']: shape (32, 6) -> (8, 6); args['softmax_label']: shape (32,) -> (8,)",
    ]


def test_a_fused_step_is_listed_once():
    executor = _bound()
    executor.forward(is_train=True)
    executor.backward()
    mx.optimizer.get_updater(mx.optimizer.SGD())(0, executor.grad_arrays[1], executor.arg_arrays[1])
    executor.outputs[0].asnumpy()
    assert [trace.function for trace in executor.program.explain()] == ["step"]


def test_the_nearest_earlier_trace_is_compared():
    net = _net()
    for batch, dtype in ((32, "float32"), (32, "float64"), (8, "float64")):
        _look(_bound(batch, net, type_dict={"data": dtype}))
    program = _bound(32, net).program
    assert program.explain()[2].changes == (
        "args['data']: shape (32, 6) -> (8, 6)",
        "args['softmax_label']: shape (32,) -> (8,)",
    )
    assert "args['fc1_weight']: dtype float32 -> float64" in program.explain()[1].changes
    assert program.explain()[1].why.endswith("more")


def test_dropped_code_is_named():
    net = _net()
    _look(_bound(net=net))
    program = _bound(net=net).program
    program.clear()
    _look(_bound(net=net))
    assert _why(program, "infer")[1] == (
        "the same arguments again: what was compiled had been dropped"
    )


def test_fields_of_a_signature_are_compared_one_by_one():
    old = {"a": ((2, 3), "float32", "cpu:0"), "b": None, "c": ((1,), "int32", "cpu:0")}
    new = {"a": ((2, 3), "float32", "cpu:1"), "b": ((4,), "float16", "cpu:1"), "d": None}
    assert argument_differences(old, new) == [
        "a: device cpu:0 -> cpu:1",
        "b: none -> float16 (4,)",
        "c: int32 (1,) -> none",
    ]


@pytest.mark.usefixtures("compiled")
def test_history_is_bounded():
    executor = mx.sym.exp(mx.sym.var("x")).simple_bind(mx.cpu(), x=(1,))
    infer: Any = executor.program.infer[False]
    for n in range(1, MAX_TRACES + 5):
        infer((np.zeros(n, "float32"),), (), None)
    assert infer.traces == MAX_TRACES + 4
    assert len(executor.program.explain()) == MAX_TRACES


def test_a_near_program_is_named():
    net = _net()
    _bound(net=net)
    other = _bound(net=net, grad_req={"fc1_weight": "write"})
    assert "grad_req of 'data' write -> null" in other.program.explain().origin
    wider = _bound(net=_net(7))
    assert "node 'fc1' (FullyConnected): num_hidden" in wider.program.explain().origin


def test_cost_counts_each_node_forward_and_backward():
    executor = _bound(4)
    _look(executor, train=True)
    cost = executor.program.cost()
    assert cost.function == "forward_backward_train"
    assert [n.name for n in cost][:5] == ["fc1", "act", "bn", "fc2", "softmax"]
    assert cost["fc1"].forward.flops == 2 * 4 * 6 * 5 + 4 * 5
    # Two products: for the weights, and for the data, which has a gradient too.
    assert 2 * 2 * 4 * 6 * 5 <= cost["fc1"].backward.flops <= 2 * 2 * 4 * 6 * 5 + 4 * 4 * 5
    assert cost["softmax"].backward.flops > 0
    assert cost.flops == sum(n.flops for n in cost)
    assert cost["fc1"].forward.bytes > 4 * (4 * 6 + 6 * 5 + 4 * 5)
    assert "fc2" in repr(cost)
    checked(cost._repr_html_())


def test_backward_cost_of_convolutions_is_twice_the_forward_cost():
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), stride=(2, 2), pad=(1, 1),
                             num_filter=8, no_bias=True, name="conv")  # fmt: skip
    executor = mx.sym.MakeLoss(net, name="loss").simple_bind(mx.cpu(), data=(2, 16, 16, 16))
    _look(executor, train=True)
    conv = executor.program.cost()["conv"]
    assert conv.forward.flops == 2 * (2 * 8 * 8 * 8) * (16 * 9)
    assert conv.backward.flops == pytest.approx(2 * conv.forward.flops, rel=0.3)


def test_cost_multiplies_the_iterations_of_a_loop():
    data, state = mx.sym.var("data"), mx.sym.var("state")
    outs, _ = mx.sym.contrib.foreach(lambda x, s: (x * s[0], [s[0] + x]), data, [state])
    executor = outs.simple_bind(mx.cpu(), data=(7, 3), state=(3,))
    _look(executor)
    (loop,) = [n for n in executor.program.cost() if n.op == "_foreach"]
    assert loop.flops >= 7 * 2 * 3


def test_cost_of_a_repetition_counts_with_its_first_iteration():
    shapes = {"data": (2, 8), "softmax_label": (2, 8)}
    shapes |= {f"l{k}_init_{s}": (2, 4) for k in range(2) for s in "hc"}
    costs = []
    for unrolled in (False, True):
        with disabled("reroll") if unrolled else nullcontext():
            executor = lstm(mx, 8, hidden=4, embed=4, words=6).simple_bind(mx.cpu(), **shapes)
            executor.compile(is_train=True)
            costs.append(executor.program.cost())
    rolled, unrolled = costs
    # Rerolled, the gradient of a weight is one product, without sums over the iterations.
    assert rolled.flops < unrolled.flops
    assert rolled.flops == pytest.approx(unrolled.flops, rel=0.1)
    assert rolled["t0_l0_i2h"].flops == pytest.approx(8 * unrolled["t3_l0_i2h"].flops, rel=0.2)
    assert rolled["t3_l0_i2h"].flops == 0
    words = checked(rolled._repr_html_())
    assert "later iterations of a repetition count with the first one" in words
    assert "t3_l0_i2h" not in words


def test_cost_of_a_pmapped_program_is_that_of_each_device():
    net = _net()
    module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (8, 6))], [("softmax_label", (8,))])
    module.init_params()
    module.init_optimizer()
    batch = mx.io.DataBatch([mx.nd.ones((8, 6))], [mx.nd.zeros((8,))])
    module.forward(batch, is_train=False)
    module.get_outputs()[0].asnumpy()
    program = module.core.execs[0].program
    alone = _bound(4, net, grad_req="null").compile()
    cost = program.cost()
    assert cost.function == "infer on each of 2 devices"
    assert [n.flops for n in cost] == [n.flops for n in alone.program.cost()]
    module.forward_backward(batch)
    module.update()
    step = program.cost()
    assert step.function == "step on each of 2 devices"
    assert step["fc1"].backward.flops > 0
    assert step["(between nodes)"].flops > 0


def test_hlo_names_nodes():
    executor = _bound()
    _look(executor)
    program = executor.program
    assert "HloModule" in program.hlo()
    assert "fc1" in program.hlo("infer")
    assert "stablehlo.dot_general" in program.hlo("infer", optimized=False)
    assert program.traces == 1


def test_questions_before_any_compilation_are_errors():
    program = _bound().program
    for ask in (program.cost, program.hlo):
        with pytest.raises(mx.MXNetError, match="nothing has been compiled"):
            ask()
    _bound().compile()
    with pytest.raises(mx.MXNetError, match="one of: infer"):
        _bound().program.cost("forward_train")


def test_views_run_and_compile_nothing():
    executor = _bound()
    checked(executor.program._repr_html_())
    _look(executor, train=True)
    program = executor.program
    before = program.traces
    words = checked(program._repr_html_())
    assert "forward_backward_train" in words
    assert "peak memory" in words
    assert program.traces == before
    assert "compiled because" in repr(program.explain())
    checked(program.explain()._repr_html_())


def test_partitioned_programs_answer_too():
    with mx.AttrScope(ctx_group="a"):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    with mx.AttrScope(ctx_group="b"):
        x = mx.sym.FullyConnected(x, num_hidden=4, name="fc2")
    executor = x.simple_bind(
        mx.cpu(), data=(2, 3), group2ctx={"a": mx.cpu(0), "b": mx.cpu(1)}, grad_req="null"
    )
    _look(executor)
    program = executor.program
    assert [n.name for n in program.cost()] == ["fc1", "fc2"]
    assert program.hlo().count("HloModule") == 2
    assert {t.function for t in program.explain()} == {
        "segment 0 on cpu(0): infer",
        "segment 1 on cpu(1): infer",
    }
    checked(program._repr_html_())
