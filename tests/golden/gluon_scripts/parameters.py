"""Parameters, constants and dictionaries of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np

from ._facts import attempt, attempts, contents, digest, folder, numbers, script, warned


def _cpus(mx):
    return [mx.cpu(number) for number in range(3)]


def _ready(mx, *shape, init="ones", ctx=None, **options):
    """An initialized parameter."""
    p = mx.gluon.Parameter("a_weight", shape=shape or (2,), **options)
    p.initialize(init=init, ctx=ctx)
    return p


def _train(mx, p, factor=3):
    """The gradient after one more backward."""
    with mx.autograd.record():
        y = (p.data() * factor).sum()
    y.backward()
    return p.grad().copy()


def _assign(target, name, value):
    setattr(target, name, value)
    return getattr(target, name)


def _state(p):
    """Contents, gradients and contexts of an initialized parameter."""
    grads = p.list_grad() if p.grad_req != "null" else None
    return [p.list_data(), grads, p.list_ctx(), p.shape, np.dtype(p.dtype).name]


# Shapes


@script
def shapes_of_parameters(mx):
    seen = {}
    for shape in (None, 3, (2, 0), [2, 3], (np.int64(4), 3), (0,), ()):
        p = mx.gluon.Parameter("w_weight", shape=shape)
        seen[f"{len(seen)}"] = [p.shape, attempt(mx, p.initialize)]
    seen["below 0"] = attempt(mx, mx.gluon.Parameter("w", shape=(-1, 2)).initialize)
    seen["text"] = repr(mx.gluon.Parameter("w", shape=(2, 0), dtype="float16"))
    return seen


@script
def shapes_are_filled_in(mx):
    p = mx.gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    seen = {}
    for shape in ((3, 4), (2, 4, 1), None, (0, 4), (2, 4), (2, 0), (2, 5), (2, 4)):
        seen[f"{len(seen)}: {shape}"] = [
            attempt(mx, lambda shape=shape: _assign(p, "shape", shape)),
            p.shape,
        ]
    free = mx.gluon.Parameter("w")
    return seen, _assign(free, "shape", (0, 3)), _assign(free, "shape", (2, 3))


@script
def shapes_under_numpy_semantics(mx):
    parameter = mx.gluon.Parameter
    with mx.np_shape():
        p = parameter("w", shape=(2, -1))
        seen = [p.shape, attempt(mx, p.initialize), parameter("w", shape=(2, 0)).shape]
        seen += [_assign(p, "shape", (2, 3)), repr(p)]
        scalar = parameter("w", shape=(), init="ones")
        scalar.initialize()
        return [*seen, scalar.data().shape]


# Initialization


@script
def parameter_that_is_not_initialized(mx):
    p = mx.gluon.Parameter("w", shape=(2,))
    return attempts(
        mx,
        data=p.data, grad=p.grad, list_data=p.list_data, list_grad=p.list_grad,
        list_ctx=p.list_ctx, zero_grad=p.zero_grad, reset_ctx=lambda: p.reset_ctx(mx.cpu(1)),
        set_data=lambda: p.set_data(mx.nd.ones((2,))), finish=p._finish_deferred_init,
        cast=lambda: [p.cast("float16"), p.dtype],
    )  # fmt: skip


@script
def parameter_that_waits(mx):
    p = mx.gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True, init="ones")
    waits = mx.gluon.parameter.DeferredInitializationError
    with mx.cpu(1):
        p.initialize()
    seen = attempts(
        mx,
        data=p.data, grad=p.grad, list_data=p.list_data, list_grad=p.list_grad,
        list_ctx=p.list_ctx, zero_grad=p.zero_grad,
        reset_ctx=lambda: [p.reset_ctx([mx.cpu(0), mx.cpu(2)]), p.list_ctx()],
        cast=lambda: [p.cast("float64"), p.dtype, p.shape],
        again=lambda: [p.initialize(ctx=mx.cpu(1)), p.list_ctx()],
    )  # fmt: skip
    p.shape = (2, 3)
    try:
        p.data()
    except waits as error:
        seen["class"] = [isinstance(error, mx.base.MXNetError), type(error).__name__]
    p._finish_deferred_init()
    p._finish_deferred_init()
    return seen, _state(p)


@script
def request_changes_while_it_waits(mx):
    p = mx.gluon.Parameter("w", shape=(0,), allow_deferred_init=True, init="ones")
    p.initialize()
    p.grad_req = "null"
    p.shape = (2,)
    p._finish_deferred_init()
    return p.data(), p.data().grad, attempt(mx, p.grad)


@script
def finishing_without_a_shape(mx):
    p = mx.gluon.Parameter("w", shape=(0,), allow_deferred_init=True)
    p.initialize()
    seen = [attempt(mx, p._finish_deferred_init)]
    p.shape = (2,)
    return [*seen, attempt(mx, p.data)]


@script
def initialized_twice(mx):
    p = _ready(mx)
    array, grad, variable = p.data(), p.grad(), p.var()
    seen = [warned(mx, lambda: p.initialize(init="zeros", ctx=mx.cpu(1))), p.list_ctx()]
    seen.append(warned(mx, lambda: p.initialize("zeros", ctx=mx.cpu(1), force_reinit=True)))
    seen += [_state(p), array, p.data() is array, p.grad() is grad, p.var() is variable]
    seen.append(attempt(mx, lambda: p.initialize(mx.init.Xavier(), force_reinit=True)))
    return [*seen, attempt(mx, p.data)]


@script
def identity_of_arrays(mx):
    p = _ready(mx, ctx=_cpus(mx)[:2])
    return [
        p.data(mx.cpu(1)) is p.list_data()[1], p.list_data() is p.list_data(),
        p.grad() is p.list_grad()[0], p.data().grad is not None, p.data() is p.data(),
    ]  # fmt: skip


@script
def choice_of_initializers(mx):
    """The own one, that of the call, that of the network; the end of the name has no say."""
    one, zero, three = mx.init.One(), mx.init.Zero(), mx.init.Constant(3.0)
    seen = {}
    for name in ("w_weight", "w_bias", "w_gamma", "w_other"):
        for own in (None, "zeros"):
            for kwargs in (
                {}, {"init": one}, {"default_init": three}, {"init": zero, "default_init": three}
            ):  # fmt: skip
                p = mx.gluon.Parameter(name, shape=(2,), init=own)
                p.initialize(**kwargs)
                random = own is None and not kwargs
                seen[f"{name} {own} {list(kwargs)}"] = (
                    bool((abs(p.data().asnumpy()) <= 0.07).all()) if random else p.data()
                )
    return seen


@script
def refused_initializers(mx):
    def begin(init=None, default_init="ones", **options):
        p = mx.gluon.Parameter("w_weight", shape=(2,), **options)
        p.initialize(init=init, default_init=default_init)
        return p.data()

    return attempts(
        mx,
        name=lambda: begin("nope"), number=lambda: begin(3),
        mixed=lambda: begin(mx.init.Mixed([".*"], [mx.init.One()])),
        network=lambda: begin(default_init=mx.init.Mixed([".*"], [mx.init.One()])),
        load=lambda: begin(default_init=mx.init.Load({"w_weight": mx.nd.ones((2,))})),
        function=lambda: begin(default_init=lambda name, array: None),
        vector=lambda: begin(mx.init.Xavier()), integers=lambda: begin("uniform", dtype="int32"),
        text=lambda: begin('["constant", {"value": 4}]'), own=lambda: begin(init=mx.init.One()),
    )  # fmt: skip


@script
def arguments_of_initializers(mx):
    """What initializers are called with, also under record."""
    seen = []

    class Weights(mx.init.Initializer):
        def _init_weight(self, name, array):
            seen.append([
                type(name).__name__, name, list(name.attrs), type(name.global_init).__name__,
                array.context, array.dtype, array.shape, mx.autograd.is_recording(),
            ])  # fmt: skip
            array[:] = 1

    class Whole(Weights):
        def __call__(self, name, array):
            seen.append(["called", name, list(name.attrs)])
            array[:] = 2

    def begin(**kwargs):
        p = mx.gluon.Parameter("w_bias", shape=(2, 2), dtype="float64")
        p.initialize(ctx=mx.cpu(1), **kwargs)
        return p.data()

    with mx.autograd.record():
        arrays = [begin(init=Weights()), begin(default_init=Weights())]
    arrays += [begin(init=Whole()), begin(default_init=Whole())]
    return seen, arrays


@script
def draws(mx):
    """Once for all contexts, from the stream of the first CPU, in the order of the dictionary."""

    def drawn(names, ctx, **kwargs):
        mx.random.seed(3)
        params = mx.gluon.ParameterDict()
        for name in names:
            params.get(name, shape=(3,))
        params.initialize(ctx=ctx, **kwargs)
        return [p.list_data()[-1].asnumpy().tolist() for p in params.values()]

    first, second = drawn("ab", mx.cpu(0))
    return [
        drawn("ab", _cpus(mx)) == [first, second], drawn("ba", mx.cpu(1)) == [first, second],
        drawn("a", mx.cpu(1)) == [first], first != second,
        drawn("ab", None, init=mx.init.Uniform(0.07)) == [first, second],
    ]  # fmt: skip


@script
def draws_of_deferred_parameters(mx):
    """In the order in which they are finished."""

    def drawn(order):
        mx.random.seed(3)
        params = mx.gluon.ParameterDict()
        for name in "abc":
            params.get(name, shape=(3,) if name == "b" else (0,), allow_deferred_init=True)
        params.initialize()
        for name in order:
            params[name].shape = (3,)
            params[name]._finish_deferred_init()
        return [p.data().asnumpy().tolist() for p in params.values()]

    a, b, c = drawn("abc")
    return [drawn("cba") == [c, b, a], drawn("bac") == [a, b, c], len({str(x) for x in (a, b, c)})]


@script
def element_types(mx):
    seen = {}
    for dtype in ("float16", "float32", "float64", "int8", "int32", np.float64):
        p = _ready(mx, dtype=dtype)
        seen[str(dtype)] = [_state(p), str(p.dtype), repr(p)]
    return seen


# Contexts


@script
def several_contexts(mx):
    c0, c1, c2 = _cpus(mx)
    p = _ready(mx, ctx=[c0, c1])

    def current(ctx):
        with ctx:
            return p.data().context, p.grad().context

    seen = attempts(
        mx,
        default=lambda: p.data().context, named=lambda: [p.data(c1).context, p.grad(c1).context],
        current=lambda: current(c1), other=lambda: current(c2), refused=lambda: p.data(c2),
        refused_grad=lambda: p.grad(c2), gpu=lambda: p.data(mx.gpu(0)),
        grads=lambda: [g.context for g in p.list_grad()],
    )  # fmt: skip
    single = _ready(mx, ctx=[c1])
    with c2:
        seen["single"] = single.data().context
        seen["here"] = _ready(mx).list_ctx()
    seen["single, named"] = attempt(mx, lambda: single.data(c2))
    seen["twice"] = _ready(mx, ctx=(c0, c0)).list_ctx()
    return seen


@script
def moves_to_other_contexts(mx):
    """The mean of all, new gradients."""
    c0, c1, c2 = _cpus(mx)
    p = _ready(mx, init=mx.init.Constant(3.0), ctx=[c0, c1])
    p.data(c0)[:] = 1
    p.list_grad()[0][:] = 5
    array = p.data(c0)
    p.reset_ctx([c2, c0])
    seen = [_state(p), p.data(c0) is array, array]
    p.reset_ctx(c1)
    seen.append(_state(p))
    p.reset_ctx(None)
    seen.append(p.list_ctx())
    whole = _ready(mx, dtype="int32", ctx=[c0, c1])
    whole.data(c1)[:] = 4
    whole.reset_ctx(c0)
    return [*seen, whole.data()]


# Contents


@script
def contents_are_set(mx):
    p = _ready(mx, ctx=_cpus(mx)[:2])
    arrays = list(p.list_data())
    values = {
        "array": mx.nd.array([1, 2]), "other context": mx.nd.array([3, 4], ctx=mx.cpu(2)),
        "other dtype": mx.nd.array([5.5, 6], dtype="float64"), "numpy": np.array([7, 8]),
        "shape": mx.nd.array([1, 2, 3]), "axes": mx.nd.ones((1, 2)), "list": [1, 2], "number": 1,
    }  # fmt: skip
    seen = {
        name: [attempt(mx, lambda value=value: p.set_data(value)), _state(p)]
        for name, value in values.items()
    }
    return seen, [x is y for x, y in zip(arrays, p.list_data(), strict=True)]


@script
def contents_are_set_while_it_waits(mx):
    p = mx.gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    p.initialize(ctx=[mx.cpu(1), mx.cpu(0)])
    seen = [attempt(mx, lambda: p.set_data(mx.nd.ones((3, 2))))]
    p.set_data(mx.nd.ones((2, 2)) * 4)
    seen += [p.shape, attempt(mx, p.data)]
    p._finish_deferred_init()
    wide = mx.gluon.Parameter("w", allow_deferred_init=True)
    wide.initialize()
    wide.set_data(mx.nd.ones((2,), dtype="float64"))
    wide._finish_deferred_init()
    early = mx.gluon.Parameter("w", shape=(2, 0))
    seen.append(attempt(mx, lambda: early.set_data(mx.nd.ones((2, 3)))))
    return [*seen, _state(p), wide.data().dtype, early.shape]


@script
def contents_are_set_while_recording(mx):
    p = _ready(mx)
    with mx.autograd.record():
        y = p.data() * 2
        refused = attempt(mx, lambda: p.set_data(mx.nd.zeros((2,))))
        with mx.autograd.pause():
            p.set_data(mx.nd.ones((2,)) * 7)
    y.backward()
    return refused, _state(p)


# Gradients


@script
def requests_of_parameters(mx):
    seen = {"none": attempt(mx, lambda: mx.gluon.Parameter("w", grad_req="x"))}
    p = _ready(mx)
    array = p.data()
    _train(mx, p)
    seen["unknown"] = [attempt(mx, lambda: _assign(p, "grad_req", "x")), p.grad_req]
    seen["same"] = [_assign(p, "grad_req", "write"), p.grad(), p.data() is array]
    seen["add"] = [_assign(p, "grad_req", "add"), p.grad(), p.data()._fresh_grad]
    seen["added"] = [_train(mx, p), _train(mx, p)]
    seen["null"] = [_assign(p, "grad_req", "null"), p.data().grad, array.grad]
    seen["refused"] = attempts(mx, grad=p.grad, list_grad=p.list_grad, zero_grad=p.zero_grad)
    seen["backward"] = attempt(mx, lambda: _train(mx, p))
    array[:] = 9
    seen["contents"] = p.data()
    seen["write"] = [_assign(p, "grad_req", "write"), _state(p), _train(mx, p)]
    fixed = mx.gluon.Parameter("w", shape=(2,), grad_req="add", differentiable=False)
    seen["fixed"] = [fixed.grad_req, _assign(fixed, "grad_req", "write")]
    fixed.initialize()
    seen["fixed array"] = [fixed.data().grad, attempt(mx, fixed.grad)]
    return seen


@script
def gradients_of_parameters(mx):
    p = _ready(mx, ctx=_cpus(mx)[:2])
    with mx.autograd.record():
        y = [(x * (i + 2)).sum() for i, x in enumerate(p.list_data())]
    mx.autograd.backward(y)
    grads = p.list_grad()
    seen = [grads[0].copy(), grads[1].copy(), [bool(x._fresh_grad) for x in p.list_data()]]
    p.zero_grad()
    return [*seen, grads, [bool(x._fresh_grad) for x in p.list_data()]]


@script
def initialized_while_recording(mx):
    p = mx.gluon.Parameter("w", shape=(2,))
    with mx.autograd.record():
        p.initialize(init="ones")
        y = p.data() * 2
    y.backward()
    return _state(p)


# Changes


@script
def casts(mx):
    p = _ready(mx, ctx=_cpus(mx)[:2])
    array = p.data()
    _train(mx, p)
    p.cast("float64")
    seen = [_state(p), p.data() is array, bool(p.data()._fresh_grad), p.data().grad]
    seen.append(_train(mx, p, 4))
    p.dtype = "float16"
    seen += [_state(p), attempt(mx, lambda: p.cast("nope")), p.data().dtype]
    frozen = _ready(mx, grad_req="null")
    frozen.cast(np.float64)
    late = mx.gluon.Parameter("w", shape=(2,))
    late.cast("float64")
    late.initialize(init="ones")
    return [*seen, frozen.data(), frozen.data().grad, _state(late)]


@script
def variables_of_parameters(mx):
    parameter = mx.gluon.Parameter

    def attributes(p):
        return dict(sorted(p.var().attr_dict()[p.name].items()))

    p = parameter("w", shape=(2, 0), allow_deferred_init=True)
    first = p.var()
    p.shape = (2, 3)
    p.lr_mult, p.grad_req = 7, "null"
    p.initialize()
    p.cast("float16")
    seen = [p.var() is first, attributes(p), first.name, first.list_arguments()]
    options = (
        {}, {"shape": 3}, {"dtype": None}, {"init": "ones", "lr_mult": 2.0, "wd_mult": 0.5},
        {"init": mx.init.Xavier(), "dtype": "float16", "shape": (2, 3)},
        {"stype": "row_sparse", "shape": (2, 2)},
    )  # fmt: skip
    seen.extend(attributes(parameter("w", **kwargs)) for kwargs in options)
    with mx.AttrScope(note="text", __lr_mult__="3"), mx.name.Prefix("pre_"):
        seen.append(attributes(parameter("w")))
    return seen


@script
def copies_of_parameters(mx):
    """Contents and gradients are copied; a copy of MXNet's has no gradients any more."""
    p = _ready(mx)
    _train(mx, p)
    constant = mx.gluon.Constant("c", [1, 2])
    constant.initialize()
    seen = {}
    ways = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}
    for way, copied in ways.items():
        q, c = copied(p), copied(constant)
        seen[way] = [q.data() is p.data(), _state(q), attempt(mx, lambda q=q: _train(mx, q, 5))]
        seen[way] += [c.data(), c.value, c.grad_req]
    return seen, p.data(), p.grad()


