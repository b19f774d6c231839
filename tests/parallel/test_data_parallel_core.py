"""The core of the groups: mapped or one by one, results are the same; nothing moves needlessly."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.parallel import _data_parallel_core, traffic
from executorkit.parallel._batch_transfer import BatchInput, gather, split_input_slice
from executorkit.parallel._data_parallel_core import DataParallelCore
from executorkit.parallel._replicated_array import ReplicatedArray

ROWS = 8
INPUTS = [BatchInput("data", (ROWS, 5)), BatchInput("softmax_label", (ROWS,))]
EVEN = [1, 1, 1, 1]
FOUR = [0, 1, 2, 3]


def _network() -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    x = mx.sym.BatchNorm(x, name="bn", momentum=0.5, fix_gamma=False)
    x = mx.sym.Dropout(x, p=0.5, name="drop")
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _bound(
    devices: Any = FOUR, loads: Any = EVEN, grad_req: str = "write", **kwargs: Any
) -> DataParallelCore:
    symbol = kwargs.pop("symbol", None)
    symbol = _network() if symbol is None else symbol
    inputs = kwargs.pop("inputs", INPUTS)
    names = [i.name for i in inputs]
    group = DataParallelCore(
        symbol,
        [mx.cpu(i) for i in devices],
        split_input_slice(ROWS, loads),
        inputs,
        ["null" if n in names else grad_req for n in symbol.list_arguments()],
        **kwargs,
    )
    for i, name in enumerate(group.arg_names):
        if name not in names:
            for array in group.arg_arrays[i]:
                array[:] = np.random.RandomState(i).randn(*array.shape)
    return group


def _batch(number: int = 0) -> list[Any]:
    random = np.random.RandomState(number)
    return [mx.nd.array(random.randn(ROWS, 5)), mx.nd.array(random.randint(0, 3, ROWS))]


def _facts(group: DataParallelCore) -> list[np.ndarray]:
    arrays = (*group.outputs, *group.grad_arrays, *group.aux_arrays)
    return [a.asnumpy() for arrays in arrays if arrays is not None for a in arrays]


def _same(ours: Any, theirs: Any) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def _moved(before: dict[str, int]) -> dict[str, int]:
    return {k: n - before[k] for k, n in traffic.snapshot().items() if n != before[k]}


def _run(group: DataParallelCore, how: str) -> list[np.ndarray]:
    for number in range(3):
        group.load(INPUTS, _batch(number), "batch")
        group.forward(True)
        if how == "look first":
            group.outputs[0][2].asnumpy()
        if how == "one by one":
            for executor in group.execs:
                executor.backward()
        else:
            group.backward()
        if how == "twice":
            group.backward()
    return _facts(group)


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("how", ["fused", "look first", "twice", "one by one"])
@pytest.mark.usefixtures("deterministic")
def test_pmapped_and_separate_programs_give_the_same(how, grad_req, monkeypatch):
    """Dropout's masks too: each device draws from its own stream either way."""
    mx.random.seed(3)
    mapped = _bound(grad_req=grad_req)
    assert mapped.is_pmapped
    ours = _run(mapped, how)
    monkeypatch.setattr(_data_parallel_core, "can_replicate", lambda *_: False)
    mx.random.seed(3)
    separate = _bound(grad_req=grad_req)
    assert not separate.is_pmapped
    _same(ours, _run(separate, how))


@pytest.mark.parametrize(
    ("devices", "loads"),
    [([0], [1]), ([0, 1, 2], [1, 2, 1]), ([1, 1], [1, 1]), ([0, 1, 0], [1] * 3)],
)
def test_other_places_run_one_program_per_slice(devices, loads):
    group = _bound(devices, loads)
    assert not group.is_pmapped
    _run(group, "fused")
    shapes = [o.shape for o in group.outputs[0]]
    assert shapes == [(s.stop - s.start, 3) for s in group.slices]
    assert [o.context.device_id for o in group.outputs[0]] == devices


def test_groups_of_even_and_uneven_slices_share_parameters():
    even = _bound()
    uneven = _bound(loads=[1, 1, 1, 5], shared=even, shared_names=["fc1_weight", "fc2_weight"])
    assert even.is_pmapped
    assert not uneven.is_pmapped
    number = even.arg_names.index("fc1_weight")
    assert uneven.arg_arrays[number] is even.arg_arrays[number]
    assert uneven.grad_arrays[number] is even.grad_arrays[number]
    assert uneven.aux_arrays == even.aux_arrays
    even.arg_arrays[number][1][:] = 5
    assert (uneven.execs[1].arg_dict["fc1_weight"].asnumpy() == 5).all()
    _run(uneven, "fused")
    gradient = uneven.execs[3].grad_dict["fc1_weight"].asnumpy()
    np.testing.assert_array_equal(even.grad_arrays[number][3].asnumpy(), gradient)


