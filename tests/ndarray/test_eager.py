"""Operators called on arrays: what compiles and what does not, options, devices, error texts."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import ndarray as nd
from executorkit.calls import resolved_calls, ways
from executorkit.context import cpu
from executorkit.errors import AttributeValueError, DTypeError, MXNetError, ShapeError
from executorkit.ndarray import _array_operators
from executorkit.ops import Params, all_ops, lookup, register
from executorkit.ops.schema import operator_registry as _registry
from executorkit.ops.schema.calls import call_doc, namespace_entries
from executorkit.ops.schema.traits import NEEDS_NUMBERS, NEEDS_VALUES
from executorkit.ops.tracing import this_process_only
from tests._tools import golden as _golden


def _traces() -> int:
    return nd.eager_cache_info().traces


@pytest.fixture
def x() -> nd.NDArray:
    return nd.arange(6).reshape((2, 3))


@pytest.fixture
def my_operator():
    """An operator that is registered during a test."""
    names: list[str] = []

    def add(name: str, function) -> None:
        names.append(name)
        register(name)(function)

    yield add
    for name in names:
        del _registry._OPS[name]
        for namespace in (nd, nd.op):
            vars(namespace).pop(name, None)


def test_equal_calls_compile_once(x):
    nd.sum(x, axis=1)
    before = nd.eager_cache_info()
    nd.sum(x + 0, axis=(1,))
    nd.sum(x, axis="1")  # type: ignore[reportArgumentType]
    after = nd.eager_cache_info()
    assert after.traces <= before.traces + 1  # the addition's, if it is the first
    assert after.hits >= before.hits + 2


def test_another_shape_traces_again(x):
    nd.sum(x, axis=1)
    before = _traces()
    nd.sum(nd.ones((4, 5)), axis=1)
    assert _traces() == before + 1


@pytest.mark.parametrize(
    ("name", "attrs", "count"),
    [("relu", {}, 1), ("elemwise_mul", {}, 2), ("broadcast_add", {}, 2), ("exp", {}, 1),
     ("_plus_scalar", {"scalar": 2.5}, 1), ("_greater_scalar", {"scalar": 0.0}, 1),
     ("Activation", {"act_type": "tanh"}, 1), ("add_n", {"num_args": 3}, 3)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.usefixtures("automatic")
def test_new_shapes_of_small_elementwise_calls_are_not_traced(name, attrs, count, dtype):
    rng = np.random.default_rng(0)

    def call(*shape: int) -> tuple[np.ndarray, list[np.ndarray]]:
        values = [rng.standard_normal(shape).astype(dtype) for _ in range(count)]
        arrays = [nd.array(x, dtype=dtype) for x in values]
        return ways.call(name, *arrays, **attrs).asnumpy(), values

    ways.clear_eager_cache()  # other tests may have had programs compiled
    call(2, 3)
    before = _traces()
    shapes = [(1, 1), (3, 2), (7, 5), (1, 9), (12, 12)]
    results = [call(*shape) for shape in shapes]
    assert _traces() == before
    op = lookup(name)
    p = op.parse(attrs)
    for shape, (result, values) in zip(shapes, results, strict=True):
        with jax.enable_x64(True):
            (expected,) = jax.jit(lambda *xs: op.apply(p, xs))(*values)
        assert result.shape == shape
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, 2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.usefixtures("automatic")
def test_new_shapes_are_broadcast_and_checked_without_a_trace():
    def add(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> nd.NDArray:
        return nd.broadcast_add(nd.ones(lhs), nd.ones(rhs))

    ways.clear_eager_cache()
    add((2, 3), (1, 3))
    before = _traces()
    for lhs, rhs, shape in [((4, 1), (1, 5), (4, 5)), ((3, 3), (3, 1), (3, 3))]:
        result = add(lhs, rhs)
        assert result.shape == shape
        np.testing.assert_array_equal(result.asnumpy(), np.full(shape, 2))
    assert _traces() == before
    with pytest.raises(ShapeError, match=r"\(4, 2\) and rhs \(4, 3\) do not broadcast"):
        add((4, 2), (4, 3))
    with mx.np_shape():
        assert add((0, 3), (1, 3)).shape == (0, 3)
    with pytest.raises(ShapeError):
        nd.elemwise_add(nd.ones((2, 2)), nd.ones((2, 3)))


@pytest.mark.parametrize("name", ["rint", "trunc"])
@pytest.mark.usefixtures("automatic")
def test_a_plan_of_empty_arrays_serves_no_others(name):
    ways.clear_eager_cache()
    call, values = getattr(mx.np, name), [-0.6, 0.4, 1.6]
    with mx.np_shape():
        assert call(mx.np.zeros((0, 3))).shape == (0, 3)
    assert call(mx.np.array([values])).asnumpy().tolist() == [[*map(getattr(np, name), values)]]


def test_a_large_call_of_a_new_shape_is_not_left_to_numpy():
    ways.clear_eager_cache()
    nd.Activation(nd.ones((2, 2)), act_type="softsign").asnumpy()
    before = _traces()
    nd.Activation(nd.ones((512, 512)), act_type="softsign").asnumpy()
    assert _traces() == before + 1


@pytest.mark.usefixtures("automatic")
def test_more_shapes_than_are_kept():
    ways.clear_eager_cache()
    nd.sqrt(nd.ones((1, 2))).asnumpy()
    before = _traces()
    for n in range(2, 600):
        assert nd.sqrt(nd.full((n, 1), 4)).asnumpy().sum() == 2 * n
    assert _traces() == before


def test_the_arguments_of_equal_calls_are_sorted_once(x, monkeypatch):
    calls = []
    sort = _array_operators.bind_call
    monkeypatch.setattr(
        _array_operators, "bind_call", lambda *args: calls.append(args[2]) or sort(*args)
    )
    _array_operators._resolved_calls.clear()
    results = [nd.sum(x, axis=axis).asnumpy().tolist() for axis in (0, 0, 1, (0,), (0,))]
    assert results == [[3, 5, 7], [3, 5, 7], [3, 12], [3, 5, 7], [3, 5, 7]]
    assert calls == ["sum"] * 3
    # What has another effect, or another type, is sorted anew.
    untyped: Any = nd
    out = nd.zeros((3,))
    for _ in range(2):
        assert nd.sum(x, axis=0, out=out) is out
        untyped.sum(x, axis=np.int64(0))
    for keepdims in (True, 1, True, 1):
        assert untyped.max(x, keepdims=keepdims).shape == (1, 1)
    assert calls[3:] == ["sum"] * 4 + ["max"] * 2


@pytest.mark.parametrize("shapes", [((8, 8), (8, 8)), ((1, 3), (3, 2)), ((2, 0), (0, 3))])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_small_products_are_products(shapes, transposed, dtype):
    a, b = (np.random.default_rng(3).normal(size=shape).astype(dtype) for shape in shapes)
    flags = dict(zip(("transpose_a", "transpose_b"), transposed, strict=True))
    inputs = [
        nd.array(x.T if t else x, dtype=dtype) for x, t in zip((a, b), transposed, strict=True)
    ]
    product = nd.dot(inputs[0], inputs[1], **flags)
    assert product.dtype == np.dtype(dtype)
    limit = 4e-3 if dtype == "float16" else 1e-6
    assert np.abs(product.asnumpy() - a.astype("float64") @ b).max(initial=0) < 8 * limit


def test_products_that_xla_runs_at_once_are_sums():
    op = lookup("dot")

    def primitives(n: int, dtype: str = "float32") -> set[str]:
        with this_process_only():
            x = jax.ShapeDtypeStruct((n, n), dtype)
            jaxpr = jax.make_jaxpr(lambda a, b: op.apply(op.parse({}), (a, b)))(x, x)
        return {equation.primitive.name for equation in jaxpr.eqns}

    assert "dot_general" not in primitives(8)
    assert "dot_general" in primitives(9)
    assert "dot_general" in primitives(8, "float16")


def test_a_changing_number_compiles_nothing(x):
    _ = x * 0.5
    before = _traces()
    assert [float((x * s).sum()) for s in (0.1, 2, -3)] == pytest.approx([1.5, 30, -45])
    x *= 7
    assert _traces() <= before + 1  # the sum's, if it is the first


def test_a_number_is_converted_to_the_integers_of_the_array():
    i = nd.array([1, 2, 3], dtype="int32")
    assert (i * 2.5).asnumpy().tolist() == [2, 4, 6]
    assert (i + 1.5).asnumpy().tolist() == [2, 3, 4]


def test_an_operator_that_decides_by_a_number_gets_it_as_a_constant(x, my_operator):
    def half_or_double(data, *, scalar: float = 1.0):
        """data, halved or doubled."""
        return data / 2 if scalar < 0 else data * 2

    my_operator("half_or_double", half_or_double)
    assert nd.half_or_double(x, scalar=-1).asnumpy()[1, 2] == 2.5
    assert nd.half_or_double(x, scalar=1).asnumpy()[1, 2] == 10


def test_an_operator_whose_shape_depends_on_values_runs_uncompiled(x, my_operator):
    def positive(data):
        """The positive elements of data."""
        return data[data > 0]

    my_operator("positive_elements", positive)
    assert nd.positive_elements(x).asnumpy().tolist() == [1, 2, 3, 4, 5]
    assert nd.positive_elements(x - 3).asnumpy().tolist() == [1, 2]


def test_the_cache_can_be_cleared(x):
    nd.sum(x)
    nd.clear_eager_cache()
    assert nd.eager_cache_info().size == 0
    before = _traces()
    nd.sum(x)
    assert _traces() == before + 1
    assert nd.eager_cache_info().size == 1


def test_a_new_operator_is_found_at_once(x, my_operator):
    def thrice(data, *, times: int = 3):
        """data, ``times`` times."""
        return data * times

    with pytest.raises(AttributeError, match="no attribute 'thrice'"):
        _ = nd.thrice
    my_operator("thrice", thrice)
    assert nd.thrice(x).asnumpy()[1, 2] == 15
    assert nd.op.thrice(x, 2).asnumpy()[1, 2] == 10
    assert "thrice" in dir(nd.op)


def test_every_operator_is_a_function_with_signature_and_docstring():
    modules = {m: getattr(nd, m) for m in ("op", "_internal", "contrib", "linalg", "image")}
    modules["random"] = nd.random
    for module, name, op in namespace_entries():
        function = getattr(modules[module], name)
        assert name in dir(modules[module])
        by_hand = name in getattr(modules[module], "__all__", ())
        if not by_hand:
            parameters = inspect.signature(function).parameters
            assert set(op.array_names) <= set(parameters)
            assert set(op.attrs) <= set(parameters)
            assert op.doc
            assert function.__doc__ == call_doc(op, "ndarray")


def test_results_are_where_the_inputs_are():
    with cpu(1):
        x = nd.ones((2,))
    y = nd.ones((2,), ctx=cpu(2))
    assert (x + 1).context == cpu(1)
    assert (x + y).context == cpu(1)
    assert (x + y).jax.devices() == {cpu(1).device}
    z = nd.zeros((2,), ctx=cpu(3))
    nd.broadcast_add(x, y, out=z)
    assert z.asnumpy().tolist() == [2, 2]
    assert z.jax.devices() == {cpu(3).device}
    assert nd.arange(3, ctx=cpu(2)).jax.devices() == {cpu(2).device}
    assert nd.random.uniform(shape=(2,), ctx=cpu(2)).jax.committed


def test_several_outputs_go_into_a_list(x):
    outs = [nd.zeros((2, 1)) for _ in range(3)]
    assert nd.split(x, num_outputs=3, axis=1, out=outs) is outs
    assert [o.asnumpy().tolist() for o in outs] == [[[0], [3]], [[1], [4]], [[2], [5]]]
    with pytest.raises(MXNetError, match="out holds 2 arrays, expected 3"):
        nd.split(x, num_outputs=3, axis=1, out=outs[:2])


def test_a_failed_call_leaves_out_as_it_was(x):
    outs = [nd.zeros((2, 1)), nd.zeros((2, 1)), nd.zeros((2, 2))]
    with pytest.raises(ShapeError):
        nd.split(x, num_outputs=3, axis=1, out=outs)
    assert [float(o.sum()) for o in outs] == [0, 0, 0]


def test_methods_have_the_operators_signature(x):
    signature = inspect.signature(nd.NDArray.sum)  # type: ignore[reportAttributeAccessIssue]
    assert list(signature.parameters)[:4] == ["self", "axis", "keepdims", "exclude"]
    assert x.sum.__doc__.startswith("``mx.nd.sum`` of this array.")
    for name in ("clip", "transpose", "argmax", "slice_axis", "one_hot", "topk"):
        assert callable(getattr(x, name))


def _text(error: type, call) -> str:
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, MXNetError)
    return str(caught.value)


def test_error_texts(x):
    weight = nd.ones((5, 2))
    assert _text(ValueError, lambda: nd.FullyConnected(x, weight, num_hidden=4, no_bias=True)) == (
        "operator FullyConnected: 'weight' is (5, 2), expected (4, 3)\n"
        "  because num_hidden=4 and data is (2, 3), flattened to 3\n"
        "  given by: data float32(2, 3), weight float32(5, 2)"
    )
    assert _text(MXNetError, lambda: nd.FullyConnected(x, weight, num_hidden=4)) == (
        "operator FullyConnected: input 'bias' is not given\n"
        "  try: with these attributes it takes data, weight, bias"
    )
    assert _text(DTypeError, lambda: x + nd.array([1, 2, 3], dtype="int32")) == (
        "operator broadcast_add: 'rhs' is int32, expected float32\n"
        "  given by: lhs float32(2, 3), rhs int32(3,)"
    )
    assert _text(TypeError, lambda: nd.sum(3)) == (  # type: ignore[reportArgumentType]
        "operator sum: 'data' is 3 (int), expected an NDArray\n  try: mx.nd.array(...)"
    )
    assert _text(TypeError, lambda: nd.concat([x, x], dim=0)) == (  # type: ignore[reportArgumentType]
        "operator Concat: array 0 is a list of 2 arrays, expected an NDArray\n"
        "  try: the arrays one by one: *arrays"
    )
    assert _text(TypeError, lambda: nd.FullyConnected(data=4, num_hidden=4)) == (  # type: ignore[reportArgumentType]
        "operator FullyConnected: 'data' is 4 (int), expected an NDArray\n  try: mx.nd.array(...)"
    )
    assert _text(ShapeError, lambda: nd.sum(x, out=nd.zeros((4,)))) == (
        "operator sum: out is (4,), expected (1,)"
    )
    assert _text(AttributeValueError, lambda: nd.random_uniform(shape=(2,), ctx="nowhere")) == (
        "ctx: 'nowhere' is not a context\n  try: mx.cpu(0), or the text 'cpu(0)'"
    )


def test_an_error_inside_an_operator_names_it(x):
    with pytest.raises(MXNetError) as caught:
        nd.sum(x, axis=7)
    assert "in operator sum: data float32(2, 3)" in caught.value.__notes__


def test_auxiliary_and_pinned_inputs_are_written_to(x):
    gamma, mean, var = nd.ones((3,)) * 2, nd.zeros((3,)), nd.ones((3,))
    nd.BatchNorm(x, gamma, nd.zeros((3,)), mean, var, fix_gamma=True)
    assert gamma.asnumpy().tolist() == [1, 1, 1]
    assert (mean.asnumpy().tolist(), var.asnumpy().tolist()) == ([0, 0, 0], [1, 1, 1])


def test_random_operators_draw_anew():
    a, b = (nd.random_uniform(shape=(4,)).asnumpy() for _ in range(2))
    assert not np.array_equal(a, b)


def _needs_values(function, *operands) -> bool:
    """True if JAX cannot trace a function for lack of values."""
    try:
        with jax.enable_x64(True):
            jax.eval_shape(function, *operands)
    except resolved_calls.NEEDS_VALUES_ERRORS:
        return True
    return False


def test_the_operators_that_need_values_and_numbers_say_so():
    needs: dict[str, set[str]] = {NEEDS_VALUES: set(), NEEDS_NUMBERS: set()}
    first_last = reversed(list(_golden.questions()))  # of each operator the first question stays
    cases = {case.op: (case, dtype) for _, case, dtype in first_last}
    for case, dtype in cases.values():
        op, p = _golden.parsed(case)
        arrays, key = list(case.arrays(dtype).values()), jax.random.key(0)

        def run(numbers, *xs, op=op, p=p, key=key):
            return op.apply(Params({**p, **numbers}), xs, key=key)

        if _needs_values(run, {}, *arrays):
            needs[NEEDS_VALUES].add(op.name)
        numbers = {k: p[k] for k in op.attrs if k in resolved_calls.DYNAMIC and p[k] is not None}
        floating = all(resolved_calls.is_floating(x.dtype) for x in arrays)
        if numbers and floating and _needs_values(run, numbers, *arrays):
            needs[NEEDS_NUMBERS].add(op.name)
    assert len(cases) > 300
    for trait, names in needs.items():
        assert {op.name for op in all_ops() if trait in op.traits} == names
