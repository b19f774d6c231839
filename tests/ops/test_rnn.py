"""RNN beyond the golden answers: features that MXNet's CPU build lacks, and randomness."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from executorkit import ops
from executorkit.errors import AttributeValueError
from executorkit.ops.schema.inference import ShapeFacts

RNN = ops.lookup("RNN")
assert RNN is not None
T, N, H, SIZE = 5, 3, 4, 3


def make(mode: str = "lstm", **attrs: Any):
    """Parsed attributes and random inputs of the shapes that inference gives."""
    p = RNN.parse({"state_size": H, "num_layers": 2, "mode": mode, **attrs})
    facts = ShapeFacts("RNN", dict.fromkeys((*RNN.inputs(p), "out0")))
    facts["data"] = (T, N, SIZE)
    RNN.infer_shape(facts, p)
    rng = np.random.default_rng(0)
    return p, {n: rng.uniform(-0.6, 0.6, facts[n]).astype("f4") for n in RNN.inputs(p)}


def run(p, arrays, **keywords):
    return RNN.apply(p, [jnp.asarray(a) for a in arrays.values()], **keywords)


@pytest.mark.parametrize("mode", ["gru", pytest.param("lstm", marks=pytest.mark.slow)])
def test_sequence_length_equals_running_each_sequence_alone(mode):
    attrs = {"bidirectional": True, "state_outputs": True}
    p, arrays = make(mode, use_sequence_length=True, **attrs)
    lengths = [2, 5, 1]
    arrays["sequence_length"] = np.array(lengths, "f4")
    got = run(p, arrays)
    alone, _ = make(mode, **attrs)
    for n, length in enumerate(lengths):
        one = {k: a[:, n : n + 1] for k, a in arrays.items() if k.startswith("state")}
        one = {
            "data": arrays["data"][:length, n : n + 1],
            "parameters": arrays["parameters"],
            **one,
        }
        expected = run(alone, one)
        np.testing.assert_allclose(got[0][:length, n], expected[0][:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(got[0][length:, n], 0)
        for ours, theirs in zip(got[1:], expected[1:], strict=True):
            np.testing.assert_allclose(ours[:, n], theirs[:, 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("mode", "attrs"),
    [
        pytest.param("lstm", {"projection_size": 2, "state_outputs": True}, marks=pytest.mark.slow),
        ("gru", {"use_sequence_length": True, "bidirectional": True}),
        # Here MXNet's float64 gradient of the inner layer's weights is not the derivative.
        pytest.param("rnn_tanh", {"num_layers": 3, "bidirectional": True}, marks=pytest.mark.slow),
    ],
)
def test_gradient_is_the_derivative(mode, attrs):
    with jax.enable_x64(True):
        p, arrays = make(mode, **attrs)
        fixed = {k: np.array([2.0, 5.0, 1.0]) for k in arrays if k == "sequence_length"}
        moving = {k: jnp.asarray(a, "f8") for k, a in arrays.items() if k not in fixed}
        check_grads(lambda m: run(p, {**m, **fixed}), (moving,), order=1, modes=["rev"])


def test_state_clip_bounds_the_cell():
    p, arrays = make(state_outputs=True, lstm_state_clip_min=-0.01, lstm_state_clip_max=0.02)
    _, _, cell = run(p, arrays)
    assert float(cell.min()) >= -0.01
    assert float(cell.max()) <= 0.02 + 1e-8


@pytest.mark.parametrize(("nan", "stays"), [(True, True), (False, False)])
def test_state_clip_and_nan(nan, stays):
    p, arrays = make(lstm_state_clip_min=-1, lstm_state_clip_max=1, lstm_state_clip_nan=nan)
    arrays["state_cell"][...] = np.nan
    (out,) = run(p, arrays)
    assert bool(jnp.isnan(out).any()) is stays


def test_dropout_between_layers_only_in_training():
    p, arrays = make("gru", p=0.5)
    plain, _ = make("gru")
    (expected,) = run(plain, arrays)
    (still,) = run(p, arrays, key=jax.random.key(1), train=False)
    np.testing.assert_array_equal(still, expected)
    (a,) = run(p, arrays, key=jax.random.key(1), train=True)
    (again,) = run(p, arrays, key=jax.random.key(1), train=True)
    (b,) = run(p, arrays, key=jax.random.key(2), train=True)
    np.testing.assert_array_equal(a, again)
    assert float(jnp.abs(a - b).max()) > 1e-3
    one, arrays = make("gru", p=0.5, num_layers=1)
    trained = run(one, arrays, key=jax.random.key(1), train=True)
    np.testing.assert_array_equal(trained[0], run(one, arrays)[0])


def test_program_does_not_grow_with_the_sequence():
    def lines(steps: int) -> int:
        p, arrays = make(bidirectional=True)
        arrays["data"] = np.zeros((steps, N, SIZE), "f4")

        def loss(arrays):
            return run(p, arrays)[0].sum()

        return len(jax.jit(jax.grad(loss)).lower(arrays).as_text().splitlines())

    assert lines(30) == lines(300)


def test_projection_needs_lstm():
    with pytest.raises(AttributeValueError) as error:
        make("gru", projection_size=2)
    assert str(error.value) == (
        "operator RNN: projection_size=2 with mode='gru'\n"
        "  because only lstm has a projection\n"
        "  try: mode='lstm'"
    )