@script
def storage_types_of_parameters(mx):
    parameter = mx.gluon.Parameter
    return attempts(
        mx,
        data=lambda: parameter("w", stype="x"), grad=lambda: parameter("w", grad_stype="x"),
        dense=lambda: _ready(mx, stype="default", grad_stype="default").data(),
        sparse_of_dense=lambda: _ready(mx).row_sparse_data(mx.nd.array([0])),
        list_of_dense=lambda: _ready(mx).list_row_sparse_data(mx.nd.array([0])),
    )  # fmt: skip


# Constants


@script
def constants(mx):
    c = mx.gluon.Constant("c", [[1, 2], [3, 4]])
    seen = [repr(c), c.grad_req, c.shape, c.dtype, c.value, c.lr_mult, c.wd_mult]
    seen += [attempt(mx, c.data), isinstance(c, mx.gluon.Parameter)]
    c.initialize()
    seen += [c.data(), attempt(mx, c.grad), c.data().grad]
    for req in ("null", "write", "x"):
        seen.append([warned(mx, lambda req=req: _assign(c, "grad_req", req)), c.grad_req])
    c.set_data(mx.nd.zeros((2, 2)))
    seen += [c.data(), c.value]
    c.cast("float16")
    seen += [c.data(), c.value.dtype]
    for value in (mx.nd.array([1, 2], dtype="int32"), np.array([1.0, 2.0]), [1]):
        other = mx.gluon.Constant("w_bias", value)
        other.initialize(default_init=mx.init.Zero())
        seen.append([other.data(), other.dtype])
    other.initialize(init="zeros", force_reinit=True)
    return [*seen, other.data()]


