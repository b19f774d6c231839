"""Operators written in Python: in a graph, in an executor, eagerly, and when they are wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import operator
from executorkit.errors import MXNetError, UnknownOperatorError
from executorkit.ops import custom


@pytest.fixture(autouse=True)
def forget_what_a_test_registers(monkeypatch):
    monkeypatch.setattr(custom, "_op_factories", dict(custom._op_factories))


def scale_operator(name: str = "scale", seen: list[str] | None = None) -> list[str]:
    """Registers ``data * by``, with a state that counts forwards; returns the log of its calls."""
    log = [] if seen is None else seen

    class Scale(operator.CustomOp):
        def __init__(self, by: float) -> None:
            self.by = by

        def forward(self, is_train, req, in_data, out_data, aux):
            log.append(f"forward {is_train} {req} {in_data[0].shape}")
            self.assign(out_data[0], req[0], in_data[0] * self.by)
            aux[0][:] = aux[0] + 1

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            log.append(f"backward {req} {out_data[0].shape} {aux[0].asscalar()}")
            self.assign(in_grad[0], req[0], out_grad[0] * self.by)

    @operator.register(name)
    class ScaleProp(operator.CustomOpProp):
        def __init__(self, by: str = "2", **kwargs: Any) -> None:
            super().__init__()
            log.append(f"prop by={by!r} {kwargs}")
            self.by = float(by)

        def list_auxiliary_states(self):
            return ["count"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], [[1]]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            log.append(f"create {ctx} {in_shapes} {in_dtypes}")
            return Scale(self.by)

    return log


def softmax_loss() -> None:
    """Registers MXNet's tutorial example: a softmax loss in NumPy, with a label."""

    class Softmax(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
            y /= y.sum(axis=1).reshape((x.shape[0], 1))
            self.assign(out_data[0], req[0], mx.nd.array(y))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            label = in_data[1].asnumpy().ravel().astype(np.int64)
            y = out_data[0].asnumpy()
            y[np.arange(label.shape[0]), label] -= 1.0
            self.assign(in_grad[0], req[0], mx.nd.array(y))

    @operator.register("softmax")
    class SoftmaxProp(operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Softmax()


def test_graph_names_shapes_and_attributes():
    log = scale_operator()
    net = mx.sym.Custom(mx.sym.var("x"), name="c", op_type="scale", by=3, z=(1, 2))
    assert log == ["prop by='3' {'z': '(1, 2)'}"]
    assert net.list_arguments() == ["x"]
    assert net.list_outputs() == ["c_output"]
    assert net.list_auxiliary_states() == ["c_count"]
    assert net.attr_dict()["c"] == {"by": "3", "op_type": "scale", "z": "(1, 2)"}
    assert net.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [(1,)])
    assert net.infer_type(x="float64")[1] == [np.float64]
    again = mx.sym.load_json(net.tojson())
    assert again.list_auxiliary_states() == ["c_count"]
    assert len(log) == 1


def test_executor_calls_each_method_once():
    log = scale_operator()
    net = mx.sym.Custom(mx.sym.var("x"), name="c", op_type="scale", by=3) + 1
    exe = net.simple_bind(mx.cpu(), x=(2, 2), grad_req="add")
    exe.arg_dict["x"][:] = np.arange(4.0).reshape(2, 2)
    del log[:]
    (out,) = exe.forward(is_train=True)
    np.testing.assert_array_equal(out.asnumpy(), [[1, 4], [7, 10]])
    assert log == ["create cpu(0) [[2, 2], [1]] [0, 0]", "forward True ['write'] (2, 2)"]
    assert exe.aux_dict["c_count"].asscalar() == 1
    head = mx.nd.array([[1, 2], [3, 4]])
    exe.backward(head)
    exe.backward(head)
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [[6, 12], [18, 24]])
    assert log[2:] == ["backward ['write'] (2, 2) 1.0"] * 2
    exe.forward(is_train=True)
    mx.nd.waitall()
    assert log[4:] == ["forward True ['write'] (2, 2)"]
    assert exe.aux_dict["c_count"].asscalar() == 2


@pytest.mark.usefixtures("automatic")
def test_first_calls_compile_nothing():
    log = scale_operator()
    exe = mx.sym.Custom(mx.sym.var("x"), op_type="scale", by=7).simple_bind(mx.cpu(), x=(2, 2))
    for _ in range(3):
        exe.forward(is_train=True)
        exe.backward(mx.nd.ones((2, 2)))
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [[7, 7], [7, 7]])
    assert [line.split()[0] for line in log[-6:]] == ["forward", "backward"] * 3
    assert sum(function.executables for function in exe.program.functions) == 0


