"""``autograd.Function`` and ``Custom``: gradients that a user writes."""

from __future__ import annotations

from typing import Any

from ._facts import attempt, attempts, flags, leaf, recorded, script


def _double(mx: Any, seen: Any = None) -> Any:
    """A function ``2 x`` whose gradient says 5 instead."""

    class Double(mx.autograd.Function):
        def forward(self, x):
            if seen is not None:
                seen.append(flags(mx))
            return x * 2

        def backward(self, dy):
            if seen is not None:
                seen.append(flags(mx))
            return dy * 5

    return Double


@script
def function(mx):
    modes = []
    double = _double(mx, modes)
    x = leaf(mx)
    with mx.autograd.record():
        y = double()(x) * x
        after = flags(mx)
    y.backward()
    return y, x.grad, modes, after


@script
def function_outside_record(mx):
    modes = []
    x = leaf(mx)
    y = _double(mx, modes)()(x)
    return y, modes, attempt(mx, y.backward)


@script
def function_without_training(mx):
    modes = []
    x = leaf(mx)
    with mx.autograd.record(train_mode=False):
        y = _double(mx, modes)()(x)
    y.backward()
    mx.nd.waitall()
    return modes, x.grad


@script
def function_of_constants(mx):
    y = recorded(mx, lambda: _double(mx)()(mx.nd.ones((2,))))
    return y, attempt(mx, y.backward)


@script
def one_instance_twice(mx):
    x = leaf(mx)
    instance = _double(mx)()
    with mx.autograd.record():
        y = instance(x)
        second = attempt(mx, lambda: instance(x))
        recording = flags(mx)
    return second, recording, attempt(mx, lambda: [y.backward(), x.grad])