@script
def constants_of_dictionaries(mx):
    params = mx.gluon.ParameterDict("net_")
    params.get("w", shape=(2,))
    value = mx.nd.array([1, 2])
    seen = [attempt(mx, lambda: params.get_constant("c"))]
    c = params.get_constant("c", [1, 2])
    seen += [c.name, list(params), repr(params)]
    return seen, attempts(
        mx,
        again=lambda: params.get_constant("c") is c,
        same=lambda: params.get_constant("c", value) is c,
        numpy=lambda: params.get_constant("c", np.array([1, 2])) is c,
        other=lambda: params.get_constant("c", mx.nd.array([1, 3])),
        shape=lambda: params.get_constant("c", mx.nd.array([1, 2, 3])),
        parameter=lambda: params.get_constant("w", value), by_get=lambda: params.get("c") is c,
        shared=lambda: mx.gluon.ParameterDict("net_", params).get_constant("c") is c,
    )  # fmt: skip


# Dictionaries


@script
def dictionaries(mx):
    params = mx.gluon.ParameterDict("net_")
    texts = [repr(params), repr(mx.gluon.ParameterDict())]
    w = params.get("weight", shape=(2, 3))
    params.get("bias", shape=(2,), init="zeros")
    seen = attempts(
        mx,
        item=lambda: params["net_weight"] is w, unknown=lambda: params["weight"],
        contains=lambda: ["net_weight" in params, "weight" in params], length=lambda: len(params),
        truth=lambda: bool(mx.gluon.ParameterDict()), prefix=lambda: params.prefix,
        keys=lambda: list(params.keys()), names=lambda: list(params),
        values=lambda: next(iter(params.values())) is w,
        items=lambda: [name for name, _ in params.items()], number=lambda: len(params.keys()),
        equal=lambda: mx.gluon.ParameterDict() == mx.gluon.ParameterDict(),
        option=lambda: params.get("other", nothing=3), after=lambda: list(params),
    )  # fmt: skip
    return seen, [*texts, repr(params), str(params.keys())]