def test_inference_says_so_and_keeps_counting():
    log = scale_operator()
    exe = mx.sym.Custom(mx.sym.var("x"), name="c", op_type="scale").simple_bind(mx.cpu(), x=(1,))
    for _ in range(2):
        exe.forward(is_train=False, x=mx.nd.ones((1,)))
    assert [line for line in log if "forward" in line] == ["forward False ['write'] (1,)"] * 2
    assert exe.aux_dict["c_count"].asscalar() == 2


def test_training_and_inference_share_an_object_and_executors_do_not():
    class Centre(operator.CustomOp):
        mean = 0.0

        def forward(self, is_train, req, in_data, out_data, aux):
            if is_train:
                self.mean = in_data[0].mean().asscalar()
            self.assign(out_data[0], req[0], in_data[0] - self.mean)

    @operator.register("centre")
    class CentreProp(operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Centre()

    x = mx.sym.var("x")
    net = mx.sym.Custom(x, op_type="centre") + mx.sym.Custom(2 * x, op_type="centre")
    exe, other = (net.simple_bind(mx.cpu(), x=(1,)) for _ in range(2))
    assert exe.forward(is_train=True, x=mx.nd.array([4]))[0].asscalar() == 0
    assert exe.forward(is_train=False, x=mx.nd.array([5]))[0].asscalar() == 3
    assert other.forward(is_train=False, x=mx.nd.array([5]))[0].asscalar() == 15


def test_loss_needs_no_head_gradient_and_infers_its_label():
    softmax_loss()
    net = mx.sym.Custom(data=mx.sym.var("data"), name="softmax", op_type="softmax")
    theirs = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("f4")
    results = []
    for symbol in (net, theirs):
        exe = symbol.simple_bind(mx.cpu(), data=(4, 3))
        assert exe.arg_dict["softmax_label"].shape == (4,)
        (out,) = exe.forward(is_train=True, data=x, softmax_label=np.array([0, 2, 1, 1], "f4"))
        exe.backward()
        grads = exe.grad_dict
        results.append((out.asnumpy(), grads["data"].asnumpy(), grads["softmax_label"].asnumpy()))
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def test_several_outputs_types_and_slice_assignment():
    class Split(operator.CustomOp):
        def forward(self, in_data, out_data, **kwargs):  # MXNet calls them by name, in any order
            out_data[0][:] = in_data[0].asnumpy().astype("f4")
            out_data[1][0:1] = 7

        def backward(self, in_grad, out_grad, **kwargs):
            in_grad[0][:] = out_grad[0]
            in_grad[0][1:2] += 5

    @operator.register("split_types")
    class SplitProp(operator.CustomOpProp):
        def list_outputs(self):
            return ["low", "flag"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0], (2,)]

        def infer_type(self, in_type):
            return in_type, [np.float32, np.int32], []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            assert in_dtypes == [1]
            return Split()

    net = mx.sym.Custom(mx.sym.var("x"), name="s", op_type="split_types")
    assert net.list_outputs() == ["s_low", "s_flag"]
    exe = net.simple_bind(mx.cpu(), x=(3,), type_dict={"x": "float64"})
    low, flag = exe.forward(is_train=True, x=mx.nd.array([1, 2, 3], dtype="float64"))
    assert (low.dtype, flag.dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(low.asnumpy(), [1, 2, 3])
    np.testing.assert_array_equal(flag.asnumpy(), [7, 0])
    exe.backward([mx.nd.ones((3,)), mx.nd.zeros((2,), dtype="int32")])
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [1, 6, 1])


def test_backward_meets_the_object_whose_forward_ran():
    class Masked(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.mask = in_data[0] > 0
            self.assign(out_data[0], req[0], in_data[0] * self.mask)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.mask)

    @operator.register("masked")
    class MaskedProp(operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Masked()

    x = mx.sym.var("x")
    net = mx.sym.Custom(x, op_type="masked") + mx.sym.Custom(-x, op_type="masked")
    exe = net.simple_bind(mx.cpu(), x=(3,))
    for look in (False, True):
        (out,) = exe.forward(is_train=True, x=mx.nd.array([-1, 2, 3]))
        if look:
            np.testing.assert_array_equal(out.asnumpy(), [1, 2, 3])
        exe.backward(mx.nd.array([1, 10, 100]))
        np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [-1, 10, 100])


def test_eager_call():
    scale_operator()
    out = mx.nd.Custom(mx.nd.ones((2,)), mx.nd.zeros((1,)), op_type="scale", by=4)
    np.testing.assert_array_equal(out.asnumpy(), [4, 4])


def test_registering_again_replaces():
    scale_operator("again")
    net = mx.sym.Custom(mx.sym.var("x"), name="c", op_type="again", by=3)
    first = net.simple_bind(mx.cpu(), x=(1,))
    first.forward(x=mx.nd.ones((1,)))
    log = scale_operator("again")
    second = net.simple_bind(mx.cpu(), x=(1,))
    for exe, calls in ((first, 0), (second, 1)):
        exe.forward(x=mx.nd.ones((1,)))
        assert sum(line.startswith("forward") for line in log) == calls


