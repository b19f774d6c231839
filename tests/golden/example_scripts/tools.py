"""Tools around training: monitors, iterators of one's own, stores, checkpoints, several devices."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ._facts import classes, fill, numbers, numpy_of, script, start


def _mlp(mx: Any, count: int = 3, hidden: int = 5) -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    x = mx.sym.Activation(x, act_type="relu", name="relu1")
    return mx.sym.FullyConnected(x, num_hidden=count, name="fc2")


def _classifier(mx: Any) -> Any:
    return mx.sym.SoftmaxOutput(_mlp(mx), name="softmax")


@script
def inner_outputs_and_watched_weights(mx):
    """Several outputs of one graph, and a monitor of weights in `fit`."""
    net = _classifier(mx)
    inner = net.get_internals()
    group = mx.sym.Group([inner["fc1_output"], net])
    names = group.list_outputs()
    executor = fill(group.simple_bind(mx.cpu(), data=(2, 4)), ("data", "softmax_label"))
    executor.arg_dict["data"][:] = numbers("rows", (2, 4))
    outputs = numpy_of(executor.forward())
    shown: list[Any] = []

    class Watching(mx.mon.Monitor):
        def toc_print(self):
            shown.extend([n, name, float(value.strip())] for n, name, value in self.toc())

    watch = Watching(
        2, lambda x: mx.nd.norm(x) / np.sqrt(x.size), pattern=".*weight|fc2_output",
        sort=True,
    )  # fmt: skip
    batches = mx.io.NDArrayIter(numbers("rows", (12, 4)), classes("kinds", (12,), 3), 4)
    module = mx.mod.Module(net)
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    module.fit(batches, num_epoch=1, monitor=watch, optimizer_params={"learning_rate": 0.3})
    return names, outputs, shown, inner.list_outputs()


@script
def one_layer_under_the_lens(mx):
    """A convolution alone, with weights that can be read off, forward and backward."""
    net = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), stride=(1, 1), num_filter=1, name="conv"
    )
    args = {
        "data": mx.nd.ones((1, 1, 5, 5)), "conv_weight": mx.nd.ones((1, 1, 3, 3)),
        "conv_bias": mx.nd.ones((1,)),
    }  # fmt: skip
    grads = {n: mx.nd.zeros(a.shape) for n, a in args.items()}
    executor = net.bind(mx.cpu(), args=args, args_grad=grads)
    seen = [executor.forward(is_train=True)[0].asnumpy()]
    executor.backward(executor.outputs[0])
    seen.append(numpy_of(grads))
    args["data"][:, :, 2:, :] = 0
    seen.append(executor.forward()[0].asnumpy())
    return seen, [net.infer_shape(data=(2, 3, 7, 7))[1], net.debug_str().count("Name:")]


@script
def an_iterator_of_ones_own(mx):
    """Batches made by functions, with a pad and several inputs."""

    class Made(mx.io.DataIter):
        def __init__(self, names, shapes, makers, label, count):
            super().__init__()
            self._data = list(zip(names, shapes, strict=True))
            self._makers, self._label, self.count, self.at = makers, label, count, 0

        def __iter__(self):
            return self

        def __next__(self):
            return self.next()

        provide_data = property(lambda self: self._data)
        provide_label = property(lambda self: [("softmax_label", (4,))])

        def reset(self):
            self.at = 0

        def next(self):
            if self.at >= self.count:
                raise StopIteration
            self.at += 1
            data = [
                mx.nd.array(make(self.at, shape))
                for (_, shape), make in zip(self._data, self._makers, strict=True)
            ]
            pad = 2 if self.at == self.count else 0
            return mx.io.DataBatch(data, [mx.nd.array(self._label(self.at))], pad=pad)

    left = mx.sym.FullyConnected(mx.sym.Variable("left"), num_hidden=3, name="l")
    right = mx.sym.FullyConnected(mx.sym.Variable("right"), num_hidden=3, name="r")
    net = mx.sym.SoftmaxOutput(mx.sym.tanh(left) * right, name="softmax")
    batches = Made(
        ["left", "right"], [(4, 3), (4, 2)],
        [lambda n, s: numbers(f"left {n}", s), lambda n, s: numbers(f"right {n}", s)],
        lambda n: classes(f"label {n}", (4,), 3), 3,
    )  # fmt: skip
    module = mx.mod.Module(net, data_names=("left", "right"))
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    module.fit(batches, num_epoch=2, optimizer="nag",
               optimizer_params={"learning_rate": 0.1, "momentum": 0.9})  # fmt: skip
    short = mx.io.ResizeIter(batches, 2, reset_internal=True)
    return module.predict(batches), module.score(batches, "acc"), module.predict(short).shape


@script
def layers_on_several_devices(mx):
    """Groups of layers placed by name, with a gradient that crosses the devices."""
    with mx.AttrScope(ctx_group="first"):
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1")
        x = mx.sym.Activation(x, act_type="tanh", name="act1")
    with mx.AttrScope(ctx_group="second"):
        x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
        net = mx.sym.SoftmaxOutput(x, name="softmax")
    groups = {"first": mx.cpu(0), "second": mx.cpu(1)}
    executor = net.simple_bind(mx.cpu(0), group2ctx=groups, data=(4, 4))
    fill(executor, ("data", "softmax_label"))
    executor.arg_dict["data"][:] = numbers("rows", (4, 4))
    executor.arg_dict["softmax_label"][:] = classes("kinds", (4,), 3)
    optimizer = mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.9, rescale_grad=0.25)
    updater = mx.optimizer.get_updater(optimizer)
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward()
        for index, name in enumerate(net.list_arguments()):
            if name not in ("data", "softmax_label"):
                updater(index, executor.grad_dict[name], executor.arg_dict[name])
    places = {n: str(a.context) for n, a in executor.arg_dict.items() if n.startswith("fc")}
    return executor.outputs, places, executor.arg_dict["fc1_weight"]


@script
def memory_for_time(mx):
    """Layers whose activations are computed again in backward give the same gradients."""
    answers = []
    for mirror in (False, True):
        x = mx.sym.Variable("data")
        for k in range(4):
            x = mx.sym.FullyConnected(x, num_hidden=4, name=f"fc{k}")
            with mx.AttrScope(**({"force_mirroring": "True"} if mirror else {})):
                x = mx.sym.Activation(x, act_type="tanh", name=f"act{k}")
                x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"bn{k}")
        net = mx.sym.SoftmaxOutput(x, name="softmax")
        executor = fill(net.simple_bind(mx.cpu(), data=(6, 3)), ("data", "softmax_label"))
        executor.arg_dict["data"][:] = numbers("rows", (6, 3))
        executor.arg_dict["softmax_label"][:] = classes("kinds", (6,), 4)
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.waitall()
        gradient = executor.grad_dict["fc0_weight"].asnumpy()
        answers.append([executor.outputs[0].asnumpy(), gradient / np.abs(gradient).max(),
                        executor.aux_dict["bn3_moving_var"].asnumpy()])  # fmt: skip
    return answers


@script
def stores_that_add_and_update(mx):
    """Push and pull by one key and by several, a rule of one's own, and an optimizer on it."""
    seen = []
    store = mx.kv.create("local")
    shape = (2, 3)
    store.init(3, mx.nd.ones(shape) * 2)
    array = mx.nd.zeros(shape)
    store.pull(3, out=array)
    seen.append(array.asnumpy())
    store.push(3, [mx.nd.ones(shape, ctx=mx.cpu(i)) for i in range(4)])
    store.pull(3, out=array)
    seen.append(array.asnumpy())
    store._set_updater(lambda key, given, stored: stored.__iadd__(given * 2 + key))
    store.push(3, mx.nd.ones(shape))
    store.pull(3, out=array)
    seen.append(array.asnumpy())
    keys = [5, 7, 9]
    store.init(keys, [mx.nd.ones(shape)] * 3)
    devices = [mx.nd.ones(shape, ctx=mx.cpu(i)) for i in range(2)]
    store.push(keys, [devices] * 3)
    outs = [[mx.nd.zeros(shape, ctx=mx.cpu(i)) for i in range(2)] for _ in keys]
    store.pull(keys, out=outs)
    seen.append([[a.asnumpy() for a in arrays] for arrays in outs])
    other = mx.kv.create("device")
    other.set_optimizer(mx.optimizer.create("adam", learning_rate=0.1))
    other.init("w", mx.nd.ones(shape))
    for step in range(3):
        other.push("w", mx.nd.array(numbers(f"gradient {step}", shape)))
    other.pull("w", out=array)
    seen.append(array.asnumpy())
    return seen, [store.type, store.rank, store.num_workers, other.type]


