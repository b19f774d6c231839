"""``backward``: heads, head gradients, retained and used graphs."""

from __future__ import annotations

from typing import Any

from ._facts import attempt, attempts, leaf, recorded, script


@script
def twice(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    y.backward()
    return attempt(mx, y.backward), x.grad


@script
def retained(mx):
    seen = []
    for req in ("write", "add"):
        x = leaf(mx, req=req)
        y = recorded(mx, lambda x=x: x * x)
        for _ in range(2):
            y.backward(retain_graph=True)
        y.backward(mx.nd.array([10.0, 20.0]))
        seen += [x.grad, attempt(mx, y.backward)]
    return seen


@script
def not_recorded(mx):
    x, c = leaf(mx), mx.nd.ones((2,))
    outside = x * x
    unmarked = recorded(mx, lambda: c * c)
    return attempts(
        mx, outside=outside.backward, unmarked=unmarked.backward, array=c.backward,
        several=lambda: mx.autograd.backward([outside]),
    )  # fmt: skip


@script
def of_a_leaf(mx):
    seen = []
    for req in ("write", "add", "null"):
        x = leaf(mx, req=req)
        seen.append(attempt(mx, x.backward))
        seen.append(attempt(mx, lambda x=x: x.backward(mx.nd.array([5.0, 6.0]))))
        seen.append(None if req == "null" else x.grad)
    return seen


@script
def head_gradients(mx):
    nd, ag = mx.nd, mx.autograd
    h = nd.array([3.0, 4.0])
    seen: dict[str, Any] = {}
    for name, heads in {
        "none": lambda y, z, x: ag.backward([y, z]),
        "all None": lambda y, z, x: ag.backward([y, z], [None, None]),
        "second": lambda y, z, x: ag.backward([y, z], [None, h]),
        "first": lambda y, z, x: ag.backward([y, z], [h, None]),
        "both": lambda y, z, x: ag.backward([y, z], [h, h * 2]),
        "tuple": lambda y, z, x: ag.backward((y, z), (h, h * 2)),
        "same head twice": lambda y, z, x: ag.backward([y, y], [h, h * 2]),
        "alone": lambda y, z, x: ag.backward(y, h),
        "alone in list": lambda y, z, x: ag.backward(y, [h]),
        "method": lambda y, z, x: y.backward(h),
        "keyword": lambda y, z, x: y.backward(out_grad=h),
        "head is a leaf too": lambda y, z, x: ag.backward([y, x], [h, h]),
    }.items():
        x = leaf(mx)
        with ag.record():
            y = x * x
            z = y * x
        seen[name] = [attempt(mx, lambda f=heads, y=y, z=z, x=x: f(y, z, x)), x.grad]
    return seen


@script
def head_gradient_refusals(mx):
    nd, ag = mx.nd, mx.autograd
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    return attempts(
        mx,
        number=lambda: y.backward(3.0),
        fewer=lambda: ag.backward([y, y], [nd.ones((2,))]),
        more=lambda: ag.backward([y], [nd.ones((2,)), nd.ones((2,))]),
        list_for_array=lambda: ag.backward([y], nd.ones((2,))),
        no_heads=lambda: ag.backward([]),
        text=lambda: ag.backward("y"),
        still_there=lambda: [y.backward(), x.grad],
    )


@script
def head_gradient_of_another_shape(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    return attempt(mx, lambda: [y.backward(mx.nd.array([1.0, 2.0, 3.0])), x.grad])


@script
def head_gradient_of_as_many_elements(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: (x * x).reshape((2, 1)))
    head = mx.nd.array([1.0, 3.0])
    asked = mx.autograd.grad(y, [x], head_grads=head, retain_graph=True)
    return attempt(mx, lambda: [asked, y.backward(head), x.grad])


@script
def head_gradient_of_another_dtype(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    return attempt(mx, lambda: [y.backward(mx.nd.array([1.0, 2.0], dtype="float64")), x.grad])


@script
def head_gradient_is_the_leaf_or_its_gradient(mx):
    x = leaf(mx)
    recorded(mx, lambda: x * x).backward(x)
    first = x.grad.copy()
    recorded(mx, lambda: x * x).backward(x.grad)
    return first, x.grad


@script
def head_gradient_is_changed_later(mx):
    x, h = leaf(mx), mx.nd.array([3.0, 4.0])
    y = recorded(mx, lambda: x * x)
    y.backward(h)
    h[:] = 100
    return x.grad


@script
def head_gradient_is_recorded(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        h = x * 3
    y.backward(h)
    first = x.grad.copy()
    h.backward()
    return first, x.grad


@script
def inside_record(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        y.backward()
        first = x.grad.copy()
        z = x * x.grad
        z.backward()
    return first, x.grad


@script
def head_and_its_ancestor(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        z = y * 3
    mx.autograd.backward([z, y])
    return x.grad, attempts(mx, y=y.backward, z=z.backward)


@script
def heads_without_gradient(mx):
    """One head of several was not recorded."""
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    other = mx.nd.ones((2,))
    return attempt(mx, lambda: mx.autograd.backward([y, other])), attempt(mx, y.backward), x.grad


@script
def returns_nothing(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    return y.backward(retain_graph=True), mx.autograd.backward(y)


@script
def many_uses_of_one_array(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x
        for _ in range(12):
            y = y + x * y * 0.1
    y.backward()
    return y, x.grad


@script
def gradients_of_operators_are_added(mx):
    nd = mx.nd
    functions = {
        "mean": lambda x: x.mean(), "sum": lambda x: x.sum(), "copy": lambda x: x.copy(),
        "identity": nd.identity, "reshape": lambda x: x.reshape((2, 1)), "x + 1": lambda x: x + 1,
        "-x": lambda x: -x, "x + x": lambda x: x + x, "x[0]": lambda x: x[0], "norm": nd.norm,
        "concat": lambda x: nd.concat(x, x, dim=0), "softmax": nd.softmax, "max": nd.max,
        "broadcast_to": lambda x: x.reshape((1, 2)).broadcast_to((3, 2)),
        "dot": lambda x: nd.dot(x, x), "slice": lambda x: x.slice(begin=0, end=1),
        "take": lambda x: x.take(nd.array([1, 1])), "astype": lambda x: x.astype("float64"),
        "dropout": lambda x: nd.Dropout(x, p=0.0), "tanh": nd.tanh,
        "where": lambda x: nd.where(x, x, x),
        "layer norm": lambda x: nd.LayerNorm(x.reshape((1, 2)), nd.ones((2,)), nd.ones((2,))),
    }  # fmt: skip
    seen = {}
    for name, function in functions.items():
        x = leaf(mx, [1.0, 3.0], "add")
        x.grad[:] = 10
        for _ in range(2):
            recorded(mx, function, x).backward()
        seen[name] = x.grad
    return seen


@script
def two_leaves_two_heads(mx):
    seen = []
    for reqs in (("write", "add"), ("add", "null"), ("null", "write")):
        a, b = leaf(mx, [1.0, 2.0], reqs[0]), leaf(mx, [3.0, 4.0], reqs[1])
        for _ in range(2):
            with mx.autograd.record():
                y, z = a * b, a + b * b
            mx.autograd.backward([y, z], [None, mx.nd.array([10.0, 100.0])])
        seen.append([x.grad for x, r in ((a, reqs[0]), (b, reqs[1])) if r != "null"])
    return seen