@script
def attributes_of_existing_parameters(mx):
    params = mx.gluon.ParameterDict()
    w = params.get("w", shape=(2, 0))
    xavier = mx.init.Xavier()
    requests = {
        "nothing": {}, "same": {"shape": (2, 0), "dtype": "float32", "grad_req": "write"},
        "shape": {"shape": (2, 3)}, "unknown": {"shape": (0, 3)}, "other": {"shape": (2, 4)},
        "axes": {"shape": (2, 3, 1)}, "dtype": {"dtype": "float16"},
        "scalar type": {"dtype": np.float32},
        "request": {"grad_req": "null"}, "factor": {"lr_mult": 2}, "init": {"init": xavier},
        "equal init": {"init": mx.init.Xavier()}, "other init": {"init": "zeros"},
        "no init": {"init": None}, "allow": {"allow_deferred_init": True},
        "sparse": {"stype": "row_sparse"}, "invented": {"invented": 3},
        "second of two": {"wd_mult": 1.0, "invented": 4},
    }  # fmt: skip
    seen = {
        name: [attempt(mx, lambda k=kwargs: params.get("w", **k) is w), w.shape, w.dtype]
        for name, kwargs in requests.items()
    }
    free = params.get("free", dtype=None)
    seen["free"] = [params.get("free", shape=(0, 2), dtype="float16") is free, free.shape]
    return seen, free.dtype, w.invented, w.init is xavier


