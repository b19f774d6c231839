"""Programs with group2ctx: the same results on all placements of the segments."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.program import PartitionedProgram, cache_info

GROUPS = {"a": mx.cpu(1), "b": mx.cpu(2)}


def _scope(group: str) -> mx.AttrScope:
    return mx.AttrScope(ctx_group=group)


def _network():
    with _scope("a"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
        net = mx.sym.BatchNorm(net, name="bn", fix_gamma=True, momentum=0.5)
        net = mx.sym.Dropout(net, p=0.5, name="drop1")
    with _scope("b"):
        net = mx.sym.Dropout(mx.sym.tanh(net), p=0.5, name="drop2")
        net = mx.sym.FullyConnected(net, num_hidden=4, name="fc2")
    with _scope("a"):
        net = mx.sym.FullyConnected(net, num_hidden=3, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="out")


def _step(executor, steps: int = 2):
    mx.random.seed(3)
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = rng.normal(size=array.shape) if name != "out_label" else [0, 1, 2, 0]
    seen = []
    for _ in range(steps):
        executor.forward(is_train=True)
        executor.backward()
        seen.append([o.asnumpy() for o in executor.outputs])
    seen.append([g.asnumpy() for g in executor.grad_dict.values() if g is not None])
    seen.append([a.asnumpy() for a in executor.aux_dict.values()])
    return seen


@pytest.mark.parametrize("grad_req", ["write", "add", {"fc2_weight": "write"}, "null"])
def test_partitioned_gives_the_results_of_one_device(grad_req):
    net = _network()
    whole = net.simple_bind(mx.cpu(), grad_req, data=(4, 5))
    parts = net.simple_bind(mx.cpu(), grad_req, group2ctx=GROUPS, data=(4, 5))
    assert isinstance(parts.program, PartitionedProgram)
    for ours, theirs in zip(_step(parts), _step(whole), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_arrays_stay_on_their_devices():
    executor = _network().simple_bind(mx.cpu(), group2ctx=GROUPS, data=(4, 5))
    _step(executor, 1)
    for array in [*executor.arg_arrays, *executor.grad_arrays, *executor.aux_arrays]:
        assert array.jax.devices() == {array.context.device}
    assert executor.outputs[0].context == mx.cpu(1)


def test_ungrouped_variables_may_be_on_any_device():
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    with _scope("a"):
        net = mx.sym.BatchNorm(x * w, name="bn", fix_gamma=True)
    places = {"x": mx.cpu(3), "w": mx.cpu(1), "bn_gamma": mx.cpu(2), "bn_beta": mx.cpu(2)}
    shapes = {"x": (4, 2), "w": (4, 2), "bn_gamma": (2,), "bn_beta": (2,)}
    args = {n: mx.nd.ones(shapes[n], ctx=c) * 3 for n, c in places.items()}
    grads = {n: mx.nd.zeros(shapes[n], ctx=c) for n, c in places.items()}
    aux = [mx.nd.zeros(2, ctx=mx.cpu(2)), mx.nd.ones(2, ctx=mx.cpu(2))]
    aux_before = [a.asnumpy() for a in aux]
    executor = mx.sym.Group([net, x]).bind(
        mx.cpu(), args, grads, aux_states=aux, group2ctx={"a": mx.cpu(2)}
    )
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.ones((4, 2), ctx=o.context) for o in outputs])
    for array in [*outputs, *args.values(), *grads.values(), *aux]:
        assert array.jax.devices() == {array.context.device}
    assert args["bn_gamma"].asnumpy().tolist() == [1, 1]
    assert grads["bn_beta"].asnumpy().tolist() == [4, 4]
    assert outputs[1].asnumpy().tolist() == [[3, 3]] * 4
    assert aux[0].asnumpy().tolist() != aux_before[0].tolist()


def test_equal_parts_share_their_program():
    net = mx.sym.Variable("x")
    for group in ("a", "b", "a", "b"):
        with _scope(group):
            net = mx.sym.tanh(mx.sym.sin(net))
    before = cache_info()
    executor = net.simple_bind(mx.cpu(), group2ctx=GROUPS, x=(5,))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(5, ctx=mx.cpu(2)))
    mx.nd.waitall()
    assert cache_info().misses - before.misses == 1
    # One forward and one backward, lowered once for each of the two devices.
    assert executor.program.traces == 4 * 2


def test_compile_makes_the_first_step_free_of_traces():
    executor = _network().simple_bind(mx.cpu(), group2ctx=GROUPS, data=(4, 5)).compile(True)
    traces = executor.program.traces
    _step(executor, 1)
    assert executor.program.traces == traces
    assert executor.program.flops() > 0
    assert executor.program.memory()["arguments"] > 0
    assert executor.program.analyse().function == "3 segments"
    assert executor.program.compile_seconds > 0


def test_segments_without_a_gradient():
    with _scope("a"):
        fixed = mx.sym.sin(mx.sym.Variable("x"))
    with _scope("b"):
        net = mx.sym.MakeLoss(fixed * mx.sym.Variable("w"))
    executor = net.simple_bind(mx.cpu(), {"w": "write"}, group2ctx=GROUPS, x=(3,), w=(3,))
    executor.arg_dict["x"][:] = 2
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["w"].asnumpy(), np.sin([2, 2, 2]), 1e-6)
