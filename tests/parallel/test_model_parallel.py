"""``model_parallel``: replicas of several devices, which divide parameters by ``__sharding__``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import optax as _optax
import pytest

import executorkit as mx
from executorkit.display import view_of
from executorkit.errors import ArgumentValueError, BindError, NotSupportedError, ShapeError
from executorkit.parallel._model_sharding import sharding_of
from executorkit.parallel._replicated_array import ReplicatedArray

optax: Any = _optax  # whose types of functions are narrower than what it takes
ROWS, CLASSES = 16, 8
#: Numbers of replicas, and of the devices of each.
LAYOUTS = [(1, 2), (2, 2), (1, 4)]

pytestmark = pytest.mark.usefixtures("fresh_programs")


def _divided(name: str, axes: str) -> Any:
    return mx.sym.Variable(name, attr={"__sharding__": axes})


def _pair(hidden: int = 32, dropout: float = 0.0) -> Any:
    """Two layers, one divided by its outputs and one by its inputs."""
    x = mx.sym.FullyConnected(
        mx.sym.Variable("data"),
        weight=_divided("fc1_weight", "model,None"),
        bias=_divided("fc1_bias", "model"),
        num_hidden=hidden,
        name="fc1",
    )
    x = mx.sym.Activation(x, act_type="tanh")
    if dropout:
        x = mx.sym.Dropout(x, p=dropout)
    weight = _divided("fc2_weight", "None,model")
    return mx.sym.FullyConnected(x, weight=weight, num_hidden=CLASSES, no_bias=True, name="fc2")


def _mlp(dropout: float = 0.5) -> Any:
    x = mx.sym.BatchNorm(_pair(dropout=dropout), name="bn", fix_gamma=False)
    return mx.sym.SoftmaxOutput(x, name="softmax"), (ROWS, 12)


def _embedding() -> Any:
    weight = _divided("table_weight", "model,None")
    x = mx.sym.Embedding(
        mx.sym.Variable("data"), weight=weight, input_dim=24, output_dim=6, name="table"
    )
    x = mx.sym.FullyConnected(mx.sym.sum(x, axis=1), num_hidden=CLASSES, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax"), (ROWS, 5)


def _convolutions() -> Any:
    """Parameters and auxiliary states get their axis from the scope."""
    with mx.AttrScope(__sharding__="model"):
        x = mx.sym.Convolution(
            mx.sym.Variable("data"),
            num_filter=8,
            kernel=(3, 3),
            pad=(1, 1),
            no_bias=True,
            name="conv1",
        )
        x = mx.sym.BatchNorm(x, name="bn", fix_gamma=False)
    x = mx.sym.Pooling(mx.sym.relu(x), kernel=(2, 2), stride=(2, 2), pool_type="max")
    weight = _divided("conv2_weight", "None,model,None,None")
    x = mx.sym.Convolution(x, weight=weight, num_filter=4, kernel=(3, 3), name="conv2")
    x = mx.sym.FullyConnected(x, num_hidden=CLASSES, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax"), (ROWS, 3, 8, 8)


def _lstm() -> Any:
    with mx.AttrScope(__sharding__="model"):
        cell = mx.rnn.LSTMCell(8, prefix="lstm_")
    data = mx.sym.Variable("data")
    outputs, _ = cell.unroll(4, data, layout="NTC", merge_outputs=True)
    x = mx.sym.FullyConnected(outputs, num_hidden=CLASSES, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax"), (ROWS, 4, 6)


NETWORKS = [_mlp, _embedding, _convolutions, _lstm]


def _contexts(replicas: int, width: int) -> list[Any]:
    return [mx.cpu(k) for k in range(replicas * width)]


def _module(network: Any, contexts: list[Any], width: int = 1, **bind: Any) -> Any:
    symbol, shape = network
    with mx.program.options(model_parallel=width):
        module = mx.mod.Module(symbol, context=contexts)
        module.bind([("data", shape)], [("softmax_label", (shape[0],))], **bind)
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    return module


def _whole(network: Any, replicas: int, width: int) -> Any:
    """The same on one device for each replica, with its random stream."""
    return _module(network, _contexts(replicas, width)[::width])


def _both(replicas: int, width: int, **bind: Any) -> Iterator[Any]:
    """A module with divided parameters, and then the same without; each with fresh streams."""
    yield _module(_mlp(), _contexts(replicas, width), width, **bind)
    yield _module(_mlp(), _contexts(replicas, width)[::width], **bind)


def _batches(shape: tuple[int, ...], count: int = 3) -> list[Any]:
    """Numbers, or indices of rows where there are five of them."""
    random = np.random.RandomState(0)
    return [
        mx.io.DataBatch(
            [
                mx.nd.array(
                    random.randint(0, 24, shape) if shape[1:] == (5,) else random.randn(*shape)
                )
            ],
            [mx.nd.array(random.randint(0, CLASSES, shape[:1]))],
        )
        for _ in range(count)
    ]


def _train(module: Any, count: int = 3, look: Any = None) -> Any:
    if not module.optimizer_initialized:
        options = {"learning_rate": 0.02, "momentum": 0.9, "rescale_grad": 1 / ROWS, "wd": 0.01}
        module.init_optimizer("device", "sgd", options)
    for batch in _batches(module.data_shapes[0].shape, count):
        module.forward_backward(batch)
        if look is not None:
            look(module)
        module.update()
    return module


def _parameters(module: Any) -> dict[str, np.ndarray]:
    args, aux = module.get_params()
    return {n: x.asnumpy() for n, x in {**args, **aux}.items()}


def _assert_close(actual: Any, expected: Any) -> None:
    assert actual.keys() == expected.keys()
    for name, array in actual.items():
        scale = max(np.abs(expected[name]).max(), 0.01)
        np.testing.assert_allclose(array, expected[name], 1e-5, 1e-5 * scale, err_msg=name)


def _shares(arrays: dict[str, ReplicatedArray]) -> dict[str, float]:
    """The part of each array that its first device holds."""
    return {
        name: np.prod(x.value.sharding.shard_shape(x.value.shape)) / np.prod(x.shape)
        for name, x in arrays.items()
    }


def _arrays(core: Any) -> dict[str, Any]:
    return {
        **dict(zip(core.arg_names, core.arg_arrays, strict=True)),
        **dict(zip(core.aux_names, core.aux_arrays, strict=True)),
    }


def _sharding(array: ReplicatedArray) -> Any:
    return array.value.sharding


def _states(updater: Any) -> list[ReplicatedArray]:
    return jax.tree.leaves([s.arrays for s in updater.replicated_states.values()])


# -- training --------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("replicas", "width"), LAYOUTS)
def test_training_equals_that_of_undivided_parameters(network, replicas, width):
    divided = _train(_module(network(), _contexts(replicas, width), width))
    assert any(share == 1 / width for share in _shares(_arrays(divided.core)).values())
    _assert_close(_parameters(divided), _parameters(_train(_whole(network(), replicas, width))))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("replicas", "width"), LAYOUTS)
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: optax.adamw(1e-2),
        lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.lamb(1e-2)),
        lambda: mx.optimizer.SGD(learning_rate=0.05, momentum=0.9, rescale_grad=1 / ROWS),
        lambda: mx.optimizer.LAMB(rescale_grad=1 / ROWS),
    ],
)
def test_steps_equal_those_of_undivided_parameters(optimizer, replicas, width):
    params = []
    for module in _both(replicas, width):
        step = mx.training.Step(module, optimizer())
        for batch in _batches((ROWS, 12)):
            step(data=batch.data[0], softmax_label=batch.label[0])
        params.append({name: np.asarray(x) for name, x in step.params.items()})
    _assert_close(*params)


@pytest.mark.parametrize("replicas", [1, 2])
def test_each_device_holds_its_part_in_every_step(replicas):
    module = _module(_mlp(), _contexts(replicas, 2), 2)
    divided = {"fc1_weight", "fc1_bias", "fc2_weight"}
    core = module.core
    for _ in range(3):
        _train(module, 1)
        for name, share in _shares(_arrays(core)).items():
            assert share == (0.5 if name in divided else 1), name
        states = {str(i): s for i, s in enumerate(_states(module._updater))}
        assert sorted(_shares(states).values()) == [0.5] * 3 + [1] * 2
    (step,) = [f for f in core.pmapped.program.functions if f.traces]
    assert (step.traces, step._dispatcher._in_c._cache_size()) == (1, 1)


def test_the_state_of_optax_is_divided_by_name():
    """Layers of one shape, of which one is divided by rows and one by columns."""
    x = mx.sym.Variable("data")
    for name, axes in (("a_weight", "model,None"), ("b_weight", "None,model"), ("c_weight", "")):
        x = mx.sym.FullyConnected(
            x, weight=_divided(name, axes), num_hidden=8, no_bias=True, name=name[0]
        )
    module = _module((mx.sym.SoftmaxOutput(x, name="softmax"), (ROWS, 8)), _contexts(1, 2), 2)
    step = mx.training.Step(module, optax.adam(1e-2))
    for batch in _batches((ROWS, 8)):
        step(data=batch.data[0], softmax_label=batch.label[0])
    specs = {
        jax.tree_util.keystr(path): array.replicas.spec
        for path, array in jax.tree_util.tree_leaves_with_path(
            step._updater.replicated_states[0].arrays
        )
    }
    for moment in ("mu", "nu"):
        assert specs[f"[0].{moment}['a_weight']"] == ("model",)
        assert specs[f"[0].{moment}['b_weight']"] == (None, "model")
        assert specs[f"[0].{moment}['c_weight']"] == ()
    (function,) = step._backend.functions
    assert (function.traces, function._dispatcher._in_c._cache_size()) == (1, 1)


def test_one_trace_of_forward_and_backward_on_their_own():
    module = _module(_mlp(), _contexts(2, 2), 2)
    expected = _whole(_mlp(), 2, 2)
    for each in (module, expected):
        mx.random.seed(3)
        for batch in _batches((ROWS, 12), 2):
            each.forward(batch, is_train=True)
            each.get_outputs()[0].asnumpy()
            each.backward()
    core = module.core
    names = {f.name: f._jitted._cache_size() for f in core.pmapped.program.functions if f.traces}
    assert names == {"forward_train": 1, "backward": 1}
    for name, ours, theirs in zip(
        core.arg_names, core.grad_arrays, expected.core.grad_arrays, strict=True
    ):
        if ours is not None:
            assert ours.value.sharding.spec[1:] == ours.replicas.spec
            for k in range(2):
                np.testing.assert_allclose(
                    ours[k].asnumpy(), theirs[k].asnumpy(), 1e-4, 1e-6, err_msg=name
                )


@pytest.mark.parametrize("steps", [False, True])
def test_gradients_are_added(steps):
    trained = []
    for module in _both(2, 2, grad_req="add"):
        look = (lambda m: m._exec_group.grad_arrays[0][1].asnumpy()) if steps else None
        trained.append(_parameters(_train(module, look=look)))
    _assert_close(*trained)


def test_an_update_by_gradients_that_were_read_keeps_the_division():
    trained = []
    for module in _both(2, 2):
        _train(module, look=lambda m: m._exec_group.grad_arrays[0][0].asnumpy())
        trained.append(module)
    core = trained[0].core
    assert _shares(_arrays(core))["fc2_weight"] == 0.5
    assert {_sharding(s).mesh for s in _states(trained[0]._updater)} == {core.pmapped.replicas.mesh}
    _assert_close(*map(_parameters, trained))


def test_an_optimizer_that_overrides_update_updates_whole_arrays():
    class Half(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            weight[:] = weight * 0.5 - 0.01 * grad

    trained = []
    for module in _both(2, 2):
        module.init_optimizer("device", Half(rescale_grad=1 / ROWS))
        trained.append(_parameters(_train(module)))
    _assert_close(*trained)


# -- memory and messages ---------------------------------------------------------------------------


def _compiled(module: Any) -> Any:
    (step,) = [f for f in module.core.pmapped.program.functions if f.name == "step"]
    return step.compile(*step.avals)


@pytest.mark.parametrize("width", [2, 4])
def test_a_device_holds_a_part_of_the_arguments(width):
    symbol = mx.sym.SoftmaxOutput(_pair(1024), name="softmax")
    sizes = [
        _compiled(_train(_module((symbol, (ROWS, 64)), contexts, k), 1))
        .memory_analysis()
        .argument_size_in_bytes
        for contexts, k in ((_contexts(2, 1), 1), (_contexts(2, width), width))
    ]
    assert sizes[1] / sizes[0] == pytest.approx(1 / width, rel=0.05)


_COLLECTIVES = re.compile(r"= (.*) (all-gather|all-reduce|all-to-all|collective-permute)\(")


def test_a_pair_of_layers_exchanges_one_sum_forward():
    """And gathers no weight."""
    symbol = mx.sym.SoftmaxOutput(_pair(256), name="softmax")
    module = _train(_module((symbol, (ROWS, 64)), _contexts(1, 2), 2), 1)
    collectives = _COLLECTIVES.findall(_compiled(module).as_text())
    kinds = [kind for _, kind in collectives]
    assert kinds == ["all-reduce"], collectives
    assert f"f32[{ROWS},{CLASSES}]" in collectives[0][0].replace("[1,", "[")


# -- reading and writing ---------------------------------------------------------------------------


def test_members_are_whole_and_stay_in_the_memory_of_the_host():
    module = _train(_module(_mlp(), _contexts(2, 2), 2), 1)
    weights = _arrays(module.core)["fc2_weight"]
    assert [w.context for w in weights] == [mx.cpu(0), mx.cpu(2)]
    host = weights[1].asnumpy()
    assert host.shape == weights.shape == (CLASSES, 32)
    assert weights[1].storage.current is None
    doubled = weights[1] * 2
    np.testing.assert_array_equal(doubled.asnumpy(), 2 * host)
    np.testing.assert_array_equal(weights[1][2:4].asnumpy(), host[2:4])


def test_what_is_written_to_a_member_is_divided():
    module = _module(_mlp(), _contexts(2, 2), 2)
    weights = _arrays(module.core)["fc1_weight"]
    before = weights[0].asnumpy()
    weights[1][:] = 2
    assert weights.value.sharding == weights.replicas.sharding
    np.testing.assert_array_equal(weights[0].asnumpy(), before)
    np.testing.assert_array_equal(weights[1].asnumpy(), 2)
    weights[0][3] = 1
    np.testing.assert_array_equal(weights[0].asnumpy()[3], 1)
    np.testing.assert_array_equal(np.asarray(weights.value)[0][3], 1)
    args, aux = module.get_params()
    module.set_params(args, aux)
    np.testing.assert_array_equal(weights[1].asnumpy(), before)


def test_a_run_that_begins_anew_from_files_goes_on(tmp_path):
    contexts = _contexts(2, 2)
    module = _train(_module(_mlp(0), contexts, 2))
    module.save_checkpoint(str(tmp_path / "net"), 1, True)
    with mx.program.options(model_parallel=2):
        resumed = mx.mod.Module.load(str(tmp_path / "net"), 1, True, context=contexts)
        resumed.bind([("data", (ROWS, 12))], [("softmax_label", (ROWS,))])
    whole = mx.mod.Module.load(str(tmp_path / "net"), 1, True, context=contexts[::2])
    whole.bind([("data", (ROWS, 12))], [("softmax_label", (ROWS,))])
    _train(module)
    options = {"learning_rate": 0.02, "momentum": 0.9, "rescale_grad": 1 / ROWS, "wd": 0.01}
    for each in (resumed, whole):
        each.init_optimizer("device", "sgd", options)
        _train(each)
        _assert_close(_parameters(each), _parameters(module))
    assert _shares({"state": _states(resumed._updater)[0]}) == {"state": 0.5}


@pytest.mark.parametrize("optimizer", [lambda: optax.adam(1e-2), lambda: mx.optimizer.Adam()])
def test_a_step_is_saved_and_restored(tmp_path, optimizer):
    steps = []
    for _ in range(2):
        module = _module(_mlp(), _contexts(2, 2), 2)
        steps.append(mx.training.Step(module, optimizer()))
    first, second = steps

    def run(step: Any) -> None:
        for batch in _batches((ROWS, 12), 2):
            step(data=batch.data[0], softmax_label=batch.label[0])

    run(first)
    first.save(tmp_path / "net", 1)
    run(first)
    second.restore(tmp_path / "net", 1)
    run(second)
    for name, x in first.params.items():
        np.testing.assert_array_equal(np.asarray(second.params[name]), np.asarray(x), name)


def test_scores_and_predictions():
    data = np.random.RandomState(0).randn(40, 12).astype("float32")
    iterator = mx.io.NDArrayIter(data, np.arange(40) % CLASSES, ROWS)
    divided, whole = _module(_mlp(), _contexts(2, 2), 2), _whole(_mlp(), 2, 2)
    assert dict(divided.score(iterator, "acc")) == dict(whole.score(iterator, "acc"))
    np.testing.assert_allclose(
        divided.predict(iterator).asnumpy(), whole.predict(iterator).asnumpy(), 1e-5, 1e-6
    )


def test_another_batch_size_keeps_the_arrays():
    module = _train(_module(_mlp(0), _contexts(2, 2), 2))
    weights = _arrays(module.core)["fc1_weight"]
    module.reshape([("data", (8, 12))], [("softmax_label", (8,))])
    assert _arrays(module.core)["fc1_weight"] is weights
    assert len(module.core.contexts) == 2
    _train(module, 1)
    assert _shares({"w": weights}) == {"w": 0.5}


def test_buckets_share_divided_parameters():
    def symbol_of(key: int) -> Any:
        x = mx.sym.sum(mx.sym.reshape(mx.sym.Variable("data"), (-1, key, 12)), axis=1)
        weight = _divided("fc_weight", "model,None")
        x = mx.sym.FullyConnected(x, weight=weight, num_hidden=CLASSES, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)

    trained = []
    for width, contexts in ((2, _contexts(2, 2)), (1, _contexts(2, 2)[::2])):
        mx.random.seed(3)
        module = mx.mod.BucketingModule(symbol_of, 2, context=contexts)
        with mx.program.options(model_parallel=width):
            module.bind([("data", (ROWS, 24))], [("softmax_label", (ROWS,))])
        module.init_params(mx.init.Xavier())
        module.init_optimizer("device", "sgd", {"learning_rate": 0.05, "rescale_grad": 1 / ROWS})
        for key in (2, 1, 2, 1):
            (batch,) = _batches((ROWS, 12 * key), 1)
            batch.bucket_key = key
            batch.provide_data = [("data", (ROWS, 12 * key))]
            batch.provide_label = [("softmax_label", (ROWS,))]
            module.forward_backward(batch)
            module.update()
        assert _shares(_arrays(module._curr_module.core))["fc_weight"] == 1 / width
        trained.append(_parameters(module))
    _assert_close(*trained)


def test_feed_forward():
    data = np.random.RandomState(0).randn(48, 12).astype("float32")
    trained = []
    for width, contexts in ((2, _contexts(2, 2)), (1, _contexts(2, 2)[::2])):
        mx.random.seed(3)
        with warnings.catch_warnings(), mx.program.options(model_parallel=width):
            warnings.simplefilter("ignore", DeprecationWarning)
            model = mx.model.FeedForward(
                _mlp(0)[0], contexts, num_epoch=2, learning_rate=0.05, momentum=0.9,
                numpy_batch_size=ROWS, initializer=mx.init.Xavier(),
            )  # fmt: skip
            model.fit(mx.io.NDArrayIter(data, np.arange(48) % CLASSES, ROWS))
            predictions = model.predict(mx.io.NDArrayIter(data, batch_size=ROWS))
        arrays = {**(model.arg_params or {}), **(model.aux_params or {})}
        trained.append({"": predictions, **{n: x.asnumpy() for n, x in arrays.items()}})
    _assert_close(*trained)


def test_monitors_and_searches_see_whole_arrays():
    module = _train(_module(_mlp(), _contexts(2, 2), 2), 1)
    assert not module.check_finite().findings
    monitor = mx.monitor.Monitor(1, pattern="fc1.*")
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(_batches((ROWS, 12), 1)[0])
    seen = monitor.toc()
    assert seen
    assert "2 replicas of 2 devices run one mapped program" in view_of(module).text()


# -- the attribute and the option ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("model,None", ("model",)),
        ("None, model", (None, "model")),
        ("('model', None)", ("model",)),
        (",model", (None, "model")),
        ("model", ("model",)),
        ("None,None,None", ()),
        ("", ()),
    ],
)
def test_texts_of_the_attribute(text, spec):
    assert sharding_of("w", {"__sharding__": text}, (4, 4), 2) == spec


@pytest.mark.parametrize(
    ("text", "shape", "error", "message"),
    [
        ("modle,None", (4, 4), BindError, "'modle,None', expected 'model' once"),
        ("model,model", (4, 4), BindError, "'model,model', expected 'model' once"),
        ("None,model", (4,), BindError, r"divides axis 1 of an array of shape \(4,\)"),
        ("model", (5, 4), ShapeError, r"axis 0 of shape \(5, 4\) cannot be divided over 2 devices"),
    ],
)
def test_wrong_attributes_name_the_variable(text, shape, error, message):
    net = mx.sym.FullyConnected(
        mx.sym.Variable("data"), weight=_divided("w", text), num_hidden=4, name="fc"
    )
    with pytest.raises(error, match=f"variable 'w': __sharding__: .*{message}"):
        sharding_of("w", {"__sharding__": text}, shape, 2)
    if text == "modle,None":
        module = mx.mod.Module(net, context=_contexts(1, 2), label_names=None)
        with mx.program.options(model_parallel=2), pytest.raises(error, match=message):
            module.bind([("data", (4, 4))])


def test_the_attribute_is_in_files_and_changes_nothing_by_itself():
    symbol = mx.sym.load_json(_mlp()[0].tojson())
    assert symbol.attr_dict()["fc1_weight"]["__sharding__"] == "model,None"
    symbol.get_internals()["fc1_weight"]._set_attr(__sharding__="None,model")
    module = _train(_module((symbol, (ROWS, 12)), _contexts(2, 1)), 1)
    assert set(_shares(_arrays(module.core)).values()) == {1}
    core = _module((symbol, (ROWS, 12)), _contexts(1, 2), 2).core
    assert _arrays(core)["fc1_weight"].replicas.spec == (None, "model")


def test_inputs_are_whole_on_each_device():
    with mx.AttrScope(__sharding__="model"):
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=CLASSES, name="fc")
        symbol = mx.sym.SoftmaxOutput(x, name="softmax")
    core = _module((symbol, (6, 3)), _contexts(1, 4), 4).core
    shares = {"data": 1, "fc_weight": 0.25, "fc_bias": 0.25, "softmax_label": 1}
    assert _shares(_arrays(core)) == shares


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", None])
def test_wrong_numbers_of_devices(wrong):
    with pytest.raises(ArgumentValueError, match=f"options: model_parallel: {wrong!r}, expected"):
        mx.program.Options(model_parallel=wrong)


def test_what_cannot_be_divided_is_an_error():
    symbol, shape = _mlp()
    with mx.program.options(model_parallel=2):
        for contexts, error, message in (
            (_contexts(1, 3), BindError, r"3 of them: cpu\(0\).*takes them 2 at a time"),
            ([mx.cpu(0), mx.cpu(0)], BindError, "some share a device"),
            (_contexts(3, 2), NotSupportedError, "slices have different lengths"),
        ):
            module = mx.mod.Module(symbol, context=contexts)
            with pytest.raises(error, match=f"(?s){message}"):
                module.bind([("data", shape)], [("softmax_label", (ROWS,))])
        with pytest.raises(NotSupportedError, match="an executor is on one device"):
            symbol.simple_bind(mx.cpu(), data=shape)
        with (
            pytest.raises(ArgumentValueError, match="cannot be combined with shard_optimizer"),
            mx.program.options(shard_optimizer=True),
        ):
            pass
        module = mx.mod.Module(
            symbol, context=_contexts(2, 2), group2ctxs={"a": [mx.cpu(0), mx.cpu(1)]}
        )
        with pytest.raises(NotSupportedError, match="group2ctx spreads the graph"):
            module.bind([("data", shape)], [("softmax_label", (ROWS,))])
