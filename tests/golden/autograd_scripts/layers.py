"""Layers with modes, states and random numbers."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, leaf, recorded, script

_X = np.array([[1.0, 10.0], [3.0, 20.0], [5.0, 60.0]], "float32")


def _norm(mx, reqs=("write", "write"), **attrs):
    nd = mx.nd
    gamma, beta = leaf(mx, [2.0, 3.0], reqs[0]), leaf(mx, [0.5, 1.0], reqs[1])
    mean, var = nd.zeros((2,)), nd.ones((2,))
    attrs = {"fix_gamma": False, "momentum": 0.5, "eps": 1e-3, **attrs}

    def call(x):
        return nd.BatchNorm(x, gamma, beta, mean, var, **attrs)

    return call, gamma, beta, mean, var


@script
def batch_norm_statistics(mx):
    call, gamma, beta, mean, var = _norm(mx)
    x = leaf(mx, _X)
    seen = {"eager": [call(x), mean.copy(), var.copy()]}
    with mx.autograd.train_mode():
        seen["train_mode"] = [call(x), mean.copy(), var.copy()]
    with mx.autograd.record():
        y = call(x)
    seen["recorded"] = [y, mean.copy(), var.copy()]
    y.backward(mx.nd.array(_X * _X), retain_graph=True)
    seen["backward"] = [mean.copy(), var.copy(), x.grad.copy(), gamma.grad.copy(), beta.grad.copy()]
    y.backward()
    seen["second backward"] = [mean.copy(), var.copy()]
    seen["inference"] = [call(x)]
    with mx.autograd.record(train_mode=False):
        y = call(x)
    y.backward(mx.nd.array(_X * _X))
    seen["recorded without training"] = [y, mean, var, x.grad, gamma.grad, beta.grad]
    return seen


@script
def batch_norm_differentiated_as_in_inference(mx):
    seen = {}
    w_values = [[0.5, -1.0], [2.0, 1.0]]
    for fixed in (False, True):
        for how in ("backward", "grad"):
            call, gamma, beta, mean, var = _norm(mx, fix_gamma=fixed)
            x, w = leaf(mx, _X), leaf(mx, w_values)
            with mx.autograd.record():
                loss = (mx.nd.dot(mx.nd.relu(call(x * 2)), w) ** 2).sum()
            if how == "backward":
                loss.backward(train_mode=False)
                grads = [x.grad, gamma.grad, beta.grad, w.grad]
            else:
                grads = mx.autograd.grad(loss, [x, gamma, beta, w], train_mode=False)
            seen[f"{how}, {fixed}"] = [loss, *grads, mean, var]
    return seen


@script
def batch_norm_with_nothing_marked_upstream(mx):
    seen = {}
    for name, reqs, marked in (
        ("all null", ("null", "null"), False), ("data marked", ("null", "null"), True),
        ("gamma", ("write", "null"), False), ("beta", ("null", "write"), False),
        ("add", ("add", "add"), False),
    ):  # fmt: skip
        call, _gamma, _beta, mean, var = _norm(mx, reqs)
        x, w = mx.nd.array(_X), leaf(mx, [1.0, 1.0])
        if marked:
            x.attach_grad()
        with mx.autograd.record():
            y = call(x) * w
        y.backward()
        seen[name] = [mean, var, w.grad]
    return seen


@script
def batch_norm_called_twice(mx):
    call, _gamma, _beta, mean, var = _norm(mx)
    a, b = mx.nd.ones((3, 2)), mx.nd.ones((3, 2)) * 10
    with mx.autograd.record():
        y = call(a) + call(b)
    y.backward()
    return mean, var


@script
def batch_norm_of_two_graphs(mx):
    call, _gamma, _beta, mean, _var = _norm(mx)
    a, b = mx.nd.ones((3, 2)), mx.nd.ones((3, 2)) * 10
    with mx.autograd.record():
        y = call(a)
        z = call(b)
    seen = []
    z.backward()
    seen.append(mean.copy())
    seen.append(attempt(mx, y.backward))
    return [*seen, mean]


@script
def batch_norm_fixed_gamma(mx):
    call, gamma, beta, _mean, _var = _norm(mx, fix_gamma=True)
    x = leaf(mx, _X)
    with mx.autograd.record():
        y = call(x)
    seen = [gamma.copy()]
    y.backward(mx.nd.array(_X * _X))
    return [*seen, y, gamma, gamma.grad, beta.grad, x.grad]


@script
def batch_norm_global_statistics(mx):
    call, gamma, _beta, mean, var = _norm(mx, use_global_stats=True)
    x = leaf(mx, _X)
    with mx.autograd.record():
        y = call(x)
    y.backward(mx.nd.array(_X * _X))
    return y, mean, var, gamma.grad, x.grad


@script
def batch_norm_more_outputs(mx):
    call, _gamma, _beta, _mean, _var = _norm(mx, output_mean_var=True)
    x = leaf(mx, _X)
    with mx.autograd.record():
        y, m, v = call(x)
        z = y * 2
    z.backward()
    return len([y, m, v]), y, m, x.grad


@script
def batch_norm_steps(mx):
    call, gamma, beta, mean, var = _norm(mx)
    seen = []
    for i in range(3):
        x = mx.nd.array(_X + i)
        with mx.autograd.record():
            loss = (call(x) ** 2).sum()
        loss.backward()
        for p in (gamma, beta):
            p[:] = p - 0.01 * p.grad
        seen.append([loss, mean.copy(), var.copy(), gamma.copy(), beta.copy()])
    return seen


@script
def statistics_are_read_before_and_after_backward(mx):
    call, _gamma, _beta, mean, _var = _norm(mx)
    with mx.autograd.record():
        y = call(mx.nd.array(_X))
        first = mean.asnumpy()
        z = y * y
    second = mean.asnumpy()
    z.backward()
    return first, second, mean


@script
def statistics_are_written_before_backward(mx):
    call, _gamma, _beta, mean, _var = _norm(mx)
    with mx.autograd.record():
        y = call(mx.nd.array(_X))
    mean[:] = 100
    y.backward()
    return mean


@script
def dropout_masks(mx):
    """The mask of forward is that of backward, whether it is read before, later, or not at all."""
    seen = []
    for read in (False, True):
        for again in (False, True):
            mx.random.seed(5)
            x = leaf(mx, [1.0] * 64)
            with mx.autograd.record():
                y = mx.nd.Dropout(x, p=0.5)
                if read:
                    y.wait_to_read()
                z = mx.nd.Dropout(y, p=0.25) if again else y
            z.backward()
            seen.append(bool((x.grad.asnumpy() == z.asnumpy()).all()))
    return seen


@script
def dropout_masks_are_those_of_the_seed(mx):
    masks = []
    for read in (False, True, False):
        mx.random.seed(5)
        x = leaf(mx, [1.0] * 64)
        with mx.autograd.record():
            y = mx.nd.Dropout(x, p=0.5)
            if read:
                y.wait_to_read()
            z = mx.nd.Dropout(x, p=0.5)
        mx.autograd.backward([y, z])
        masks.append(np.concatenate([y.asnumpy(), z.asnumpy(), x.grad.asnumpy()]))
    same = [bool((m == masks[0]).all()) for m in masks]
    first, second = masks[0][:64], masks[0][64:128]
    return same, bool((first == second).all())


@script
def random_operators(mx):
    """Samples are constants of the graph, and gradients flow past them."""
    nd, x = mx.nd, leaf(mx, [1.0] * 8)
    with mx.autograd.record():
        noise = nd.random.normal(shape=(8,))
        y = x * x + noise * x
        z = nd.random.uniform(x * 0, x * 2)
    y.backward()
    expected = 2 + noise.asnumpy()
    return (
        bool(np.allclose(x.grad.asnumpy(), expected)),
        attempt(mx, lambda: [z.backward(), x.grad.shape]),
        attempt(mx, noise.backward),
    )


@script
def frozen_weights(mx):
    """A layer of which only the bias, or only the weight, is trained."""
    nd, x = mx.nd, mx.nd.array(_X)
    seen = []
    for reqs in (("null", "write"), ("write", "null"), ("null", "add")):
        w, b = leaf(mx, [[1.0, 2.0]], reqs[0]), leaf(mx, [0.5], reqs[1])
        for _ in range(2):
            y = recorded(mx, lambda w=w, b=b: nd.FullyConnected(x, w, b, num_hidden=1))
            y.backward()
        seen.append([a.grad for a in (w, b) if a.grad is not None])
    return seen


@script
def losses(mx):
    """Layers that give gradients of their own whatever the head gradient is."""
    nd = mx.nd
    data, label = np.array([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]]), nd.array([1, 2])
    seen = {}
    for name, function in {
        "SoftmaxOutput": lambda x: nd.SoftmaxOutput(x, label),
        "LinearRegressionOutput": lambda x: nd.LinearRegressionOutput(x, nd.ones((2, 3))),
        "MakeLoss": lambda x: nd.MakeLoss(x * x), "make_loss": lambda x: nd.make_loss(x * x),
        "softmax_cross_entropy": lambda x: nd.softmax_cross_entropy(x, label),
        "smooth_l1": lambda x: nd.smooth_l1(x, scalar=1.0),
        "log_softmax and pick": lambda x: -nd.pick(nd.log_softmax(x), label),
    }.items():  # fmt: skip

        def run(function=function):
            x = leaf(mx, data)
            y = recorded(mx, lambda: function(x))
            y.backward(mx.nd.ones(y.shape) * 3)
            return y, x.grad

        seen[name] = attempt(mx, run)
    return seen


@script
def recurrent_layer(mx):
    nd = mx.nd
    size = 4 * 2 * (3 + 2 + 2)
    weights = np.sin(np.arange(size)).astype("float32")
    x, w = leaf(mx, np.cos(np.arange(12)).reshape(2, 2, 3)), leaf(mx, weights)
    h, c = leaf(mx, np.zeros((1, 2, 2))), leaf(mx, np.ones((1, 2, 2)))
    with mx.autograd.record():
        y, hn, cn = nd.RNN(x, w, h, c, state_size=2, num_layers=1, mode="lstm", state_outputs=True)
        loss = (y * y).sum() + (hn * cn).sum()
    loss.backward()
    return y, hn, cn, x.grad, w.grad, h.grad, c.grad


@script
def small_network(mx):
    nd = mx.nd
    x = nd.array(np.sin(np.arange(2 * 36)).reshape(2, 1, 6, 6))
    k, b = leaf(mx, np.cos(np.arange(18)).reshape(2, 1, 3, 3)), leaf(mx, [0.1, 0.2])
    w, v = leaf(mx, np.sin(np.arange(24)).reshape(3, 8) / 4), leaf(mx, [0.0, 0.1, 0.2])
    label = nd.array([0, 2])
    seen = []
    for _ in range(3):
        with mx.autograd.record():
            h = nd.Activation(nd.Convolution(x, k, b, kernel=(3, 3), num_filter=2), act_type="relu")
            h = nd.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="max").flatten()
            y = nd.FullyConnected(h, w, v, num_hidden=3)
            loss = -nd.pick(nd.log_softmax(y), label).mean()
        loss.backward()
        seen.append([loss, y])
        for p in (k, b, w, v):
            p -= 0.1 * p.grad
    return seen, k, b, w, v