@pytest.mark.usefixtures("fresh_programs")
def test_a_step_is_one_program_and_moves_only_the_batch():
    group = _bound()
    _run(group, "fused")
    assert group.traces == 1
    for array in (*group.arg_arrays, *group.aux_arrays):
        assert isinstance(array, ReplicatedArray)
        _ = array.value
    before = traffic.snapshot()
    for number in range(3):
        group.load(INPUTS, _batch(number), "batch")
        group.forward(True)
        group.backward()
    assert _moved(before) == {"scattered": 6}
    assert group.traces == 1


def test_nothing_comes_to_the_host_in_a_step(monkeypatch):
    group = _bound()
    _run(group, "fused")
    for array in group.arg_arrays:
        assert isinstance(array, ReplicatedArray)
        _ = array.value
    batches = [_batch(number) for number in range(3)]
    fetched = []
    array_type: Any = type(jax.numpy.zeros(1))
    value = array_type._value

    def fetch(self: Any) -> Any:
        fetched.append(self.shape)
        return value.fget(self)  # type: ignore[union-attr]

    monkeypatch.setattr(array_type, "_value", property(fetch))
    metric = mx.metric.create(["acc", "ce"])
    for batch in batches:
        group.load(INPUTS, batch, "batch")
        group.forward(True)
        group.backward()
        for k, rows in enumerate(group.slices):
            labels = [mx.nd.array(np.zeros(rows.stop - rows.start), ctx=mx.cpu(k))]
            metric.update(labels, [group.outputs[0][k]])
    assert fetched == []
    gather(group.outputs[0], 0).asnumpy()
    assert len(fetched) <= 1


def test_updates_per_device_split_gradients_and_assemble_each_parameter_once():
    group = _bound()
    wanted = [i for i, g in enumerate(group.grad_arrays) if g is not None]
    for number in range(3):
        before = traffic.snapshot()
        group.load(INPUTS, _batch(number), "batch")
        group.forward(True)
        group.backward()
        for weights, gradients in zip(group.arg_arrays, group.grad_arrays, strict=True):
            for weight, gradient in zip(weights, gradients or [], strict=gradients is not None):
                weight[:] = weight - 0.1 * gradient
    moved = _moved(before)
    assert moved == {"scattered": 2, "split": 4 * len(wanted), "assembled": len(wanted)}


def test_an_output_that_is_held_shows_the_next_value():
    group = _bound()
    group.load(INPUTS, _batch(0), "batch")
    group.forward(False)
    held = group.outputs[0][1]
    first = held.asnumpy()
    group.load(INPUTS, _batch(1), "batch")
    group.forward(False)
    assert group.outputs[0][1] is held
    assert not np.allclose(held.asnumpy(), first)


def test_a_batch_on_devices_is_split_on_them():
    group = _bound()
    for context in (mx.cpu(0), mx.cpu(3)):
        group.load(INPUTS, [a.as_in_context(context) for a in _batch(2)], "batch")
        data = group.arg_arrays[group.arg_names.index("data")]
        whole = np.concatenate([d.asnumpy() for d in data])
        np.testing.assert_array_equal(whole, _batch(2)[0].asnumpy())


@pytest.mark.parametrize("loads", [EVEN, [1, 1, 1, 5]])
def test_arrays_of_accelerators_are_split_on_them(loads, monkeypatch):
    """As on the CPU: what differs is that the parts do not pass through the host."""
    from executorkit.parallel import _batch_transfer as batching

    monkeypatch.setattr(batching, "_on_host", lambda value, dtype: None)
    group = _bound(loads=loads)
    group.load(INPUTS, [a.astype("float64") for a in _batch(2)], "batch")
    data = group.arg_arrays[group.arg_names.index("data")]
    assert [d.context.device_id for d in data] == FOUR
    assert data[0].dtype is np.float32
    whole = np.concatenate([d.asnumpy() for d in data])
    np.testing.assert_array_equal(whole, _batch(2)[0].asnumpy())


def test_custom_operators_run_one_program_per_device():
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], 2 * in_data[0])

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any,
                     aux: Any) -> None:  # fmt: skip
            self.assign(in_grad[0], req[0], 2 * out_grad[0])

    @mx.operator.register("twice_on_devices")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Twice:
            return Twice()

    x = mx.sym.Custom(mx.sym.Variable("data"), op_type="twice_on_devices", name="twice")
    x = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    symbol = mx.sym.MakeLoss(mx.sym.sum(x), name="loss")
    group = _bound([0, 1], [1, 1], symbol=symbol, inputs=INPUTS[:1])
    assert not group.is_pmapped
    group.load(INPUTS[:1], _batch()[:1], "batch")
    group.forward(True)
    group.backward()
    gradient = group.grad_arrays[group.arg_names.index("fc_weight")]
    data = _batch()[0].asnumpy()
    for k, rows in enumerate(group.slices):
        np.testing.assert_allclose(
            gradient[k].asnumpy(), np.tile(2 * data[rows].sum(0), (2, 1)), rtol=1e-5
        )


def test_constants_without_arguments_are_no_pmapped_program():
    group = DataParallelCore(
        mx.sym.zeros((2,)), [mx.cpu(0), mx.cpu(1)], [slice(0, 1), slice(1, 2)], [], []
    )
    group.forward(False)
    assert [o.asnumpy().tolist() for o in group.outputs[0]] == [[0, 0]] * 2
