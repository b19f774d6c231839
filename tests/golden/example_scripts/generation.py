"""Networks that generate: autoencoders, a variational one, adversaries, samples of a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import classes, fill, first_values, numbers, numpy_of, script, start


@script
def variational_autoencoder(mx):
    """Draws its code with given noise; the loss is a sum of two terms."""
    data, noise = mx.sym.Variable("data"), mx.sym.Variable("noise")
    hidden = mx.sym.Activation(
        mx.sym.FullyConnected(data, num_hidden=6, name="encode"), act_type="tanh"
    )
    mean = mx.sym.FullyConnected(hidden, num_hidden=2, name="mean")
    log_variance = mx.sym.FullyConnected(hidden, num_hidden=2, name="log_variance")
    code = mean + mx.sym.broadcast_mul(mx.sym.exp(0.5 * log_variance), noise)
    decoded = mx.sym.FullyConnected(code, num_hidden=6, name="decode")
    decoded = mx.sym.FullyConnected(
        mx.sym.Activation(decoded, act_type="tanh"), num_hidden=8, name="pixels"
    )
    pixels = mx.sym.Activation(decoded, act_type="sigmoid", name="probability")
    divergence = -0.5 * mx.sym.sum(
        1 + log_variance - mean * mean - mx.sym.exp(log_variance), axis=1
    )
    likelihood = mx.sym.sum(
        data * mx.sym.log(pixels + 1e-6) + (1 - data) * mx.sym.log(1 - pixels + 1e-6), axis=1
    )
    loss = mx.sym.MakeLoss(mx.sym.mean(divergence - likelihood), name="loss")
    net = mx.sym.Group([loss, mx.sym.BlockGrad(pixels), mx.sym.BlockGrad(mean)])
    pictures = (numbers("digits", (12, 8)) > 0).astype(np.float32)
    module = mx.mod.Module(net, data_names=["data", "noise"], label_names=None)
    module.bind([("data", (4, 8)), ("noise", (4, 2))])
    start(mx, module)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.02})
    losses = []
    for step in range(6):
        rows = pictures[step % 3 * 4 : step % 3 * 4 + 4]
        arrays = [mx.nd.array(rows), mx.nd.array(numbers(f"draw {step}", (4, 2)))]
        module.forward_backward(mx.io.DataBatch(arrays, None))
        module.update()
        losses.append(module.get_outputs()[0].asnumpy())
    return losses, numpy_of(module.get_outputs()[1:])


def _generator(mx: Any) -> Any:
    code = mx.sym.Reshape(mx.sym.Variable("rand"), shape=(0, 4, 1, 1))
    x = mx.sym.Deconvolution(code, kernel=(2, 2), num_filter=6, no_bias=True, name="g1")
    x = mx.sym.BatchNorm(x, fix_gamma=True, eps=1e-5, name="gbn1")
    x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.Deconvolution(
        x, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=2, no_bias=True, name="g2"
    )
    return mx.sym.Activation(x, act_type="tanh", name="gact")


def _discriminator(mx: Any) -> Any:
    x = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=4,
        no_bias=True, name="d1",
    )  # fmt: skip
    x = mx.sym.LeakyReLU(x, act_type="leaky", slope=0.2)
    x = mx.sym.Convolution(x, kernel=(2, 2), num_filter=4, no_bias=True, name="d2")
    x = mx.sym.BatchNorm(x, fix_gamma=True, eps=1e-5, name="dbn2")
    x = mx.sym.LeakyReLU(x, act_type="leaky", slope=0.2)
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=1, name="d3")
    return mx.sym.LogisticRegressionOutput(x, mx.sym.Variable("label"), name="dloss")


@script
def generator_against_discriminator(mx):
    """Two modules: the gradients of real and of generated pictures are added by hand, and the
    generator gets the discriminator's gradients by its pictures."""
    rows = 4
    generator = mx.mod.Module(_generator(mx), data_names=["rand"], label_names=None)
    generator.bind([("rand", (rows, 4))])
    discriminator = mx.mod.Module(_discriminator(mx), label_names=["label"])
    discriminator.bind([("data", (rows, 2, 4, 4))], [("label", (rows, 1))], inputs_need_grad=True)
    for module in (generator, discriminator):
        start(mx, module)
        module.init_optimizer(
            optimizer="adam", optimizer_params={"learning_rate": 0.01, "wd": 0.0, "beta1": 0.5}
        )
    metric = mx.metric.CustomMetric(
        lambda label, pred: float(((pred > 0.5) == label).mean()), name="right"
    )
    entropy = mx.metric.CustomMetric(
        lambda label, pred: float(
            -(label * np.log(pred + 1e-12) + (1 - label) * np.log(1 - pred + 1e-12)).mean()
        )
    )
    seen = []
    for step in range(3):
        metric.reset()
        entropy.reset()
        code = mx.io.DataBatch([mx.nd.array(numbers(f"code {step}", (rows, 4)))], [])
        real = mx.io.DataBatch([mx.nd.array(np.tanh(numbers(f"real {step}", (rows, 2, 4, 4))))])
        generator.forward(code, is_train=True)
        pictures = generator.get_outputs()
        label = mx.nd.zeros((rows, 1))
        discriminator.forward(mx.io.DataBatch(pictures, [label]), is_train=True)
        discriminator.backward()
        kept = [
            [g.copyto(g.context) for g in grads] for grads in discriminator._exec_group.grad_arrays
        ]
        discriminator.update_metric(metric, [label])
        label = mx.nd.ones((rows, 1))
        real.label = [label]
        discriminator.forward(real, is_train=True)
        discriminator.backward()
        for grads, earlier in zip(discriminator._exec_group.grad_arrays, kept, strict=True):
            for gradient, old in zip(grads, earlier, strict=True):
                gradient += old
        discriminator.update()
        discriminator.update_metric(metric, [label])
        discriminator.update_metric(entropy, [label])
        discriminator.forward(mx.io.DataBatch(pictures, [label]), is_train=True)
        discriminator.backward()
        generator.backward(discriminator.get_input_grads())
        generator.update()
        seen.append([metric.get(), entropy.get()[1], float(pictures[0].asnumpy().sum())])
    generator.forward(code, is_train=False)
    mx.nd.waitall()  # else MXNet copies states that are not updated yet
    return seen, generator.get_outputs(), numpy_of(discriminator.get_params()[1])