@pytest.mark.parametrize(
    ("req", "expected"), [("null", 1), ("write", 5), ("inplace", 5), ("add", 6)]
)
def test_assign(req, expected):
    array = mx.nd.ones((2,))
    operator.CustomOp().assign(array, req, mx.nd.array([5, 5]))
    np.testing.assert_array_equal(array.asnumpy(), [expected] * 2)


def test_backward_is_told_which_gradients_are_asked_for():
    requests = []

    class Product(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[1])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            requests.append(req)
            self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
            self.assign(in_grad[1], req[1], out_grad[0] * in_data[0])

    @operator.register("product")
    class ProductProp(operator.CustomOpProp):
        def list_arguments(self):
            return ["a", "b"]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Product()

    a, b = mx.sym.var("a"), mx.sym.var("b")
    for right, grad_req in ((b, {"a": "write"}), (b, "write"), (mx.sym.BlockGrad(b), "write")):
        net = mx.sym.Custom(2 * a, right, op_type="product")
        exe = net.simple_bind(mx.cpu(), grad_req=grad_req, a=(1,), b=(1,))
        exe.forward(is_train=True, a=mx.nd.array([3]), b=mx.nd.array([5]))
        exe.backward(mx.nd.ones((1,)))
        assert exe.grad_dict["a"].asscalar() == 10
    assert requests == [["write", "null"], ["write", "write"], ["write", "null"]]


def test_assign_refuses_what_is_no_request():
    with pytest.raises(ValueError, match=r"^req is 'twice', expected 'null', 'write', 'inplace'"):
        operator.CustomOp().assign(mx.nd.ones((2,)), "twice", 1)


