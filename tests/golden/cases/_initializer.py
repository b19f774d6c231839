"""Scripts about initializers, run with MXNet as ``mx`` once and with executorkit ever after.

``VALUES`` take mx and return something that JSON can hold; ``ERRORS`` must raise, and the class is
compared; ``SPREADS`` are initializers with the shape of a weight, of which moments are compared.
"""

from __future__ import annotations

import logging
import re
import warnings

import numpy as np

VALUES = {}
ERRORS = {}
SPREADS = {}

NAMES = (
    "weight", "fc_weight", "a_bias", "a_gamma", "a_beta", "a_min", "a_max", "a_bias_quantize",
    "upsampling0_weight", "stn_loc_weight", "stn_loc_bias",
)  # fmt: skip
OLD_NAMES = (
    *NAMES[:7], *NAMES[9:], "moving_mean", "a_moving_var", "a_moving_inv_var", "a_moving_avg",
)  # fmt: skip
UNKNOWN = ("moving_mean", "a_running_var", "parameters", "init_h", "data", "a_quantize")


def initialised(mx, init, name="fc_weight", shape=(3, 4), dtype="float32", attrs=None):
    array = mx.nd.full(shape, 9, dtype=dtype)
    init(mx.init.InitDesc(name, attrs), array)
    return [dtype, array.asnumpy().tolist()]