@script
def autoencoder_layer_by_layer(mx):
    """Pretrains each layer alone on the codes of those before, then tunes all of them."""
    sizes = [8, 5, 3]
    values = numbers("spectra", (12, 8))
    params: dict[str, Any] = {}

    def layer(data: Any, k: int, name: str, width: int) -> Any:
        x = mx.sym.FullyConnected(data, num_hidden=width, name=f"{name}_{k}")
        return mx.sym.Activation(x, act_type="relu") if k != 0 or name == "encode" else x

    def fit(net: Any, data: Any, epochs: int) -> Any:
        label = net.list_arguments()[-1]
        executor = net.simple_bind(mx.cpu(), data=(4, data.shape[1]))
        fill(executor, ("data", label))
        executor.copy_params_from(params, allow_extra_params=True)
        optimizer = mx.optimizer.create("sgd", learning_rate=0.05, momentum=0.9,
                                        rescale_grad=1 / 4)  # fmt: skip
        names = [n for n in net.list_arguments() if n not in ("data", label)]
        optimizer.set_lr_mult({n: 2.0 for n in names if n.endswith("bias")})
        optimizer.idx2name = dict(enumerate(names))
        updater, losses = mx.optimizer.get_updater(optimizer), []
        for _ in range(epochs):
            total = 0.0
            for rows in range(0, 12, 4):
                part = mx.nd.array(data[rows : rows + 4])
                executor.forward(is_train=True, **{"data": part, label: part})
                total += float(((executor.outputs[0] - part) ** 2).sum().asscalar())
                executor.backward()
                for index, name in enumerate(names):
                    updater(index, executor.grad_dict[name], executor.arg_dict[name])
            losses.append(total)
        params.update({n: executor.arg_dict[n].copy() for n in names})
        return losses

    seen, codes = [], values
    for k in range(2):
        data = mx.sym.Variable("data")
        encoded = layer(data, k, "encode", sizes[k + 1])
        net = mx.sym.LinearRegressionOutput(layer(encoded, k, "decode", sizes[k]), name="out")
        seen.append(fit(net, codes, 2))
        encoder = encoded.bind(mx.cpu(), {
            "data": mx.nd.array(codes), **{n: params[n] for n in encoded.list_arguments()[1:]},
        })  # fmt: skip
        codes = encoder.forward()[0].asnumpy()
    net = mx.sym.Variable("data")
    for k in range(2):
        net = layer(net, k, "encode", sizes[k + 1])
    for k in (1, 0):
        net = layer(net, k, "decode", sizes[k])
    seen.append(fit(mx.sym.LinearRegressionOutput(net, name="out"), values, 3))
    return seen, codes, params["encode_0_weight"]


