"""Networks that reshape a lot, train by losses of their own, and take pictures of several sizes."""

from __future__ import annotations

import numpy as np

from ._facts import classes, first_values, numbers, numpy_of, script, start


def _heads(mx, x, count):
    """(batch, time, count * size) as (batch * count, time, size)."""
    x = mx.sym.Reshape(x, shape=(0, 0, -4, count, -1))
    return mx.sym.Reshape(mx.sym.transpose(x, axes=(0, 2, 1, 3)), shape=(-3, -2))


@script
def attention_with_several_heads(mx):
    """A layer of self-attention over words, some of which are masked."""
    rows, steps, width, count = 4, 5, 8, 2
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=9, output_dim=width, name="word")
    place = mx.sym.Variable("place_weight", shape=(steps, width))
    x = mx.sym.broadcast_add(words, mx.sym.expand_dims(place, axis=0))
    query, key, value = (
        _heads(
            mx,
            mx.sym.FullyConnected(x, num_hidden=width, flatten=False, no_bias=True, name=name),
            count,
        )
        for name in ("query", "key", "value")
    )
    mask = mx.sym.repeat(mx.sym.expand_dims(mx.sym.Variable("mask"), axis=1), repeats=count, axis=0)
    score = mx.sym.batch_dot(query, key, transpose_b=True) / 2
    share = mx.sym.softmax(mx.sym.broadcast_add(score, (mask - 1) * 1e4), name="share")
    mixed = mx.sym.Reshape(mx.sym.batch_dot(share, value), shape=(-4, -1, count, 0, 0))
    mixed = mx.sym.Reshape(mx.sym.transpose(mixed, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
    x = mx.sym.LayerNorm(x + mixed, name="norm")
    x = mx.sym.LeakyReLU(
        mx.sym.FullyConnected(x, num_hidden=6, flatten=False, name="wide"), act_type="gelu"
    )
    top = mx.sym.FullyConnected(mx.sym.mean(x, axis=1), num_hidden=3, name="top")
    softmax = mx.sym.SoftmaxOutput(top, mx.sym.Variable("label"), name="softmax")
    net = mx.sym.Group([softmax, mx.sym.BlockGrad(share)])
    data = classes("words", (12, steps), 9)
    lengths = 2 + classes("lengths", (12, 1), 4)
    batches = mx.io.NDArrayIter(
        {"data": data, "mask": (np.arange(steps) < lengths).astype(np.float32)},
        {"label": data[:, 0] % 3},
        rows,
    )
    module = mx.mod.Module(net, data_names=["data", "mask"], label_names=["label"])
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01})
    for _ in range(2):
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
    return numpy_of(module.get_outputs()), numpy_of(module.get_params()[0])


@script
def losses_of_ones_own(mx):
    """Losses that are written down as operators, each with one hidden layer."""
    label = mx.sym.Variable("label")
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="hidden")
    x = mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=3, name="top")
    p = mx.sym.sigmoid(x)
    overlap = (2 * mx.sym.sum(p * label) + 1) / (mx.sym.sum(p) + mx.sym.sum(label) + 1)
    sure = (1 - p) ** 2 * mx.sym.log(p + 1e-6)
    unsure = p**2 * mx.sym.log(1 - p + 1e-6)
    angle = mx.sym.L2Normalization(x + 0.01) * mx.sym.L2Normalization(label + 0.01)
    losses = {
        "angle": mx.sym.MakeLoss(1 - mx.sym.sum(angle, axis=1)),
        "entropy": mx.sym.MakeLoss(
            -mx.sym.sum(mx.sym.log_softmax(x) * label, axis=1), normalization="batch"
        ),
        "focal": mx.sym.MakeLoss(-mx.sym.mean(label * sure + (1 - label) * unsure)),
        "margin": mx.sym.MakeLoss(
            mx.sym.where(label > 0.5, mx.sym.square(1 - x), mx.sym.relu(x)),
            normalization="valid",
            valid_thresh=0.1,
        ),
        "overlap": mx.sym.MakeLoss(1 - overlap),
        "smooth": mx.sym.MakeLoss(
            mx.sym.mean(mx.sym.smooth_l1(x - label, scalar=2.0)), grad_scale=0.5
        ),
    }
    answers = {}
    for name, loss in losses.items():
        module = mx.mod.Module(loss, label_names=["label"])
        module.bind([("data", (6, 4))], [("label", (6, 3))])
        start(mx, module)
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.5})
        for step in range(3):
            data = mx.nd.array(numbers(f"rows {step}", (6, 4)))
            wanted = mx.nd.array((numbers(f"wanted {step}", (6, 3)) > 0).astype(np.float32))
            module.forward_backward(mx.io.DataBatch([data], [wanted]))
            module.update()
        answers[name] = numpy_of(module.get_outputs()), numpy_of(module.get_params()[0])
    return answers


