"""``to_optax`` gives an updater's trajectory, compiled, in plain optax loops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import executorkit as mx
from tests.golden.cases import _optimizers
from tests.golden.cases._optimizers import NAMES, RUNS, Run

_KEYS = [
    key.removesuffix("|")
    for key in RUNS
    if key.endswith("|") and not key.startswith(("ccsgd", "adam_", "lbsgd_other", "lbsgd_epoch"))
]
_TUNED = {"wd": 0.05, "clip_gradient": 0.9, "rescale_grad": 0.5}


def both(case: Run, names: list[str] | None):
    """The weights that an updater and a compiled optax loop arrive at, and the transformation."""
    updater = _optimizers.new_updater(mx, case)
    *_, (_, weights) = _optimizers.train(mx, updater, case)
    tx: Any = _optimizers.make(mx, case).to_optax(names)
    first, grads = _optimizers.values(case)
    params = {NAMES[i]: jnp.asarray(w) for i, w in first.items()}
    state = jax.jit(tx.init)(params)

    @jax.jit
    def step(params, state, grads):
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for all_grads in grads:
        params, state = step(params, state, {NAMES[i]: g for i, g in all_grads.items()})
    assert step._cache_size() == 1  # type: ignore[attr-defined]
    theirs = {NAMES[i]: w.asnumpy() for i, w in weights.items()}
    return theirs, {n: np.asarray(x) for n, x in params.items()}, state


def assert_same(case: Run, names: list[str] | None, tolerance: float = 2e-6) -> None:
    theirs, ours, state = both(case, names)
    assert int(state.count) == case.options.get("begin_num_update", 0) + _optimizers.STEPS
    for name, x in theirs.items():
        assert ours[name].dtype == x.dtype
        np.testing.assert_allclose(ours[name], x, rtol=tolerance, atol=tolerance * np.abs(x).max())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", _KEYS)
def test_same_trajectory(key: str) -> None:
    base = RUNS[f"{key}|"]
    tuned = _TUNED if base.name != "groupadagrad" else {"rescale_grad": 0.5, "clip_gradient": 0.9}
    case = Run(base.name, {**base.options, **tuned}, ways=("poly", "named", "multipliers"))
    assert_same(case, list(NAMES.values()))


@pytest.mark.parametrize("key", ["lars_momentum|later", "lbsgd_sqrt|later", "nadam|factor"])
def test_names_alone_are_enough(key: str) -> None:
    """Without names parameters are updated in the order of sorted names, which is here the same."""
    case = RUNS[key]
    order = dict(enumerate(sorted(NAMES.values())))
    theirs, ours, _ = both(case, list(order.values()))
    tx: Any = _optimizers.make(mx, case).to_optax()
    assert theirs.keys() == ours.keys()
    first, _ = _optimizers.values(case)
    params = {NAMES[i]: jnp.asarray(w) for i, w in first.items()}
    assert list(tx.init(params).states) == sorted(NAMES.values())


@pytest.mark.parametrize("key", ["sgd_momentum|mixed", "adam|mixed", "nag_momentum|mixed"])
def test_half_precision_weights_follow_their_masters(key: str) -> None:
    assert_same(RUNS[key], list(NAMES.values()), 2e-3)


def test_multipliers_of_the_symbol_and_nested_names() -> None:
    net = mx.sym.FullyConnected(
        mx.sym.var("data"), mx.sym.var("fc_weight", lr_mult=0.5), num_hidden=2, name="fc"
    )
    tx: Any = mx.optimizer.create("sgd", learning_rate=1.0, sym=net).to_optax()
    params = {"fc": {"weight": jnp.ones((2, 3)), "bias": jnp.ones(2)}}
    grads = jax.tree.map(jnp.ones_like, params)
    updates, _ = tx.update(grads, tx.init(params), params)
    np.testing.assert_allclose(updates["fc"]["weight"], -0.5)
    np.testing.assert_allclose(updates["fc"]["bias"], -1.0)


def test_names_decide_what_is_not_decayed() -> None:
    optimizer = mx.optimizer.create("sgd", learning_rate=1.0, wd=0.1)
    params = {"a_weight": jnp.ones(2), "a_bias": jnp.ones(2)}
    grads = jax.tree.map(jnp.zeros_like, params)
    for names, decay in ((None, 0.1), (["a_weight", "a_bias"], 0.0)):
        tx: Any = optimizer.to_optax(names)
        updates, _ = tx.update(grads, tx.init(params), params)
        np.testing.assert_allclose(updates["a_weight"], -0.1, rtol=1e-6)
        np.testing.assert_allclose(updates["a_bias"], -decay, rtol=1e-6)


def test_learning_rate_of_the_call_has_priority() -> None:
    tx: Any = mx.optimizer.create("sgd", learning_rate=1.0).to_optax()
    params = {"w": jnp.ones(2)}
    updates, _ = jax.jit(tx.update)(params, tx.init(params), params, learning_rate=0.25)
    np.testing.assert_allclose(updates["w"], -0.25)


def test_works_inside_other_transformations() -> None:
    inner = mx.optimizer.create("adam", learning_rate=0.1).to_optax()
    tx: Any = optax.chain(
        optax.clip_by_global_norm(1.0), optax.masked(inner, {"a": True, "b": False})
    )
    params = {"a": jnp.ones(3), "b": jnp.ones(2)}
    updates, state = tx.update(params, tx.init(params), params)
    np.testing.assert_allclose(updates["a"], -0.1, rtol=1e-5)
    np.testing.assert_allclose(updates["b"], 1 / np.sqrt(5), rtol=1e-5)
    assert jax.tree.structure(state) == jax.tree.structure(tx.init(params))


def test_noise_repeats_with_its_key_and_changes_with_the_step() -> None:
    optimizer = mx.optimizer.create("sgld", learning_rate=0.01)
    params = {"a": jnp.zeros(1000), "b": jnp.zeros(1000)}

    def noise(key):
        tx: Any = optimizer.to_optax(key=key)
        state = tx.init(params)
        one, state = tx.update(params, state, params)
        two, _ = jax.jit(tx.update)(params, state, params)
        return [np.asarray(u[n]) for u in (one, two) for n in ("a", "b")]

    first, again = noise(jax.random.key(1)), noise(jax.random.key(1))
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y)
        assert abs(x.std() - 0.1) < 0.01
    assert np.abs(np.corrcoef([*first, noise(None)[0]]) - np.eye(5)).max() < 0.15


def test_later_changes_of_the_optimizer_do_not_matter() -> None:
    optimizer = mx.optimizer.create("sgd", learning_rate=1.0)
    tx: Any = optimizer.to_optax()
    optimizer.set_learning_rate(5.0)
    optimizer.set_lr_mult({"w": 3.0})
    params = {"w": jnp.ones(2)}
    updates, _ = tx.update(params, tx.init(params), params)
    np.testing.assert_allclose(updates["w"], -1.0)


class _Halving(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update: int) -> float:
        return 0.5**num_update


class _Mine(mx.optimizer.Adam):
    def update(self, index, weight, grad, state) -> None:
        weight[:] -= grad


def test_errors() -> None:
    params = {"w": jnp.ones(2)}
    with pytest.raises(NotImplementedError, match="so that a program cannot") as caught:
        mx.optimizer.create("sgd", lr_scheduler=_Halving()).to_optax().init(params)
    assert isinstance(caught.value, mx.MXNetError)
    with pytest.raises(NotImplementedError, match="_Mine: its class overrides update"):
        _Mine().to_optax()
    tx: Any = mx.optimizer.create("sgd").to_optax(["v"])
    with pytest.raises(KeyError) as caught:
        tx.init(params)
    assert str(caught.value) == ("to_optax: parameter 'w' is not among the names given\n  try: v")
    tx: Any = mx.optimizer.create("sgd").to_optax()
    with pytest.raises(TypeError, match="params are not given"):
        tx.update(params, tx.init(params))
