"""BatchNorm's side effects: when the moving statistics change, and when gamma is pinned to 1."""

from __future__ import annotations

from typing import Any

from ._facts import attempt, fill, gradients, numbers, plain, script


def _executor(mx: Any, grad_req: Any = "write", behind: Any = None, **attrs: Any) -> Any:
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", momentum=0.5, **attrs)
    if behind is not None:
        net = behind(net)
    executor = fill(net.simple_bind(mx.cpu(), grad_req, x=(4, 3)))
    executor.aux_dict["bn_moving_mean"][:] = [1, 2, 3]
    executor.aux_dict["bn_moving_var"][:] = [4, 5, 6]
    return executor


def _state(executor: Any) -> Any:
    return {
        "mean": executor.aux_dict["bn_moving_mean"].copy(),
        "var": executor.aux_dict["bn_moving_var"].copy(),
        "gamma": executor.arg_dict["bn_gamma"].copy(),
    }


def _step(mx: Any, executor: Any, train: bool = True, backward: bool = True) -> Any:
    out = executor.forward(is_train=train)[0]
    seen = [mx.nd.array(out.asnumpy())]
    mx.nd.waitall()
    seen.append(_state(executor))
    if backward:
        executor.backward(mx.nd.array(numbers("head", out.shape)))
        mx.nd.waitall()
        seen += [_state(executor), [None if g is None else g.copy() for g in executor.grad_arrays]]
    return seen


@script
def batch_norm_in_all_modes(mx):
    return {
        f"{fix} {use_global} {train}": _step(
            mx, _executor(mx, fix_gamma=fix, use_global_stats=use_global), train
        )
        for fix in (False, True)
        for use_global in (False, True)
        for train in (False, True)
    }


@script
def batch_norm_forward_alone_changes_nothing(mx):
    executor = _executor(mx, fix_gamma=False)
    seen = [_step(mx, executor, backward=False) for _ in range(2)]
    return seen


@script
def batch_norm_changes_once_per_backward(mx):
    executor = _executor(mx, fix_gamma=False)
    executor.forward(is_train=True)
    seen = []
    for _ in range(3):
        executor.backward(mx.nd.ones((4, 3)))
        mx.nd.waitall()
        seen.append(_state(executor))
    return seen


@script
def batch_norm_statistics_written_in_between(mx):
    executor = _executor(mx, fix_gamma=False)
    executor.forward(is_train=True)
    mx.nd.waitall()
    executor.aux_dict["bn_moving_mean"][:] = 100
    executor.backward(mx.nd.ones((4, 3)))
    mx.nd.waitall()
    return _state(executor)


@script
def batch_norm_unless_a_gradient_is_wanted(mx):
    return {
        str(req): _step(mx, _executor(mx, req, fix_gamma=fix))
        for fix in (False, True)
        for req in (
            "null",
            {"x": "write"},
            {"bn_gamma": "write"},
            {"bn_beta": "write"},
            {"bn_beta": "add", "x": "add"},
        )
    }


@script
def batch_norm_off_the_path_to_a_gradient(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn")
    net = mx.sym.BlockGrad(net) * mx.sym.Variable("w")
    executor = fill(net.simple_bind(mx.cpu(), {"w": "write"}, x=(4, 3), w=(4, 3)))
    return _step(mx, executor)


@script
def batch_norm_behind_block_grad(mx):
    executor = _executor(mx, behind=mx.sym.BlockGrad, fix_gamma=False)
    return _step(mx, executor)


@script
def batch_norm_gamma_pinned_at_inference(mx):
    seen = []
    for req in ("write", "null"):
        executor = _executor(mx, req, fix_gamma=True)
        seen.append(_step(mx, executor, train=False, backward=False))
        executor.arg_dict["bn_gamma"][:] = 7
        seen.append(_step(mx, executor, train=False, backward=False))
    return seen


@script
def batch_norm_shared_statistics(mx):
    mean, var = mx.sym.Variable("mean"), mx.sym.Variable("var")
    gamma, beta = mx.sym.Variable("gamma"), mx.sym.Variable("beta")
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    nets = [
        mx.sym.BatchNorm(v, gamma, beta, mean, var, momentum=0.5, fix_gamma=False) for v in (x, y)
    ]
    executor = fill(mx.sym.Group(nets).simple_bind(mx.cpu(), x=(4, 3), y=(4, 3)))
    executor.aux_dict["var"][:] = 1
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((4, 3)), mx.nd.ones((4, 3))])
    mx.nd.waitall()
    return executor.aux_dict, executor.outputs, executor._symbol.list_auxiliary_states()