@script
def shared_dictionaries(mx):
    kind = mx.gluon.ParameterDict
    params = kind("net_")
    w = params.get("weight", shape=(2, 0))
    same, other = kind("net_", shared=params), kind("other_", params)
    seen = [same.get("weight", shape=(2, 3)) is w, list(same), w.shape, repr(same)]
    same.get("bias", shape=(3,))
    seen += [other.get("weight") is w, list(same), list(other), list(params)]
    second = kind("net_", shared=kind("net_", shared=params))
    seen += [second.get("weight") is w, list(second)]
    return [*seen, attempt(mx, lambda: kind("net_", params).get("weight", shape=(9, 9)))]


@script
def updates_of_dictionaries(mx):
    def filled(*names):
        params = mx.gluon.ParameterDict()
        for name in names:
            params.get(name, shape=(2,))
        return params

    params, other = filled("a", "b"), filled("c", "a")
    total = mx.gluon.ParameterDict("total_")
    seen = [total.update(params), total.update(params), list(total), total["a"] is params["a"]]
    seen += [attempt(mx, lambda: total.update(other)), list(total)]
    last = filled("d", "a")
    seen += [attempt(mx, lambda: total.update(last)), "d" in total]
    total.update({"e": last["d"]})
    return [*seen, list(total), total["e"].name]