@script
def stopped_and_resumed(mx):
    """Checkpoints of an epoch and of the optimizer, fine tuning of all but the last layer."""
    data, label = numbers("rows", (12, 4)), classes("kinds", (12,), 3)
    rate = mx.lr_scheduler.MultiFactorScheduler(step=[4, 8], factor=0.5)
    options = {"learning_rate": 0.4, "momentum": 0.9, "wd": 0.001}
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "net")
        module = mx.mod.Module(_classifier(mx))
        batches = mx.io.NDArrayIter(data, label, 4)
        module.bind(batches.provide_data, batches.provide_label)
        start(mx, module)
        module.fit(
            batches, num_epoch=2, optimizer_params={**options, "lr_scheduler": rate},
            epoch_end_callback=mx.callback.module_checkpoint(
                module, prefix, save_optimizer_states=True
            ),
        )  # fmt: skip
        files = sorted(os.listdir(folder))
        resumed = mx.mod.Module.load(prefix, 2, load_optimizer_states=True)
        resumed.fit(batches, num_epoch=4, begin_epoch=2, optimizer_params=options)
        seen.append(numpy_of(resumed.get_params()[0]))
        symbol, args, aux = mx.model.load_checkpoint(prefix, 1)
        features = symbol.get_internals()["relu1_output"]
        tuned = mx.sym.FullyConnected(features, num_hidden=2, name="fresh")
        tuned = mx.sym.SoftmaxOutput(tuned, name="softmax")
        kept = {n: a for n, a in args.items() if not n.startswith("fc2")}
        # MXNet leaves a bias whose weight is fixed where it is: fix both.
        other = mx.mod.Module(tuned, fixed_param_names=["fc1_weight", "fc1_bias"])
        few = mx.io.NDArrayIter(data, label % 2, 4)
        other.bind(few.provide_data, few.provide_label)
        fresh = {n: mx.nd.array(0.3 * numbers(n, s))
                 for n, s in (("fresh_weight", (2, 5)), ("fresh_bias", (2,)))}  # fmt: skip
        other.init_params(arg_params={**kept, **fresh}, aux_params=aux)
        other.fit(few, num_epoch=2, optimizer_params={"learning_rate": 0.1})
        seen.append(numpy_of(other.get_params()[0]))
        extracted = mx.mod.Module(features, label_names=None)
        extracted.bind([("data", (12, 4))], for_training=False)
        extracted.set_params(args, aux, allow_missing=False, allow_extra=True)
        seen.append(extracted.predict(mx.io.NDArrayIter(data, batch_size=12)).asnumpy())
    return files, seen, json.loads(tuned.tojson())["heads"]


