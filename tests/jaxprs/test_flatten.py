"""The flattener: what it inlines, which branches it takes, and what is needed for results."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from executorkit.jaxprs import FlatProgram, Flattener, bodies, flat_program, needed, output_ids

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def traced(function: Any, *args: Any) -> Any:
    """The closed jaxpr of a function."""
    return jax.make_jaxpr(function)(*args)


def names(program: FlatProgram) -> list[str]:
    """The primitives of a program."""
    return [operation.name for operation in program.operations]


@jax.custom_jvp
def _with_jvp(x: Any) -> Any:
    return jnp.sin(x)


_with_jvp.defjvp(lambda x, t: (jnp.sin(*x), *t))


@jax.custom_vjp
def _with_vjp(x: Any) -> Any:
    return jnp.sin(x)


_with_vjp.defvjp(lambda x: (x, None), lambda _, g: (g,))

CALLS = {
    "jit": jax.jit(jnp.sin),
    "remat2": jax.checkpoint(jnp.sin),
    "custom_jvp_call": _with_jvp,
    "custom_vjp_call": _with_vjp,
    "linear_call": lambda x: jax.custom_derivatives.linear_call(
        lambda _, x: jnp.sin(x), lambda _, g: g, (), x
    ),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_calls_are_inlined(name: str) -> None:
    closed = traced(CALLS[name], X)
    assert [e.primitive.name for e in closed.jaxpr.eqns] == [name]
    program = flat_program(closed)
    assert names(program) == ["sin"]
    np.testing.assert_allclose(program(X)[0], np.sin(X), 1e-6)


def test_a_linear_solver_is_inlined() -> None:
    def function(b: Any) -> Any:
        return lax.custom_linear_solve(lambda x: x * 2, b, lambda _, b: jnp.sin(b))

    assert names(flat_program(traced(function, X))) == ["sin"]


def test_what_only_matters_to_derivatives_goes() -> None:
    closed = traced(lambda x: lax.stop_gradient(checkpoint_name(x, "name")), X)
    program = flat_program(closed)
    assert (program.operations, program.outputs) == ([], program.inputs)


def _by_platform(x: Any) -> Any:
    return lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos, default=jnp.tanh)


@pytest.mark.parametrize(("platform", "name"), [("cpu", "sin"), ("tpu", "cos"), ("cuda", "tanh")])
def test_the_branch_of_a_platform_is_the_one_that_jax_lowers(platform: str, name: str) -> None:
    closed = traced(jax.jit(_by_platform), X)
    assert names(flat_program(closed, platform)) == [name]
    lowered = jax.jit(_by_platform).trace(X).lower(lowering_platforms=(platform,)).as_text()
    operation = {"sin": "sine", "cos": "cosine", "tanh": "tanh"}[name]
    assert [o for o in ("sine", "cosine", "tanh") if f"stablehlo.{o}" in lowered] == [operation]


def test_a_choice_without_a_branch_for_the_platform_stays_for_jax_to_refuse() -> None:
    def function(x: Any) -> Any:
        return lax.platform_dependent(x, cuda=jnp.sin, tpu=jnp.cos)

    program = flat_program(traced(function, X), "cpu")
    assert names(program) == ["platform_index", "cond"]
    for refused in (function, program):
        with pytest.raises(NotImplementedError, match="platform_index"):
            jax.jit(refused)(X)


def test_a_program_for_any_platform_keeps_the_choice() -> None:
    program = flat_program(traced(_by_platform, X))
    assert names(program) == ["platform_index", "cond"]
    np.testing.assert_allclose(jax.jit(program)(X)[0], np.sin(X), 1e-6)


@pytest.mark.parametrize(("predicate", "name"), [(True, "sin"), (False, "cos")])
def test_the_branch_of_a_known_number_is_taken(predicate: bool, name: str) -> None:
    closed = traced(lambda x: lax.cond(predicate, jnp.sin, jnp.cos, x), X)
    assert [e.primitive.name for e in closed.jaxpr.eqns] == ["cond"]
    assert names(flat_program(closed)) == [name]


def test_branches_and_loops_on_data_stay_whole() -> None:
    def function(x: Any) -> Any:
        y = lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)
        return lax.scan(lambda c, row: (c + row, None), y[0], y)[0]

    closed = traced(function, X)
    assert {"cond", "scan"} <= set(names(flat_program(closed)))
    count = {e.primitive.name: len(bodies(e)) for e in closed.jaxpr.eqns}
    assert (count["cond"], count["scan"], count["gt"]) == (2, 1, 0)


def test_scopes_of_calls_and_equations_are_joined() -> None:
    @jax.jit
    def inner(x: Any) -> Any:
        with jax.named_scope("inside"):
            return jnp.sin(x)

    def function(x: Any) -> Any:
        with jax.named_scope("outside"):
            return inner(x)

    program = flat_program(traced(function, X))
    assert [str(scope) for scope in program.operations[0].scopes] == ["outside", "inside"]
    assert "outside/inside/sin" in jax.jit(program).lower(X).as_text(debug_info=True)


def test_constants_of_an_open_jaxpr_are_its_first_inputs() -> None:
    closed = traced(lambda x: x + jnp.asarray(X), X)
    program = flat_program(closed.jaxpr)
    assert len(program.inputs) == 1 + len(closed.consts) == 2
    assert len(flat_program(closed).inputs) == 1


def test_dead_operations_are_dropped_unless_they_have_effects() -> None:
    def function(x: Any) -> Any:
        jnp.exp(x)
        jax.debug.callback(lambda _: None, jnp.cos(x))
        return jnp.sin(x)

    program = flat_program(traced(function, X))
    assert names(program) == ["cos", "debug_callback", "sin"]
    assert names(FlatProgram(program.inputs, program.operations[2:], program.outputs)) == ["sin"]
    assert needed(program.operations[:1], ()) == []


def test_equal_results_share_an_identifier() -> None:
    @jax.jit
    def inner(x: Any, y: Any) -> Any:
        z = jnp.sin(x)
        return z, y, z

    def function(x: Any, y: Any) -> Any:
        first, second, third = inner(x, y)
        return first, second, third, jax.checkpoint(jnp.sin)(x), lax.stop_gradient(x)

    ids = output_ids(traced(function, X, X))
    assert ids[0] == ids[2] != ids[3]
    assert (ids[1], ids[4]) == (1, 0)


def test_subclasses_say_what_a_value_is() -> None:
    class Depths(Flattener[int]):
        """The number of equations in a row before each value."""

        def constant(self, aval: Any, contents: Any) -> int:
            return 0

        def equation(self, equation: Any, inputs: tuple[int, ...]) -> list[int]:
            return [max(inputs) + 1] * len(equation.outvars)

    closed = traced(lambda x: (x, jax.jit(lambda x: jnp.sin(x) + x)(jnp.cos(x)), 3.0), X)
    assert Depths().flatten(closed, [0]) == [0, 3, 0]
