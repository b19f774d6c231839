"""Initializers write what MXNet's write; random ones numbers of the same distribution."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import executorkit as mx
from executorkit.initializer import InitDesc
from tests._tools.answers import differences, stored_answers
from tests.golden.cases import _initializer as cases

ANSWERS = stored_answers("initializer")


def weight(init, *shape, dtype="float32", ctx=None):
    array = mx.nd.zeros(shape, ctx, dtype)
    init(InitDesc("fc_weight"), array)
    return array.asnumpy()


def test_every_script_has_an_answer():
    assert set(ANSWERS["values"]) == set(cases.VALUES)
    assert set(ANSWERS["errors"]) == set(cases.ERRORS)
    assert set(ANSWERS["spreads"]) == set(cases.SPREADS)


@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("name", cases.VALUES)
def test_value(name):
    ours = json.loads(json.dumps(cases.VALUES[name](mx)))
    assert not list(differences(ours, ANSWERS["values"][name], name))


@pytest.mark.parametrize("name", cases.ERRORS)
def test_error_is_of_the_same_class(name):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        cases.ERRORS[name](mx)
    theirs = ANSWERS["errors"][name].replace("JSONDecode", "Value")
    assert theirs in [c.__name__ for c in type(caught.value).__mro__]


@pytest.mark.parametrize("name", cases.SPREADS)
def test_random_numbers_spread_as_in_mxnet(name):
    make, shape = cases.SPREADS[name]
    ours = cases.moments(weight(make(mx.init), *shape))
    mean, deviation, largest = ANSWERS["spreads"][name]
    # Standard errors of 55000 numbers are 0.4 % of the deviation.
    assert abs(ours[0] - mean) < 0.025 * deviation
    assert ours[1] == pytest.approx(deviation, rel=0.015)
    assert ours[2] == pytest.approx(largest, rel=0.3 if largest > 2 else 0.02)


@pytest.mark.parametrize("shape", [(5, 8), (8, 5), (6, 2, 3), (40, 3, 3, 3)])
@pytest.mark.parametrize("rand_type", ["uniform", "normal"])
def test_orthogonal_rows_or_columns(shape, rand_type):
    matrix = weight(mx.init.Orthogonal(2.0, rand_type), *shape).reshape(shape[0], -1)
    product = matrix @ matrix.T if len(matrix) <= len(matrix.T) else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


RANDOM = [
    mx.init.Uniform(), mx.init.Normal(), mx.init.Orthogonal(), mx.init.Xavier(),
    mx.init.MSRAPrelu(), mx.init.Mixed([".*"], [mx.init.Xavier("gaussian")]),
]  # fmt: skip


@pytest.mark.parametrize("init", RANDOM, ids=lambda init: type(init).__name__)
def test_seed_makes_runs_reproducible(init):
    runs = []
    for seed in (3, 3, 4):
        mx.random.seed(seed)
        runs.append([weight(init, 4, 5), weight(init, 4, 5)])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.allclose(runs[0][0], runs[0][1])
    assert not np.allclose(runs[0], runs[2])


def test_every_context_has_its_own_stream():
    mx.random.seed(3)
    first = weight(mx.init.Xavier(), 4, 5, ctx=mx.cpu(0))
    assert not np.allclose(first, weight(mx.init.Xavier(), 4, 5, ctx=mx.cpu(1)))
    mx.random.seed(3)
    weight(mx.init.Xavier(), 4, 5, ctx=mx.cpu(1))
    np.testing.assert_array_equal(first, weight(mx.init.Xavier(), 4, 5, ctx=mx.cpu(0)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_random_numbers_in_other_types(dtype):
    drawn = weight(mx.init.Uniform(2), 50, 40, dtype=dtype)
    assert drawn.dtype == dtype
    wide = drawn.astype(np.float64)
    assert abs(wide.std() - 4 / np.sqrt(12)) < 0.05
    assert np.abs(wide).max() <= 2
    assert len(np.unique(wide)) > (1990 if dtype == "float64" else 100)


@pytest.mark.usefixtures("compiled")
def test_initialising_compiles_nothing(caplog):
    with caplog.at_level(logging.DEBUG, "jax"):
        for i in range(2, 12):
            weight(mx.init.Xavier(), i, 7)
            weight(mx.init.Orthogonal(), i, 7)
            weight(mx.init.One(), i, 7)
            weight(mx.init.LSTMBias(), i, 7)
        weight(mx.init.FusedRNN(mx.init.Xavier(), 5, 2, "lstm"), 5 * 4 * (3 + 7) + 5 * 4 * (5 + 7))
    assert not [m for m in caplog.messages if "ompil" in m]
    with caplog.at_level(logging.DEBUG, "jax"):
        (mx.nd.ones((2, 13)) + 1).wait_to_read()
    assert [m for m in caplog.messages if "ompil" in m]


def test_quantized_weights_are_drawn_independently():
    array = mx.nd.zeros((100, 30), dtype="int8")
    mx.init.One()(InitDesc("fc_weight_quantize"), array)
    values = array.asnumpy()
    assert values.min() == -127
    assert values.max() == 126
    assert len(np.unique(values)) == 254


def test_fused_parameters_use_the_named_initializers_for_every_gate():
    names = []

    class Numbered(mx.init.Initializer):
        def __call__(self, desc, arr):
            names.append((str(desc), arr.shape))
            arr[:] = len(names)

    packed = weight(mx.init.FusedRNN(Numbered(), 2, 1, "gru", True), 2 * 2 * 3 * (3 + 2 + 2))
    kinds = [
        (f"{side}0_{group}_{gate}_{what}", shape)
        for what, shapes in (("weight", ((2, 3), (2, 2))), ("bias", ((2,), (2,))))
        for side in "lr"
        for group, shape in zip(("i2h", "h2h"), shapes, strict=True)
        for gate in "rzo"
    ]
    assert names == kinds
    sizes = [int(np.prod(shape)) for _, shape in names]
    np.testing.assert_array_equal(packed, np.repeat(np.arange(1, len(names) + 1), sizes))


def test_fused_initializer_is_recreated_from_its_text():
    init = mx.init.FusedRNN(mx.init.Constant(2), 2, 1, "lstm", forget_bias=3.0)
    again = mx.init.create(init.dumps())
    assert again == init
    np.testing.assert_array_equal(weight(again, 56), weight(init, 56))


def test_array_constants_are_dumped_and_compared():
    recreated = [mx.init.Constant(v) for v in ([1, 2], np.array([1, 2]), np.float32(2))]
    assert [m.dumps() for m in recreated] == [
        '["constant", {"value": [1, 2]}]',
        '["constant", {"value": [1, 2]}]',
        '["constant", {"value": 2.0}]',
    ]
    assert recreated[0] == recreated[1]
    assert recreated[0] != recreated[2]


MESSAGES = {
    "unknown": (
        lambda: mx.init.One()(InitDesc("fc_scale"), mx.nd.zeros((2,))),
        "One: parameter 'fc_scale': nothing is known about names that end so\n"
        "  because known ends are weight, bias, gamma, beta, min, max, weight_quantize, "
        "bias_quantize\n"
        "  try: mx.sym.var('fc_scale', init=mx.init.Zero()), or mx.init.Mixed",
    ),
    "vector": (
        lambda: weight(mx.init.Xavier(), 5),
        "Xavier: parameter 'fc_weight': shape (5,), expected at least two axes, outputs and inputs"
        "\n  try: mx.init.Mixed, or init= of the variable",
    ),
    "type": (
        lambda: weight(mx.init.Xavier("normal"), 5, 2),  # type: ignore[arg-type]
        "Xavier: parameter 'fc_weight': rnd_type is 'normal', expected one of 'uniform', "
        "'gaussian'",
    ),
    "load": (
        lambda: mx.init.Load({"arg:a": mx.nd.zeros((2,))})("b", mx.nd.zeros((2,))),
        "Load: parameter 'b': it is not among the loaded arrays\n"
        "  because they are a\n"
        "  try: default_init=mx.init.Xavier()",
    ),
    "mixed": (
        lambda: mx.init.Mixed(["a"], [mx.init.One()])("b", mx.nd.zeros((2,))),
        "Mixed: parameter 'b': no pattern fits\n"
        "  because they are 'a'\n"
        "  try: '.*' as the last pattern",
    ),
    "fused": (
        lambda: weight(mx.init.FusedRNN(mx.init.One(), 2, 1, "lstm"), 57),
        "packed parameters of recurrent layers: there are 57, expected 40, 48, 56, ... for 1, 2, "
        "3, ... input features\n"
        "  because they are 1 layers of 2 units, 1 direction(s), 4 gate(s)",
    ),
    "fused alone": (
        lambda: mx.init.FusedRNN(None, 2, 1, "lstm")(InitDesc("a_weight"), mx.nd.zeros((56,))),
        "FusedRNN: parameter 'a_weight': no initializer for the weights inside\n"
        "  because both init and the network's initializer are None\n"
        "  try: init=mx.init.Xavier()",
    ),
    "mode": (
        lambda: mx.init.FusedRNN(None, 2, 1, "elman"),  # type: ignore[arg-type]
        "recurrent layers: mode is 'elman', expected one of 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'",
    ),
    "dtype": (
        lambda: weight(mx.init.Uniform(), 2, 2, dtype="int32"),
        "initializer: an array of int32, expected a floating type for random ones",
    ),
    "orthogonal": (
        lambda: weight(mx.init.Orthogonal(rand_type="even"), 2, 2),  # type: ignore[arg-type]
        "Orthogonal: parameter 'fc_weight': rand_type is 'even', expected 'uniform' or 'normal'",
    ),
    "base": (
        lambda: weight(mx.init.Initializer(), 2, 2),
        "Initializer: parameter 'fc_weight': this initializer has no _init_weight\n"
        "  try: mx.init.Xavier(), or write _init_weight(name, array)",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    function, text = MESSAGES[name]
    with pytest.raises((mx.MXNetError, NotImplementedError)) as caught:
        function()
    assert str(caught.value) == text