@script
def saved_tensors(mx):
    class Sigmoid(mx.autograd.Function):
        def forward(self, x):
            y = 1 / (1 + mx.nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    x = leaf(mx)
    seen = []
    for _ in range(2):
        with mx.autograd.record():
            y = Sigmoid()(x * 2) * 3
        y.backward()
        seen.append([y, x.grad.copy()])
    return seen


@script
def several_inputs_and_outputs(mx):
    given = []

    class Pair(mx.autograd.Function):
        def forward(self, a, b):
            return a * b, a + b

        def backward(self, dp, ds):
            given.append([dp.copy(), ds.copy()])
            return dp * 2 + ds, dp * 3 + ds

    seen = []
    for use in ("both", "first", "second"):
        a, b = leaf(mx), leaf(mx, [3.0, 4.0])
        with mx.autograd.record():
            p, s = Pair()(a, b)
            y = {"both": p * 10 + s, "first": p * 10, "second": s * 7}[use]
        y.backward()
        seen.append([a.grad, b.grad])
    return seen, given


@script
def function_requests(mx):
    """The gradient of a function at a leaf with 'add' and 'null'."""

    class Sum(mx.autograd.Function):
        def forward(self, a, b):
            return a + b

        def backward(self, dy):
            return dy * 2, dy * 3

    seen = {}
    for req in ("write", "add", "null"):
        a, b = leaf(mx, req=req), leaf(mx)
        for _ in range(2):
            recorded(mx, lambda a=a, b=b: Sum()(a, b)).backward()
        seen[req] = [None if req == "null" else a.grad, b.grad]
    return seen


@script
def function_adds_through_an_operator(mx):
    x = leaf(mx, req="add")
    for _ in range(2):
        recorded(mx, lambda: _double(mx)()(x * 1)).backward()
    return x.grad


def _gives(mx: Any, forward: Any, backward: Any) -> Any:
    """A function class of two Python functions."""

    class Gives(mx.autograd.Function):
        def forward(self, x):
            return forward(x)

        def backward(self, dy):
            return backward(dy)

    return Gives


def _fails(value: Any) -> Any:
    raise KeyError("in a function")


@script
def wrong_functions(mx):
    def run(forward, backward):
        x = leaf(mx)
        with mx.autograd.record():
            y = _gives(mx, forward, backward)()(x) * 1
        y.backward()
        return x.grad

    return attempts(
        mx,
        many=lambda: run(lambda x: x * 2, lambda dy: (dy, dy)),
        nothing=lambda: run(lambda x: x * 2, lambda dy: None),
        fails=lambda: run(lambda x: x * 2, _fails),
        number=lambda: run(lambda x: 3, lambda dy: dy),
    )


@script
def exception_in_forward_and_the_flag(mx):
    class Raises(mx.autograd.Function):
        def forward(self, x):
            raise KeyError("in forward")

        def backward(self, dy):
            return dy

    x = leaf(mx)
    with mx.autograd.record():
        seen = attempt(mx, lambda: Raises()(x))
        after = flags(mx)
    return seen, after, flags(mx)


@script
def functions_in_functions(mx):
    double = _double(mx)

    class Outer(mx.autograd.Function):
        def forward(self, x):
            self.x = x
            return double()(x) * x

        def backward(self, dy):
            with mx.autograd.record():
                x = self.x.copy()
                x.attach_grad()
                y = x * x * 2
            y.backward(dy)
            return x.grad

    x = leaf(mx)
    with mx.autograd.record():
        y = Outer()(x * 1) + x
    y.backward()
    return y, x.grad


@script
def function_with_retained_graph(mx):
    calls = []

    class Counted(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            calls.append(1)
            return dy * len(calls)

    x = leaf(mx)
    y = recorded(mx, lambda: Counted()(x) * 1)
    y.backward(retain_graph=True)
    first = x.grad.copy()
    y.backward()
    mx.nd.waitall()
    return first, x.grad, len(calls)


@script
def function_is_read_and_sliced(mx):
    x = leaf(mx, [[1.0, 2.0], [3.0, 4.0]])
    with mx.autograd.record():
        y = _double(mx)()(x)
        value = y.asnumpy()
        z = y[0] * 2 + y[1].sum()
    z.backward()
    return value, x.grad


@script
def function_of_a_chain(mx):
    double, x = _double(mx), leaf(mx)
    with mx.autograd.record():
        y = double()(double()(x * 3) * x)
    y.backward()
    first = x.grad.copy()
    with mx.autograd.record():
        y = double()(x)
    (g,) = mx.autograd.grad(y, [x])
    return first, g


def _register(mx: Any, name: str, modes: Any = None) -> None:
    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            if modes is not None:
                modes.append(bool(is_train))
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * in_data[0] * 7)

    class SquareProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=True)

        def create_operator(self, ctx, shapes, dtypes):
            return Square()

    mx.operator.register(name)(SquareProp)


@script
def custom_operator(mx):
    modes = []
    _register(mx, "autograd_square", modes)
    x = leaf(mx)
    outside = mx.nd.Custom(x, op_type="autograd_square")
    outside.wait_to_read()
    with mx.autograd.record():
        y = mx.nd.Custom(x * 2, op_type="autograd_square") * 3
        y.wait_to_read()
    with mx.autograd.record(train_mode=False):
        mx.nd.Custom(x, op_type="autograd_square").wait_to_read()
    y.backward()
    return outside, y, x.grad, modes


@script
def custom_operator_adds(mx):
    _register(mx, "autograd_square_add")
    x = leaf(mx, req="add")
    for _ in range(2):
        recorded(mx, lambda: mx.nd.Custom(x, op_type="autograd_square_add")).backward()
    return x.grad


@script
def custom_operator_steps(mx):
    _register(mx, "autograd_square_steps")
    x, seen = leaf(mx), []
    for _ in range(3):
        with mx.autograd.record():
            y = mx.nd.Custom(mx.nd.sin(x), op_type="autograd_square_steps").sum()
        y.backward()
        x -= 0.05 * x.grad
        seen.append([y, x.copy()])
    return seen, attempts(mx, used=y.backward)