@script
def batch_norm_several_outputs(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", output_mean_var=True, fix_gamma=False)
    executor = fill(net.simple_bind(mx.cpu(), x=(4, 3)))
    executor.forward(is_train=True)
    return attempt(mx, lambda: executor.backward(mx.nd.ones((4, 3)))), executor.grad_arrays


def _shared_networks(mx: Any) -> Any:
    """Networks with one set of normalisation parameters and states for several operators."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")

    def network(build: Any) -> Any:
        shared = [mx.sym.Variable(n) for n in ("gamma", "beta", "moving_mean", "moving_var")]
        count = iter(range(9))

        def norm(data: Any, momentum: float = 0.5, **attrs: Any) -> Any:
            return mx.sym.BatchNorm(
                data, *shared, momentum=momentum, fix_gamma=False, name=f"bn{next(count)}", **attrs
            )

        return build(norm)

    def recursive(norm: Any) -> Any:
        h = norm(x)
        return norm(h + norm(h))

    def blocks(norm: Any) -> Any:
        h = x
        for k in range(3):
            h = h + mx.sym.Activation(norm(h * (k + 2)), act_type="tanh")
        return h

    def inner(norm: Any) -> Any:
        h = norm(x)
        return mx.sym.Group([norm(h), h])

    builders = {
        "chain": lambda norm: norm(norm(x)),
        "long chain": lambda norm: norm(norm(norm(x) * 2) * 4),
        "sum, y first": lambda norm: norm(y) + norm(x),
        "output inside": inner,
        "sum of three": lambda norm: mx.sym.add_n(norm(x), norm(y), norm(x * 7)),
        "blocked between": lambda norm: norm(mx.sym.BlockGrad(norm(x * 3))) + norm(x),
        "recursive": recursive,
        "residual blocks": blocks,
        "momenta": lambda norm: norm(norm(x, 0.9), 0.1),
        "second uses the average": lambda norm: norm(norm(x), use_global_stats=True),
        "product": lambda norm: norm(x) * norm(y) * norm(x + y),
    }
    return {name: network(build) for name, build in builders.items()}


@script
def states_shared_by_operators(mx):
    """States that several operators update: in the order of MXNet's backward pass."""
    requests = {
        "all": "write",
        "gamma": {"gamma": "write"},
        "x": {"x": "write"},
        "y": {"y": "write"},
        "beta and x": {"beta": "write", "x": "add"},
    }
    seen = {}
    for name, net in _shared_networks(mx).items():
        inputs = {n: (3, 1) for n in ("x", "y") if n in net.list_arguments()}
        for what, request in requests.items():
            if what != "all" and name != "sum of three":
                continue
            executor = fill(net.simple_bind(mx.cpu(), request, **inputs))
            executor.arg_dict["x"][:] = [[1], [3], [4]]
            executor.arg_dict["gamma"][:] = 3
            executor.arg_dict["beta"][:] = 10
            if "y" in inputs:
                executor.arg_dict["y"][:] = [[50], [70], [80]]
            executor.aux_dict["moving_mean"][:] = 2
            executor.aux_dict["moving_var"][:] = 5
            executor.forward(is_train=True)
            mx.nd.waitall()
            outputs = [o.asnumpy() for o in executor.outputs]
            executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
            mx.nd.waitall()
            states = [a.asnumpy() for a in executor.aux_arrays]
            seen[f"{name} {what}"] = [outputs, states]
    return seen


@script
def backward_is_train(mx):
    """The mode of ``backward``: the statistics by which batch normalisation is differentiated."""
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), fix_gamma=False, name="norm")
    seen = {}
    for forward in (True, False):
        for backward in (True, False):
            for request in ("write", "add"):
                executor = fill(net.simple_bind(mx.cpu(), request, x=(3, 2)))
                executor.aux_dict["norm_moving_mean"][:] = [0.3, 0.4]
                executor.aux_dict["norm_moving_var"][:] = [2, 3]
                outputs = executor.forward(is_train=forward)
                if forward != backward:
                    outputs[0].wait_to_read()
                executor.backward([executor.arg_dict["x"] + 1], backward)
                arrays = [gradients(executor), list(outputs), list(executor.aux_arrays)]
                seen[f"{forward} {backward} {request}"] = plain(mx, arrays)
    return seen