def test_callbacks_of_large_arrays_run_operators_on_one_core():
    """The callback holds the only worker while it computes: that must not be a deadlock."""
    script = """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import executorkit as mx, numpy as np
        from executorkit import operator

        class Gram(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], mx.nd.dot(in_data[0], in_data[0].T))
            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                g = out_grad[0]
                self.assign(in_grad[0], req[0], mx.nd.dot(g + g.T, in_data[0]))

        @operator.register("gram")
        class GramProp(operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Gram()

        x = mx.sym.var("x")
        net = mx.sym.sum(mx.sym.Custom(mx.sym.dot(x, x), op_type="gram"))
        exe = net.simple_bind(mx.cpu(), x=(700, 700))
        exe.arg_dict["x"][:] = np.eye(700)
        for _ in range(3):
            (out,) = exe.forward(is_train=True)
            exe.backward(mx.nd.ones((1,)))
            print(out.asscalar(), exe.grad_dict["x"].asnumpy()[0, 0])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert done.stdout.split() == ["700.0", "4.0"] * 3, done.stderr


class TestErrors:
    def test_unregistered(self):
        with pytest.raises(UnknownOperatorError) as error:
            mx.sym.Custom(mx.sym.var("x"), op_type="nowhere")
        assert str(error.value) == (
            "operator Custom: op_type='nowhere' is not registered\n"
            "  try: @mx.operator.register(...) on a CustomOpProp, before the graph is made"
        )

    def test_not_a_prop(self):
        with pytest.raises(TypeError) as error:
            operator.register("x")(operator.CustomOp)  # type: ignore[type-var]
        assert str(error.value) == (
            "register('x') takes a subclass of CustomOpProp, "
            "not <class 'executorkit.operator.CustomOp'>"
        )

    def test_wrong_number_of_shapes(self):
        @operator.register("miscounted")
        class Miscounted(operator.CustomOpProp):
            def infer_shape(self, in_shape):
                return in_shape, [], []

        with pytest.raises(MXNetError) as error:
            mx.sym.Custom(mx.sym.var("x"), op_type="miscounted").infer_shape(x=(2,))
        assert (
            "custom operator 'miscounted': infer_shape answers for 0 outputs, it has 1\n"
            "  given by: Miscounted.infer_shape"
        ) in str(error.value)

    def test_an_error_of_forward_is_raised_to_the_caller(self):
        class Broken(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                raise KeyError("the user's own mistake")

        @operator.register("broken")
        class BrokenProp(operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Broken()

        exe = mx.sym.Custom(mx.sym.var("x"), op_type="broken").simple_bind(mx.cpu(), x=(2,))
        with pytest.raises(Exception, match="the user's own mistake"):
            exe.forward()[0].asnumpy()


def test_python_code_runs_in_the_modes_of_its_operator():
    """It is not recorded, and trains where its operator does: backward always."""
    seen = []

    class Look(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append((mx.autograd.is_recording(), mx.autograd.is_training(), is_train))
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            seen.append((mx.autograd.is_recording(), mx.autograd.is_training()))
            self.assign(in_grad[0], req[0], out_grad[0])

    @operator.register("look")
    class LookProp(operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Look()

    x = mx.nd.ones((2,))
    x.attach_grad()
    mx.nd.Custom(x, op_type="look").wait_to_read()
    with mx.autograd.train_mode():
        mx.nd.Custom(x, op_type="look").wait_to_read()
    with mx.autograd.record(train_mode=False):
        y = mx.nd.Custom(x, op_type="look")
        assert mx.autograd.is_recording()
    y.backward()
    executor = mx.sym.Custom(mx.sym.var("x"), op_type="look").bind(mx.cpu(), [x], [x.grad])
    executor.forward(is_train=True)
    executor.backward(x)
    executor.grad_arrays[0].wait_to_read()
    assert seen == [
        (False, False, False), (False, True, True), (False, False, False), (False, True),
        (False, True, True), (False, True),
    ]  # fmt: skip


def source_operator(name: str, states: tuple[str, ...], answers: dict[str, Any]) -> None:
    """Registers an operator without inputs: 3, plus the sum of its state, which counts."""

    class Source(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            total = aux[0].sum().asscalar() if aux else 0
            self.assign(out_data[0], req[0], mx.nd.ones(out_data[0].shape) * (3 + total))
            for state in aux:
                state[:] = state + 1

    @operator.register(name)
    class SourceProp(operator.CustomOpProp):
        def list_arguments(self):
            return []

        def list_auxiliary_states(self):
            return list(states)

        def infer_shape(self, in_shape):
            return answers["shape"]

        def infer_type(self, in_type):
            return answers["type"] if "type" in answers else super().infer_type(in_type)

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Source()


def test_an_operator_without_inputs():
    source_operator("source", (), {"shape": ([], [(2, 3)]), "type": ([], [np.float64])})
    result = mx.nd.Custom(op_type="source")
    assert result.dtype is np.float64
    assert result.asnumpy().tolist() == [[3] * 3] * 2
    symbol = mx.sym.Custom(op_type="source", name="c")
    assert (symbol.list_arguments(), symbol.list_outputs()) == ([], ["c_output"])
    assert symbol.infer_shape() == ([], [(2, 3)], [])
    assert symbol.infer_type() == ([], [np.float64], [])
    executor = symbol.simple_bind(mx.cpu())
    assert executor.forward()[0].asnumpy().tolist() == [[3] * 3] * 2
    x = mx.nd.ones((2, 3), dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(op_type="source") * x
    y.backward()
    assert x.grad.asnumpy().tolist() == [[3] * 3] * 2


def test_an_operator_with_states_alone():
    source_operator(
        "states",
        ("st",),
        {"shape": ([], [(2,)], [(2,)]), "type": ([], ["float32"] * 1, ["float32"])},
    )
    state = mx.nd.ones(2)
    assert mx.nd.Custom(state, op_type="states").asnumpy().tolist() == [5, 5]
    assert state.asnumpy().tolist() == [2, 2]
    with pytest.raises(MXNetError):
        mx.nd.Custom(op_type="states")
    symbol = mx.sym.Custom(op_type="states", name="c") + mx.sym.var("x")
    assert symbol.list_auxiliary_states() == ["c_st"]
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(2)])
    assert executor.outputs[0].asnumpy().tolist() == [3, 3]
    assert executor.grad_dict["x"].asnumpy().tolist() == [1, 1]
    assert executor.aux_dict["c_st"].asnumpy().tolist() == [1, 1]


def test_the_default_infer_type_asks_for_an_input():
    source_operator("untyped", (), {"shape": ([], [(2,)], [])})
    with pytest.raises(MXNetError, match="infer_type raised IndexError"):
        mx.nd.Custom(op_type="untyped")


def test_states_changed_by_backward_reach_the_next_forward():
    class Centre(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] - aux[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])
            aux[0][:] += 0.5 * out_data[0]

    @operator.register("centre")
    class CentreProp(operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["mean"]

        def infer_shape(self, in_shape):
            return in_shape, in_shape, in_shape

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Centre()

    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="centre", name="c")
    executor = symbol.simple_bind(mx.cpu(), x=(1,))
    seen = []
    for _ in range(3):
        seen.append(executor.forward(is_train=True, x=mx.nd.array([8.0]))[0].asscalar())
        executor.backward(mx.nd.ones(1))
    assert seen == [8, 4, 2]
    assert executor.forward()[0].asscalar() == 1
    assert executor.aux_dict["c_mean"].asscalar() == 7
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(1))
    executor.aux_dict["c_mean"][:] = 3
    assert executor.forward()[0].asscalar() == 5