@script
def pictures_of_several_sizes(mx):
    """Binds an executor for every picture, on the same arrays of weights and gradients."""
    data = mx.sym.Variable("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    x = mx.sym.Pooling(
        mx.sym.tanh(x), kernel=(2, 2), stride=(2, 2), pool_type="avg", pooling_convention="full"
    )
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=3, name="score")
    x = mx.sym.Deconvolution(
        x, kernel=(4, 4), stride=(2, 2), num_filter=3, no_bias=True, name="larger"
    )
    net = mx.sym.SoftmaxOutput(
        mx.sym.Crop(x, data, offset=(1, 1)),
        multi_output=True,
        use_ignore=True,
        ignore_label=255,
        normalization="valid",
        name="softmax",
    )
    sizes = ((8, 8), (9, 7), (8, 8), (5, 12), (9, 7))
    names = net.list_arguments()
    shapes, _, _ = net.infer_shape(data=(1, 3, 8, 8))
    arrays = {
        n: mx.nd.zeros(s)
        for n, s in zip(names, shapes, strict=True)
        if n.endswith(("weight", "bias"))
    }
    weights = {n: mx.nd.array(v) for n, v in first_values(arrays).items()}
    gradients = {n: mx.nd.zeros(w.shape) for n, w in weights.items()}
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.2, momentum=0.9))
    outputs = []
    for step, (height, width) in enumerate(sizes):
        wanted = classes(f"wanted {step}", (1, height, width), 3)
        wanted[0, 0] = 255
        inputs = {
            "data": mx.nd.array(numbers(f"picture {step}", (1, 3, height, width))),
            "softmax_label": mx.nd.array(wanted),
        }
        executor = net.bind(mx.cpu(), {**weights, **inputs}, args_grad=gradients)
        executor.forward(is_train=True)
        executor.backward()
        for index, name in enumerate(names):
            if name in weights:
                update(index, gradients[name], weights[name])
        outputs.append(executor.outputs[0].asnumpy())
    return outputs, numpy_of(weights), numpy_of(gradients)


@script
def critic_with_clipped_weights(mx):
    """Adversaries whose critic keeps its weights small: they are written between the steps."""
    rows = 4
    made = mx.sym.FullyConnected(mx.sym.Variable("rand"), num_hidden=6, name="maker")
    maker = mx.mod.Module(mx.sym.tanh(made), data_names=["rand"], label_names=None)
    maker.bind([("rand", (rows, 3))])
    judged = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="first")
    judged = mx.sym.LeakyReLU(judged, act_type="leaky", slope=0.2)
    judged = mx.sym.FullyConnected(judged, num_hidden=1, name="second")
    signed = mx.sym.broadcast_mul(judged, mx.sym.Variable("sign"))
    critic = mx.mod.Module(
        mx.sym.MakeLoss(mx.sym.mean(signed)), data_names=["data", "sign"], label_names=None
    )
    critic.bind([("data", (rows, 6)), ("sign", (rows, 1))], inputs_need_grad=True)
    for module in (maker, critic):
        start(mx, module)
        module.init_optimizer(optimizer="rmsprop", optimizer_params={"learning_rate": 0.02})
    one, losses = mx.nd.ones((rows, 1)), []
    for step in range(4):
        for arrays in critic._exec_group.param_arrays:
            for array in arrays:
                array[:] = mx.nd.clip(array, -0.1, 0.1)
        maker.forward(mx.io.DataBatch([mx.nd.array(numbers(f"noise {step}", (rows, 3)))]), True)
        fake = maker.get_outputs()[0]
        real = mx.nd.array(np.tanh(numbers(f"real {step}", (rows, 6))))
        critic.forward(mx.io.DataBatch([real, one]), is_train=True)
        critic.backward()
        kept = [g[0].copy() for g in critic._exec_group.grad_arrays]
        critic.forward(mx.io.DataBatch([fake, -one]), is_train=True)
        losses.append(critic.get_outputs()[0].asnumpy())
        critic.backward()
        for gradient, old in zip(critic._exec_group.grad_arrays, kept, strict=True):
            gradient[0][:] += old
        critic.update()
        critic.forward(mx.io.DataBatch([fake, one]), is_train=True)
        critic.backward()
        maker.backward([critic.get_input_grads()[0]])
        maker.update()
    return losses, numpy_of(maker.get_params()[0]), numpy_of(critic.get_params()[0])