def _three(mx, initialized=True):
    params = mx.gluon.ParameterDict("net_")
    params.get("weight", shape=(2, 2))
    params.get("bias", shape=(2,), init="zeros")
    params.get("gamma", shape=(2,), grad_req="null", init="ones")
    if initialized:
        params.initialize(mx.init.Constant(3.0))
    return params


@script
def dictionaries_are_initialized(mx):
    params = _three(mx, initialized=False)
    params.get_constant("c", [7])
    seen = [attempt(mx, params.list_ctx), warned(mx, lambda: params.initialize("ones"))]
    seen += [[p.data() for p in params.values()], params.list_ctx()]
    seen.append(warned(mx, lambda: params.initialize("zeros")))
    seen.append(warned(mx, lambda: params.initialize("zeros", mx.cpu(1), force_reinit=True)))
    seen += [[p.data() for p in params.values()], params.list_ctx()]
    one = mx.init.One()
    seen.append(warned(mx, lambda: params.initialize(one, verbose=True, force_reinit=True)))
    late = mx.gluon.ParameterDict()
    late.get("a", shape=(2,))
    late.get("b", shape=(0,))
    return [*seen, attempt(mx, late.initialize)]


@script
def dictionaries_change(mx):
    params = _three(mx)
    params.get_constant("c", [7]).initialize()
    params["net_weight"].grad()[:] = 5
    params.zero_grad()
    seen = [params["net_weight"].grad(), params.reset_ctx([mx.cpu(0), mx.cpu(1)])]
    seen += [params.list_ctx(), params["net_c"].list_ctx()]
    params["net_bias"].reset_ctx(mx.cpu(2))
    seen.append(sorted(map(str, params.list_ctx())))
    for name, value in (("lr_mult", 5), ("grad_req", "null"), ("grad_req", "add"), ("own", "x")):
        seen.append(warned(mx, lambda n=name, v=value: params.setattr(n, v)))
        seen.append([getattr(p, name) for p in params.values()])
    seen.append(attempt(mx, lambda: params.setattr("grad_req", "x")))
    params.get("late", shape=(2,))
    seen += [attempt(mx, params.list_ctx), attempt(mx, lambda: params.reset_ctx(mx.cpu(0)))]
    return [*seen, mx.gluon.ParameterDict().list_ctx()]


# Files