@script
def the_oldest_interface(mx):
    """`FeedForward`: arrays in, predictions out, saved and loaded, and made by `create`."""
    data, label = numbers("rows", (20, 4)), classes("kinds", (20,), 3)
    names = {"fc1_weight": (5, 4), "fc1_bias": (5,), "fc2_weight": (3, 5), "fc2_bias": (3,)}
    params = {n: mx.nd.array(0.3 * numbers(n, s)) for n, s in names.items()}
    model = mx.model.FeedForward(
        _classifier(mx), ctx=mx.cpu(), num_epoch=3, optimizer="sgd", numpy_batch_size=5,
        learning_rate=0.1, momentum=0.9, arg_params=params, aux_params={},
    )  # fmt: skip
    batches = mx.io.NDArrayIter(data, label, 5)
    speeds: list[int] = []
    model.fit(batches, eval_data=mx.io.NDArrayIter(data, label, 5), eval_metric="acc",
              batch_end_callback=lambda p: speeds.append(p.nbatch))  # fmt: skip
    predicted = model.predict(mx.io.NDArrayIter(data, batch_size=5))
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "old")
        model.save(prefix)
        loaded = mx.model.FeedForward.load(prefix, 3, ctx=mx.cpu())
        again = loaded.predict(data[:5])
    batches.reset()
    return predicted, again, model.score(batches), speeds, numpy_of(model.arg_params)


@script
def profiled_products(mx):
    """A profile of some products is written where it was asked for."""
    a, b = mx.sym.Variable("A"), mx.sym.Variable("B")
    product = mx.sym.dot(a, b, name="product")
    executor = product.simple_bind(mx.cpu(), "write", A=(8, 8), B=(8, 8))
    executor.arg_dict["A"][:] = numbers("A", (8, 8))
    executor.arg_dict["B"][:] = numbers("B", (8, 8))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.json")
        mx.profiler.set_config(profile_symbolic=True, filename=path)
        mx.profiler.set_state("run")
        for _ in range(3):
            (output,) = executor.forward()
            output.wait_to_read()
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        events = json.loads(Path(path).read_text())["traceEvents"]
    return output, len(events) > 0