def by_plain_name(mx, init, name, shape=(6,)):
    array = mx.nd.full(shape, 9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        init(name, array)
    assert [w.category for w in caught] == [DeprecationWarning]
    return array.asnumpy().tolist()


def value(name, function):
    VALUES[name] = function


def error(name, function):
    ERRORS[name] = function


for _name in NAMES:
    value(f"end {_name}", lambda mx, n=_name: initialised(mx, mx.init.Constant(7), n))
for _name in OLD_NAMES:
    value(f"old {_name}", lambda mx, n=_name: by_plain_name(mx, mx.init.Constant(7), n))
value(
    "old upsampling",
    lambda mx: by_plain_name(mx, mx.init.Zero(), "upsampling0_weight", (2, 1, 3, 4)),
)
for _name in UNKNOWN:
    error(f"end {_name}", lambda mx, n=_name: initialised(mx, mx.init.Zero(), n))
error("old init_h", lambda mx: by_plain_name(mx, mx.init.Zero(), "init_h"))
error("old stn_loc_bias", lambda mx: by_plain_name(mx, mx.init.Zero(), "stn_loc_bias", (5,)))
error("old upsampling", lambda mx: by_plain_name(mx, mx.init.Zero(), "upsampling0_weight"))
error("old number", lambda mx: by_plain_name(mx, mx.init.Zero(), 3))


@lambda f: error("old numpy", f)
def _(mx):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mx.init.Zero()("a_weight", np.zeros(2))


FIXED = {
    "zero": (lambda init: init.Zero(), (3, 4)),
    "one": (lambda init: init.One(), (3, 4)),
    "constant": (lambda init: init.Constant(2.5), (3, 4)),
    "constant list": (lambda init: init.Constant([1, 2, 3, 4]), (3, 4)),
    "constant numpy": (lambda init: init.Constant(np.arange(12.0).reshape(3, 4)), (3, 4)),
    "constant dumped": (lambda init: init.create('["constant", {"value": [1, 2]}]'), (3, 2)),
    "bilinear": (lambda init: init.Bilinear(), (1, 2, 3, 4)),
    "bilinear odd": (lambda init: init.Bilinear(), (2, 1, 5, 3)),
    "bilinear 1": (lambda init: init.Bilinear(), (1, 1, 1, 1)),
    "bilinear five axes": (lambda init: init.Bilinear(), (1, 1, 2, 3, 2)),
    "lstm bias": (lambda init: init.LSTMBias(2.0), (8,)),
    "lstm bias uneven": (lambda init: init.LSTMBias(), (10,)),
    "lstm bias matrix": (lambda init: init.LSTMBias(), (8, 2)),
    "fused lstm": (
        lambda init: init.FusedRNN(init.Constant(2), 2, 1, "lstm", False, 3.0),
        (2 * 4 * (3 + 2 + 2),),
    ),
    "fused gru": (
        lambda init: init.FusedRNN(init.Constant(2), 2, 2, "gru", True),
        (2 * 2 * 3 * (3 + 2 + 2) + 2 * 2 * 3 * (4 + 2 + 2),),
    ),
    "fused tanh": (lambda init: init.FusedRNN(init.One(), 3, 1, "rnn_tanh"), (3 * (1 + 3 + 2),)),
}
for _name, (_make, _shape) in FIXED.items():
    for _dtype in ("float32", "float16", "float64", "int32"):
        value(
            f"{_name} {_dtype}",
            lambda mx, m=_make, s=_shape, d=_dtype: initialised(mx, m(mx.init), shape=s, dtype=d),
        )
for _index in (0, 1, 2, 6, 10, 13):
    _name = list(FIXED)[_index]
    value(
        f"bias by {_name}",
        lambda mx, m=FIXED[_name][0]: initialised(mx, m(mx.init), "a_bias", (8,)),
    )

DUMPED = {
    "zero": lambda init: init.Zero(),
    "one": lambda init: init.One(),
    "constant": lambda init: init.Constant(2),
    "constant float": lambda init: init.Constant(2.5),
    "constant numpy": lambda init: init.Constant(np.array([[1, 2], [3, 4]])),
    "uniform": lambda init: init.Uniform(),
    "normal": lambda init: init.Normal(0.5),
    "orthogonal": lambda init: init.Orthogonal(),
    "xavier": lambda init: init.Xavier("gaussian", "in", 2),
    "prelu": lambda init: init.MSRAPrelu(),
    "bilinear": lambda init: init.Bilinear(),
    "lstm bias": lambda init: init.LSTMBias(),
    "fused": lambda init: init.FusedRNN(None, 3, 1, "lstm"),
    "fused xavier": lambda init: init.FusedRNN(init.Xavier(), 3, 2, "gru", True, 2.0),
    "base": lambda init: init.Initializer(a=1),
}
for _name, _make in DUMPED.items():
    value(f"dumps {_name}", lambda mx, m=_make: m(mx.init).dumps())
    if _name != "constant numpy":
        value(f"equal {_name}", lambda mx, m=_make: m(mx.init) == m(mx.init))
value("dumps nd", lambda mx: mx.init.Constant(mx.nd.array([[1, 2], [3, 4]])).dumps())
value("equal other", lambda mx: mx.init.Xavier() == mx.init.Xavier(magnitude=2))
value("equal class", lambda mx: [mx.init.Zero() == mx.init.One(), mx.init.Zero() == 3])

CREATED = (
    "xavier", "XAVIER", "zeros", "zero", "ones", "one", "normal", "uniform", "msraprelu",
    "orthogonal", "bilinear", "lstmbias", '["xavier", {"magnitude": 2}]',
    '{"initializer": "normal", "sigma": 2}', {"initializer": "uniform", "scale": 2},
)  # fmt: skip
for _what in CREATED:
    value(f"create {_what}", lambda mx, w=_what: mx.init.create(w).dumps())
value("create keywords", lambda mx: mx.init.create(initializer="normal", sigma=3).dumps())
value("create positional", lambda mx: mx.init.create("constant", 3).dumps())
for _what in ("gaussian", "load", "initializer", None, '["xavier"]', "[xavier", "constant"):
    error(f"create {_what}", lambda mx, w=_what: mx.init.create(w))
error("create keyword", lambda mx: mx.init.create("xavier", spread=1))
error("create instance", lambda mx: mx.init.create(mx.init.Zero(), 2))
error("create mixed", lambda mx: mx.init.create(mx.init.Mixed([], [])))
error("register", lambda mx: mx.init.register(int))


@lambda f: value("own class", f)
def _(mx):
    class Tenth(mx.init.Initializer):
        def _init_weight(self, name, array):
            array[:] = 0.5

        def _init_bias(self, name, array):
            array[:] = 2

        def _init_default(self, name, array):
            array[:] = 3

    mx.init.register(mx.init.alias("tenths")(Tenth))
    initializer = mx.init.create("tenths")
    return [initializer.dumps(), mx.init.create(initializer.dumps()).dumps()] + [
        initialised(mx, initializer, name) for name in ("w_weight", "w_bias", "w_gamma", "w_other")
    ]


for _text in ('["one", {}]', "ones", '["Constant", {"value": 0.25}]', '["lstmbias", {}]'):
    value(
        f"own {_text}",
        lambda mx, t=_text: initialised(mx, mx.init.Zero(), "x", attrs={"__init__": t}),
    )
error("own oness", lambda mx: initialised(mx, mx.init.Zero(), attrs={"__init__": "oness"}))
value(
    "own fused",
    lambda mx: initialised(
        mx, mx.init.Constant(2), "x", (56,),
        attrs={"__init__": mx.init.FusedRNN(None, 2, 1, "lstm").dumps()},
    ),
)  # fmt: skip


@lambda f: value("network", f)
def _(mx):
    """All parameters of a network, as a Module initialises them."""
    variable = mx.sym.var("own", shape=(5,), init=mx.init.Constant(np.arange(5.0)))
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc")
    data = mx.sym.BatchNorm(mx.sym.broadcast_mul(data, variable), name="bn", fix_gamma=False)
    data = mx.sym.LeakyReLU(data, act_type="prelu", name="act")
    args, _, states = data.infer_shape(data=(2, 3))
    shapes = dict(zip(data.list_arguments(), args, strict=True))
    shapes.update(zip(data.list_auxiliary_states(), states, strict=True))
    attrs = data.attr_dict()
    init = mx.init.Mixed([".*"], [mx.init.Constant(0.5)])
    return {
        name: initialised(mx, init, name, shape, attrs=attrs.get(name))
        for name, shape in shapes.items()
        if name != "data"
    }


@lambda f: value("global", f)
def _(mx):
    init, desc = mx.init.One(), mx.init.InitDesc("a_weight", {"__init__": "zeros"})
    values = [desc == "a_weight", desc.attrs, desc.global_init is None]
    init(desc, mx.nd.zeros((2,)))
    return [*values, desc.global_init is init, mx.init.InitDesc("b").attrs]


@lambda f: value("mixed", f)
def _(mx):
    init = mx.init.Mixed([".*bias", "fc", ".*"], [mx.init.Zero(), mx.init.One(), mx.init.Zero()])
    return [initialised(mx, init, n) for n in ("a_bias", "fc_weight", "a_fc_weight", "fc_gamma")]


error("mixed unknown end", lambda mx: initialised(mx, mx.init.Mixed([".*"], [mx.init.One()]), "x"))
error("mixed no pattern", lambda mx: initialised(mx, mx.init.Mixed(["a"], [mx.init.One()]), "x"))
error("mixed lengths", lambda mx: mx.init.Mixed(["a"], []))
error("mixed pattern", lambda mx: mx.init.Mixed(["*"], [mx.init.One()]))


def _loader(mx, **kwargs):
    arrays = {"arg:a": 2, "aux:b": 3, "c": 4}
    return mx.init.Load({k: mx.nd.full((2,), v) for k, v in arrays.items()}, **kwargs)


@lambda f: value("load", f)
def _(mx):
    init = _loader(mx, default_init=mx.init.One())
    names = ("a", "b", "c", "d_weight", "d_bias")
    values = [initialised(mx, init, n, (2,)) for n in names]
    return [*values, initialised(mx, init, "a", (2,), "int32"), sorted(init.param), init.verbose]


error("load shape", lambda mx: initialised(mx, _loader(mx), "a", (3,)))
error("load missing", lambda mx: initialised(mx, _loader(mx), "d"))
error("load list", lambda mx: mx.init.Load([mx.nd.ones((1,))]))
error("load no file", lambda mx: mx.init.Load("/nonexistent/file.params"))

error("constant shape", lambda mx: initialised(mx, mx.init.Constant([1, 2, 3])))
error("constant text", lambda mx: initialised(mx, mx.init.Constant("a")))
error("base weight", lambda mx: initialised(mx, mx.init.Initializer()))
error("bilinear three axes", lambda mx: initialised(mx, mx.init.Bilinear(), shape=(2, 3, 4)))
error("hash", lambda mx: hash(mx.init.Zero()))
error("fused length", lambda mx: initialised(mx, mx.init.FusedRNN(mx.init.One(), 2, 1, "lstm"),
                                              shape=(57,)))  # fmt: skip
error("fused short", lambda mx: initialised(mx, mx.init.FusedRNN(mx.init.One(), 2, 1, "lstm"),
                                             shape=(16,)))  # fmt: skip
error("uniform negative", lambda mx: initialised(mx, mx.init.Uniform(-1)))
error("normal 0", lambda mx: initialised(mx, mx.init.Normal(0)))
error("uniform int32", lambda mx: initialised(mx, mx.init.Uniform(3), dtype="int32"))
error("normal int8", lambda mx: initialised(mx, mx.init.Normal(3), dtype="int8"))
error("orthogonal vector", lambda mx: initialised(mx, mx.init.Orthogonal(), shape=(5,)))
error("xavier vector", lambda mx: initialised(mx, mx.init.Xavier(), shape=(5,)))
error("xavier type", lambda mx: initialised(mx, mx.init.Xavier(rnd_type="even")))
error("xavier factor", lambda mx: initialised(mx, mx.init.Xavier(factor_type="both")))
error("xavier negative", lambda mx: initialised(mx, mx.init.Xavier(magnitude=-1)))
error("xavier magnitude", lambda mx: mx.init.Xavier(magnitude="a"))
error("variable", lambda mx: mx.sym.var("x", init=3))


@lambda f: value("verbose", f)
def _(mx):
    """The log without its wording: the name, the kind and the statistic of each array."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        init = mx.init.Constant(2).set_verbosity(True)
        initialised(mx, init)
        initialised(mx, init, "fc_bias")
        initialised(mx, init, "x", attrs={"__init__": "ones"})
        initialised(mx, init.set_verbosity(True, lambda array: str(array.size)), "fc_gamma")
        initialised(mx, init.set_verbosity(False))
        loader = _loader(mx, default_init=mx.init.One(), verbose=True)
        initialised(mx, loader, "a", (2,))
        initialised(mx, loader, "d_weight", (2,))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    pattern = r"fc_\w+|d_weight|\b(?:x|a|ones|bias|weight|gamma)\b|[\d.]+\d"
    return [sorted(re.findall(pattern, line)) for line in lines]


def spread(name, make, *shape):
    SPREADS[name] = (make, shape)


spread("uniform", lambda init: init.Uniform(), 200, 300)
spread("uniform 3", lambda init: init.Uniform(3), 200, 300)
spread("normal", lambda init: init.Normal(), 200, 300)
spread("normal 2", lambda init: init.Normal(2), 200, 300)
for _kind in ("uniform", "gaussian"):
    for _factor in ("avg", "in", "out"):
        for _shape in ((200, 300), (40, 30, 7, 7), (60, 100, 10)):
            spread(
                f"xavier {_kind} {_factor} {len(_shape)}",
                lambda init, k=_kind, f=_factor: init.Xavier(k, f, 2.34),
                *_shape,
            )
spread("prelu", lambda init: init.MSRAPrelu(), 200, 300)
spread("prelu in 0", lambda init: init.MSRAPrelu("in", 0), 40, 30, 7, 7)
spread("orthogonal", lambda init: init.Orthogonal(), 200, 300)
spread("orthogonal tall", lambda init: init.Orthogonal(2.0, "normal"), 300, 20, 3, 3)
spread("fused", lambda init: init.FusedRNN(init.Uniform(2), 64, 2, "gru", True), 136704)


def moments(array):
    """Mean, standard deviation, and largest magnitude in standard deviations."""
    wide = array.astype(np.float64)
    return [wide.mean(), wide.std(), np.abs(wide).max() / wide.std()]