@script
def dictionaries_are_saved(mx):
    params = _three(mx)
    params.get_constant("c", [7]).initialize()
    with folder() as path:
        file = str(path / "net.params")
        params.save(file)
        seen = [contents(mx, file), digest(file)]
        params.save(file, strip_prefix="net_")
        seen += [contents(mx, file), digest(file)]
        seen.append(attempt(mx, lambda: params.save(file, strip_prefix="other_")))
        params.reset_ctx([mx.cpu(0), mx.cpu(1)])
        params["net_bias"].data(mx.cpu(1))[:] = 4
        params.save(file)
        seen += [mx.nd.load(file), digest(file)]
        params.get("late", shape=(2,))
        seen.append(attempt(mx, lambda: params.save(file)))
        waiting = mx.gluon.ParameterDict()
        waiting.get("a", shape=(0,), allow_deferred_init=True)
        waiting.initialize()
        return [*seen, attempt(mx, lambda: waiting.save(file))]


def _loads(mx, arrays, **kwargs):
    """The dictionary after arrays were loaded from a file, or the exception and what it left."""
    params = _three(mx)
    with folder() as path:
        file = str(path / "net.params")
        mx.nd.save(file, arrays)
        seen = attempt(mx, lambda: params.load(file, **kwargs))
    return seen, [p.data() for p in params.values()]


@script
def files_are_loaded(mx):
    nd = mx.nd
    full = {
        "net_weight": nd.ones((2, 2)), "net_bias": nd.ones((2,)) * 5, "net_gamma": nd.ones((2,)) * 6
    }  # fmt: skip
    short = {name[4:]: value for name, value in full.items()}
    marked = {f"arg:{name}": value for name, value in full.items()}
    marked["aux:net_gamma"] = marked.pop("arg:net_gamma")
    some = {"net_bias": full["net_bias"]}
    return {
        "full": _loads(mx, full), "contexts": _loads(mx, full, ctx=mx.cpu(0)),
        "other context": _loads(mx, full, ctx=mx.cpu(1)),
        "marked": _loads(mx, marked), "short": _loads(mx, short),
        "restored": _loads(mx, short, restore_prefix="net_"),
        "marked, restored": _loads(
            mx, {f"arg:{n}": x for n, x in short.items()}, restore_prefix="net_"
        ),
        "wrong prefix": _loads(mx, short, restore_prefix="x_"), "some": _loads(mx, some),
        "some allowed": _loads(mx, some, allow_missing=True),
        "more": _loads(mx, {**full, "z": nd.ones((1,))}),
        "more ignored": _loads(mx, {**full, "z": nd.ones((1,))}, ignore_extra=True),
        "list": _loads(mx, list(full.values())),
    }  # fmt: skip


@script
def arrays_that_do_not_fit(mx):
    nd = mx.nd

    def one(array, **kwargs):
        return _loads(mx, {"net_bias": array}, allow_missing=True, **kwargs)

    half = nd.array([1, 2], dtype="float16")
    return {
        "shape": one(nd.ones((3,))), "axes": one(nd.ones((2, 1))), "dtype": one(half),
        "cast": one(half, cast_dtype=True),
        "saved": one(half, cast_dtype=True, dtype_source="saved"),
        "saved without cast": one(half, dtype_source="saved"),
        "source": one(half, cast_dtype=True, dtype_source="x"),
        "unused source": one(nd.ones((2,)), cast_dtype=True, dtype_source="x"),
    }  # fmt: skip


@script
def files_give_shapes_and_contexts(mx):
    """To parameters that are not initialized, or wait."""
    c0, c1, c2 = _cpus(mx)
    arrays = {"a": mx.nd.ones((2, 3)) * 4}

    def loaded(first=None, ctx=None, shape=(2, 0), **options):
        params = mx.gluon.ParameterDict()
        p = params.get("a", shape=shape, allow_deferred_init=True, **options)
        if first is not None:
            params.initialize(ctx=first)
        params.load_dict(arrays, ctx)
        return _state(p)

    return attempts(
        mx,
        new=loaded, new_on=lambda: loaded(ctx=c1), new_on_two=lambda: loaded(ctx=[c2, c1]),
        no_shape=lambda: loaded(shape=None), frozen=lambda: loaded(grad_req="null"),
        waiting=lambda: loaded([c1, c0]), same=lambda: loaded([c1, c0], [c0, c1]),
        part=lambda: loaded([c1, c0], c1), other=lambda: loaded(c1, c2),
        axes=lambda: loaded(shape=(2, 0, 0)), no_dtype=lambda: loaded(dtype=None),
    )  # fmt: skip