@script
def posterior_by_langevin_dynamics(mx):
    """Gradients with a prior and noise from NumPy; predictions are averaged over samples."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu")
    net = mx.sym.FullyConnected(net, num_hidden=1, name="fc2")
    net = mx.sym.LinearRegressionOutput(net, grad_scale=5.0, name="teacher")
    x = np.linspace(-1, 1, 10).astype(np.float32)[:, None]
    y = x[:, 0] ** 3 + 0.1 * numbers("scatter", (10,))
    executor = fill(net.simple_bind(mx.cpu(), data=(10, 1)), ("data", "teacher_label"))
    names = [n for n in net.list_arguments() if n not in ("data", "teacher_label")]
    scheduler = mx.lr_scheduler.FactorScheduler(step=3, factor=0.5, base_lr=0.01)
    samples = []
    executor.arg_dict["data"][:] = x
    executor.arg_dict["teacher_label"][:] = y
    for step in range(8):
        executor.forward(is_train=True)
        executor.backward()
        rate = scheduler(step + 1)
        for name in names:
            weight = executor.arg_dict[name]
            noise = mx.nd.array(numbers(f"{name} {step}", weight.shape)) * rate**0.5 * 0.1
            weight[:] = weight - rate / 2 * (executor.grad_dict[name] + 0.1 * weight) + noise
        if step % 2:
            copies = {n: executor.arg_dict[n].copy() for n in names}
            samples.append(copies)
    predictions = []
    for sample in samples:
        executor.copy_params_from(sample)
        predictions.append(executor.forward(is_train=False)[0].asnumpy())
    mean = np.mean(predictions, 0)
    return scheduler.base_lr, mean, float(((mean[:, 0] - y) ** 2).mean()), numpy_of(samples[-1])


@script
def clusters_of_an_embedding(mx):
    """Soft assignments to centres by an operator in Python, which sharpens its own target."""

    class Assignment(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            z, centres, _ = (a.asnumpy() for a in in_data)
            weight = 1 / (1 + ((z[:, None] - centres[None]) ** 2).sum(-1))
            share = weight / weight.sum(1, keepdims=True)
            self.assign(out_data[0], req[0], mx.nd.array(share))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            z, centres, target = (a.asnumpy() for a in in_data)
            difference = z[:, None] - centres[None]
            weight = 1 / (1 + (difference**2).sum(-1))
            factor = (weight * (target - out_data[0].asnumpy()))[..., None] * difference
            self.assign(in_grad[0], req[0], mx.nd.array(2 * factor.sum(1)))
            self.assign(in_grad[1], req[1], mx.nd.array(-2 * factor.sum(0)))
            self.assign(in_grad[2], req[2], 0)

    @mx.operator.register("soft_assignment")
    class AssignmentProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["z", "centres", "target"]

        def infer_shape(self, in_shape):
            (rows, width), (count, _) = in_shape[0], in_shape[1]
            return [in_shape[0], (count, width), (rows, count)], [(rows, count)], []

        def create_operator(self, ctx, shapes, dtypes):
            return Assignment()

    data = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="embed")
    net = mx.sym.Custom(
        data, mx.sym.Variable("centres"), mx.sym.Variable("target"), op_type="soft_assignment",
        name="assign",
    )  # fmt: skip
    shapes = {"data": (6, 4), "centres": (3, 2), "target": (6, 3)}
    executor = net.simple_bind(mx.cpu(), grad_req="write", **shapes)
    for name, value in first_values(executor.arg_dict, 0.7).items():
        executor.arg_dict[name][:] = value
    executor.arg_dict["data"][:] = numbers("points", (6, 4)) + classes("group", (6, 1), 3)
    seen = []
    for _ in range(3):
        q = executor.forward(is_train=False)[0].asnumpy()
        p = q**2 / q.sum(0)
        executor.arg_dict["target"][:] = p / p.sum(1, keepdims=True)
        executor.forward(is_train=True)
        executor.backward()
        for name in ("embed_weight", "embed_bias", "centres"):
            executor.arg_dict[name][:] -= 0.3 * executor.grad_dict[name]
        seen.append(q)
    return seen, executor.arg_dict["centres"]