@script
def arrays_are_loaded(mx):
    """By ``load_dict``."""
    nd = mx.nd
    params = _three(mx)
    array = params["net_bias"].data()
    values = {"net_bias": nd.ones((2,)) * 8}

    def load(given, **kwargs):
        return lambda: [params.load_dict(given, **kwargs), params["net_bias"].data()]

    seen = attempts(
        mx,
        some=load(values), named=load(values, filename="x.params"),
        allowed=load(values, allow_missing=True),
        more=load({**values, "z": nd.ones((1,))}, allow_missing=True),
        ignored=load({**values, "z": nd.ones((1,))}, allow_missing=True, ignore_extra=True),
        marked=load({"aux:net_bias": nd.ones((2,)) * 9}, allow_missing=True),
        restored=load({"bias": nd.ones((2,)) * 2}, allow_missing=True, restore_prefix="net_"),
        numpy=load({"net_bias": np.ones(2, "float32")}, allow_missing=True),
        cast=load({"net_bias": numbers("x", (2,), "float64")}, allow_missing=True, cast_dtype=True),
    )  # fmt: skip
    return seen, params["net_bias"].data() is array


@script
def missing_file(mx):
    with folder() as path:
        return attempt(mx, lambda: _three(mx).load(str(path / "none.params")))


# Parameters of networks


def _network(mx, **kwargs):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, **kwargs), nn.BatchNorm(), nn.Dense(2, use_bias=False), nn.PReLU())
    return net


@script
def parameters_of_layers(mx):
    """Biases are zero, also under Xavier; statistics have no gradients."""
    net = _network(mx)
    params = net.collect_params()
    seen = {}
    for name, p in params.items():
        seen[name] = [p.shape, p.grad_req, p.lr_mult, p.wd_mult, isinstance(p.init, str) and p.init]
    net.initialize(mx.init.Xavier())
    seen["waits"] = [attempt(mx, params["net_dense0_weight"].data), params.list_ctx()]
    seen["warns"] = warned(mx, lambda: net.initialize())
    net(mx.nd.ones((2, 4)))
    seen["fixed"] = {n: p.data() for n, p in params.items() if not n.endswith("weight")}
    bound = (6 / (3 + 4)) ** 0.5
    weight = params["net_dense0_weight"].data().asnumpy()
    seen["xavier"] = [weight.shape, bool((abs(weight) <= bound).all()), bool((weight != 0).all())]
    seen["statistics"] = attempt(mx, params["net_batchnorm0_running_mean"].grad)
    seen["again"] = warned(mx, lambda: net.initialize(mx.init.One()))
    net.initialize(mx.init.One(), force_reinit=True)
    return seen, [p.data() for p in params.values()]


@script
def draws_of_layers(mx):
    """Deferred parameters are drawn as they are first used, others as they come."""

    def drawn(sizes, order=(0, 1)):
        nn = mx.gluon.nn
        mx.random.seed(3)
        layers = [nn.Dense(2, in_units=size) for size in sizes]
        net = nn.Sequential(prefix="")
        net.add(*layers)
        net.initialize()
        for i in order:
            layers[i](mx.nd.ones((1, 2)))
        return [layer.weight.data().asnumpy().tolist() for layer in layers]

    a, b = drawn((2, 2))
    return [
        drawn((0, 0)) == [a, b], drawn((0, 0), (1, 0)) == [b, a], drawn((0, 2)) == [b, a],
        drawn((2, 2), (1, 0)) == [a, b], a != b,
    ]  # fmt: skip


@script
def parameters_that_are_frozen(mx):
    """By a pattern, before and after the first call."""
    net = _network(mx)
    net.initialize(mx.init.One())
    net.collect_params(".*dense0.*").setattr("grad_req", "null")
    x = mx.nd.array([[1, 2], [3, 5]])
    seen = []
    for pattern in ("dense", ".*dense1_weight|.*gamma"):
        with mx.autograd.record():
            y = net(x).sum()
        y.backward()
        params = net.collect_params()
        seen.append({n: p.grad() for n, p in params.items() if p.grad_req != "null"})
        seen.append(list(net.collect_params(pattern)))
        net.collect_params(pattern).setattr("grad_req", "null")
        seen.append([n for n, p in params.items() if p.grad_req == "null"])
    return seen


@script
def networks_on_other_contexts(mx):
    net = _network(mx, in_units=2)
    net.initialize(mx.init.One())
    seen = [attempt(mx, lambda: net(mx.nd.ones((1, 2), ctx=mx.cpu(1))))]
    x = mx.nd.array([[1, 2], [3, 5]])
    y = net(x)
    net.collect_params().reset_ctx([mx.cpu(1), mx.cpu(2)])
    seen.append([y, net(x.as_in_context(mx.cpu(2))), attempt(mx, lambda: net(x))])
    return [*seen, net(x.as_in_context(mx.cpu(2))).context, net.collect_params().list_ctx()]
