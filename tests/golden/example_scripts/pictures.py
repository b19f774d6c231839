"""Networks that see: detection, segmentation, style, adversarial pictures, depth that varies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import classes, fill, numbers, numpy_of, script, start


def _block(mx: Any, data: Any, name: str, filters: int, stride: int = 1) -> Any:
    conv = mx.sym.Convolution(
        data, kernel=(3, 3), pad=(1, 1), stride=(stride, stride), num_filter=filters,
        name=f"{name}_conv",
    )  # fmt: skip
    return mx.sym.Activation(conv, act_type="relu", name=f"{name}_relu")


def _ssd(mx: Any, train: bool) -> Any:
    """Two scales of anchors over a small body, with targets and losses to train, boxes to test."""
    body = _block(mx, mx.sym.Variable("data"), "one", 6, 2)
    scales = [body, _block(mx, body, "two", 6, 2)]
    scores, places, anchors = [], [], []
    for k, layer in enumerate(scales):
        sizes, ratios = [(0.3, 0.4), (0.6, 0.7)][k], (1, 2, 0.5)
        count = len(sizes) + len(ratios) - 1
        score = mx.sym.Convolution(
            layer, kernel=(3, 3), pad=(1, 1), num_filter=count * 3, name=f"score{k}"
        )
        place = mx.sym.Convolution(
            layer, kernel=(3, 3), pad=(1, 1), num_filter=count * 4, name=f"place{k}"
        )
        scores.append(mx.sym.Flatten(mx.sym.transpose(score, axes=(0, 2, 3, 1))))
        places.append(mx.sym.Flatten(mx.sym.transpose(place, axes=(0, 2, 3, 1))))
        boxes = mx.sym.contrib.MultiBoxPrior(layer, sizes=sizes, ratios=ratios, clip=True)
        anchors.append(mx.sym.Flatten(boxes))
    score = mx.sym.Reshape(mx.sym.Concat(*scores, dim=1), shape=(0, -1, 3))
    score = mx.sym.transpose(score, axes=(0, 2, 1), name="scores")
    place = mx.sym.Concat(*places, dim=1, name="places")
    anchor = mx.sym.Reshape(mx.sym.Concat(*anchors, dim=1), shape=(0, -1, 4), name="anchors")
    if not train:
        softmax = mx.sym.SoftmaxActivation(score, mode="channel")
        return mx.sym.contrib.MultiBoxDetection(
            softmax, place, anchor, nms_threshold=0.5, force_suppress=False, nms_topk=20,
            variances=(0.1, 0.1, 0.2, 0.2), name="detection",
        )  # fmt: skip
    target = mx.sym.contrib.MultiBoxTarget(
        anchor, mx.sym.Variable("label"), score, overlap_threshold=0.5, ignore_label=-1,
        negative_mining_ratio=3, minimum_negative_samples=0, negative_mining_thresh=0.5,
        variances=(0.1, 0.1, 0.2, 0.2), name="target",
    )  # fmt: skip
    softmax = mx.sym.SoftmaxOutput(
        score, target[2], ignore_label=-1, use_ignore=True, grad_scale=1.0, multi_output=True,
        normalization="valid", name="class_prob",
    )  # fmt: skip
    distance = mx.sym.smooth_l1(target[1] * (place - target[0]), scalar=1.0)
    box_loss = mx.sym.MakeLoss(distance, grad_scale=1.0, normalization="valid", name="box_loss")
    return mx.sym.Group([softmax, box_loss, mx.sym.MakeLoss(target[2], grad_scale=0)])


@script
def detection_with_anchors(mx):
    """Trains a single-shot detector on objects with boxes, then suppresses overlapping boxes."""
    shapes = [("data", (2, 3, 16, 16))], [("label", (2, 3, 5))]
    module = mx.mod.Module(_ssd(mx, True), label_names=["label"])
    module.bind(*shapes)
    start(mx, module)
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": 0.02, "momentum": 0.9, "wd": 5e-4}
    )
    objects = np.full((2, 3, 5), -1, np.float32)
    objects[0, 0] = [0, 0.1, 0.1, 0.5, 0.55]
    objects[0, 1] = [1, 0.5, 0.4, 0.9, 0.95]
    objects[1, 0] = [1, 0.2, 0.3, 0.8, 0.7]
    seen = []
    for step in range(3):
        data = mx.nd.array(numbers(f"picture {step % 2}", (2, 3, 16, 16)))
        module.forward(mx.io.DataBatch([data], [mx.nd.array(objects)]), is_train=True)
        probability, loss, targets = numpy_of(module.get_outputs())
        valid = targets >= 0
        rows = np.maximum(targets, 0).astype(int)[:, None]
        chosen = np.take_along_axis(probability, rows, 1)[:, 0][valid]
        seen.append([float(-np.log(chosen + 1e-12).sum()), float(loss.sum()), int(valid.sum())])
        module.backward()
        module.update()
    args, aux = module.get_params()
    tester = mx.mod.Module(_ssd(mx, False), label_names=None)
    tester.bind(shapes[0], for_training=False)
    tester.set_params(args, aux)
    picture = mx.nd.array(numbers("picture 0", (2, 3, 16, 16)))
    tester.forward(mx.io.DataBatch([picture]))
    (boxes,) = numpy_of(tester.get_outputs())
    return seen, boxes[:, :6].round(3), (boxes[:, :, 0] >= 0).sum(1)


def _bilinear(shape: Any) -> np.ndarray:
    """Weights of a Deconvolution that interpolates."""
    size = shape[2]
    factor = (size + 1) // 2
    centre = factor - 1 if size % 2 else factor - 0.5
    line = 1 - np.abs(np.arange(size) - centre) / factor
    return np.broadcast_to(line[:, None] * line[None], shape).astype(np.float32)


@script
def segmentation_by_upsampling(mx):
    """A fully convolutional network with a skip connection, cropped to the size of its data."""
    data = mx.sym.Variable("data")
    padded = mx.sym.Convolution(data, kernel=(3, 3), pad=(4, 4), num_filter=4, name="pad_conv")
    one = mx.sym.Pooling(
        mx.sym.Activation(padded, act_type="relu"), kernel=(2, 2), stride=(2, 2), pool_type="max"
    )
    two = mx.sym.Pooling(_block(mx, one, "deep", 6), kernel=(2, 2), stride=(2, 2), pool_type="max")
    coarse = mx.sym.Convolution(two, kernel=(1, 1), num_filter=3, name="coarse")
    twice = mx.sym.Deconvolution(
        coarse, kernel=(4, 4), stride=(2, 2), num_filter=3, num_group=3, no_bias=True,
        name="twice",
    )  # fmt: skip
    skip = mx.sym.Convolution(one, kernel=(1, 1), num_filter=3, name="skip")
    total = mx.sym.Crop(twice, skip, offset=(1, 1), name="crop_twice") + skip
    whole = mx.sym.Deconvolution(
        total, kernel=(4, 4), stride=(2, 2), num_filter=3, num_group=3, no_bias=True,
        name="whole",
    )  # fmt: skip
    score = mx.sym.Crop(whole, data, offset=(3, 3), name="score")
    net = mx.sym.SoftmaxOutput(
        score, multi_output=True, use_ignore=True, ignore_label=255, normalization="valid",
        name="softmax",
    )  # fmt: skip
    executor = fill(net.simple_bind(mx.cpu(), data=(1, 3, 9, 8)), ("data", "softmax_label"))
    initializer = mx.init.Bilinear()
    same = []
    for name in ("twice_weight", "whole_weight"):
        initializer(mx.init.InitDesc(name, {"__init__": initializer.dumps()}),
                    executor.arg_dict[name])  # fmt: skip
        same.append(np.array_equal(executor.arg_dict[name].asnumpy(),
                                   _bilinear(executor.arg_dict[name].shape)))  # fmt: skip
    labels = classes("regions", (1, 9, 8), 3)
    labels[0, :2] = 255
    labels = labels.reshape(executor.arg_dict["softmax_label"].shape)
    executor.arg_dict["data"][:] = numbers("scene", (1, 3, 9, 8))
    executor.arg_dict["softmax_label"][:] = labels
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.2, momentum=0.9))
    seen = []
    for _ in range(3):
        (output,) = executor.forward(is_train=True)
        seen.append(output.asnumpy().mean(axis=(0, 2, 3)))
        executor.backward()
        for i, name in enumerate(net.list_arguments()):
            if name not in ("data", "softmax_label"):
                updater(i, executor.grad_dict[name], executor.arg_dict[name])
    return same, seen, executor.arg_dict["coarse_weight"]


def _style_network(mx: Any) -> Any:
    """Features, and the products of their channels with each other."""
    first = _block(mx, mx.sym.Variable("data"), "low", 4)
    pooled = mx.sym.Pooling(first, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    second = _block(mx, pooled, "high", 5)

    def gram(layer: Any, channels: int) -> Any:
        flat = mx.sym.Reshape(layer, shape=(channels, -1))
        return mx.sym.FullyConnected(flat, flat, no_bias=True, num_hidden=channels)

    return mx.sym.Group([gram(first, 4), gram(second, 5)]), mx.sym.Group([second])


@script
def style_of_one_picture_content_of_another(mx):
    """Descends in the pixels: gradients by the image alone, from two executors and a smoothing."""
    style, content = _style_network(mx)
    shape = (1, 3, 8, 8)
    both = mx.sym.Group(list(style) + list(content))
    executor = fill(both.simple_bind(mx.cpu(), {"data": "write"}, data=shape), ("data",))
    pictures = {n: mx.nd.array(numbers(n, shape)) for n in ("style", "content", "noise")}
    targets = []
    for name in ("style", "content"):
        executor.arg_dict["data"][:] = pictures[name]
        targets.append([o.copy() for o in executor.forward()])
    wanted = [*targets[0][:2], targets[1][2]]
    kernel = mx.sym.Variable("kernel")
    laplace = mx.nd.array(np.array([[[[0, -1, 0], [-1, 4, -1], [0, -1, 0]]]], np.float32) / 8)
    channels = mx.sym.SliceChannel(mx.sym.Variable("img"), num_outputs=3)
    smooth = mx.sym.Concat(*[
        mx.sym.Convolution(c, kernel, num_filter=1, kernel=(3, 3), pad=(1, 1), no_bias=True)
        for c in channels
    ], dim=1)  # fmt: skip
    image = pictures["noise"].copy()
    smoother = smooth.bind(mx.cpu(), {"img": image, "kernel": laplace})
    optimizer = mx.optimizer.SGD(
        learning_rate=0.05, momentum=0.9, wd=0.005,
        lr_scheduler=mx.lr_scheduler.FactorScheduler(step=2, factor=0.5),
    )  # fmt: skip
    state = optimizer.create_state(0, image)
    seen = []
    for _ in range(4):
        executor.arg_dict["data"][:] = image
        executor.forward(is_train=True)
        heads = []
        for output, target, weight in zip(executor.outputs, wanted, (0.01, 0.01, 0.5), strict=True):
            heads.append((output - target) * (weight / output.size))
        executor.backward(heads)
        gradient = executor.grad_dict["data"] + smoother.forward()[0] * 0.02
        norm = float(mx.nd.norm(gradient).asscalar())
        optimizer.update(0, image, gradient / max(norm, 1.0), state)
        seen.append(norm)
    return seen, image, optimizer.num_update


@script
def adversarial_pictures(mx):
    """Trains a classifier, and moves pictures along the sign of their gradients."""
    net = mx.sym.FullyConnected(
        mx.sym.Flatten(_block(mx, mx.sym.Variable("data"), "c", 4, 2)), num_hidden=3, name="fc"
    )
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    module = mx.mod.Module(net)
    data = numbers("pictures", (12, 1, 6, 6))
    labels = classes("what", (12,), 3)
    batches = mx.io.NDArrayIter(data, labels, 4)
    module.bind(batches.provide_data, batches.provide_label, inputs_need_grad=True)
    start(mx, module)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.05})
    metric = mx.metric.CrossEntropy()
    for _ in range(3):
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
    batches.reset()
    batch = next(batches)
    module.forward(batch, is_train=True)
    before = module.get_outputs()[0].asnumpy()
    module.backward()
    (gradient,) = module.get_input_grads()
    moved = mx.io.DataBatch([batch.data[0] + 0.15 * mx.nd.sign(gradient)], batch.label)
    module.forward(moved, is_train=False)
    return metric.get(), before, module.get_outputs()[0], mx.nd.abs(gradient).sum()


class _Skipping:
    """Methods of a residual block that is computed or, when its gate is closed, passed by."""

    def __init__(self, mx: Any, name: str, survival: float, random: Any) -> None:
        super().__init__()
        inner = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name=name)
        inner = mx.sym.Activation(inner, act_type="tanh")
        self.compute = mx.mod.Module(inner, label_names=None)
        self.survival, self.random = survival, random
        self.opened: list[bool] = []

    data_names = property(lambda self: ["data"])
    output_names = property(lambda self: ["data_output"])
    data_shapes = property(lambda self: self.compute.data_shapes)
    label_shapes = property(lambda self: [])
    output_shapes = property(lambda self: self.compute.output_shapes)

    def get_params(self):
        return self.compute.get_params()

    def init_params(self, *args, **kwargs):
        self.compute.init_params(*args, **kwargs)
        self.params_initialized = True

    def bind(self, *args, **kwargs):
        self.compute.bind(*args, **kwargs)
        self.binded = True
        self.for_training, self.inputs_need_grad = True, kwargs.get("inputs_need_grad", False)

    def init_optimizer(self, *args, **kwargs):
        self.compute.init_optimizer(*args, **kwargs)
        self.optimizer_initialized = True

    def forward(self, data_batch, is_train=None):
        train = self.for_training if is_train is None else is_train
        self.gate = not train or self.random.rand() < self.survival
        self.opened.append(self.gate)
        (self.passed,) = data_batch.data
        self.outputs = self.passed
        if self.gate:
            self.compute.forward(data_batch, train)
            scale = 1 if train else self.survival
            self.outputs = self.passed + scale * self.compute.get_outputs()[0]

    def backward(self, out_grads=None):
        self.gradient = out_grads[0]
        if self.gate:
            self.compute.backward(out_grads)
            self.gradient = out_grads[0] + self.compute.get_input_grads()[0]

    def update(self):
        if self.gate:
            self.compute.update()

    def get_outputs(self, merge_multi_context=True):
        return [self.outputs]

    def get_input_grads(self, merge_multi_context=True):
        return [self.gradient]

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        pass

    def install_monitor(self, mon):
        self.compute.install_monitor(mon)


@script
def stochastic_depth(mx):
    """Residual modules that are skipped at random in training: a module of modules of one's own."""

    class Skipping(_Skipping, mx.mod.BaseModule):
        pass

    random = np.random.RandomState(3)
    top = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="top")
    top = mx.sym.SoftmaxOutput(top, name="softmax")
    chain = mx.mod.SequentialModule()
    blocks = [Skipping(mx, f"block{k}", 1 - 0.25 * k, random) for k in range(3)]
    for block in blocks:
        chain.add(block, auto_wiring=True)
    chain.add(mx.mod.Module(top), auto_wiring=True, take_labels=True)
    chain.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
    arguments = {"top_weight": (3, 5), "top_bias": (3,)}
    for k in range(3):
        arguments |= {f"block{k}_weight": (5, 5), f"block{k}_bias": (5,)}
    params = {n: mx.nd.array(0.3 * numbers(n, s)) for n, s in arguments.items()}
    chain.init_params(arg_params=params, aux_params={}, allow_missing=True)
    chain.init_optimizer(optimizer_params={"learning_rate": 0.3})
    losses = []
    for step in range(5):
        label = mx.nd.array(classes(f"kind {step}", (4,), 3))
        batch = mx.io.DataBatch([mx.nd.array(numbers(f"rows {step}", (4, 5)))], [label])
        chain.forward(batch, is_train=True)
        losses.append(float(-mx.nd.log(mx.nd.pick(chain.get_outputs()[0], label)).sum().asscalar()))
        chain.backward()
        chain.update()
    chain.forward(batch, is_train=False)
    return (
        losses,
        [b.opened for b in blocks],
        chain.get_outputs()[0],
        numpy_of(chain.get_params()[0]),
    )


@script
def regions_of_interest(mx):
    """Proposals of a region network, chosen by an operator in Python, pooled and classified."""

    class Choice(mx.operator.CustomOp):
        """Labels of regions by their overlap with one box."""

        def forward(self, is_train, req, in_data, out_data, aux):
            rois, box = (a.asnumpy() for a in in_data)
            left = np.maximum(rois[:, 1:3], box[0, :2])
            right = np.minimum(rois[:, 3:], box[0, 2:])
            common = np.prod(np.maximum(right - left + 1, 0), axis=1)
            areas = np.prod(rois[:, 3:] - rois[:, 1:3] + 1, axis=1)
            overlap = common / (areas + np.prod(box[0, 2:] - box[0, :2] + 1) - common)
            self.assign(out_data[0], req[0], mx.nd.array((overlap > 0.3).astype(np.float32)))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            for k in range(2):
                self.assign(in_grad[k], req[k], 0)

    @mx.operator.register("region_choice")
    class ChoiceProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["rois", "box"]

        def list_outputs(self):
            return ["label"]

        def infer_shape(self, in_shape):
            return in_shape, [(in_shape[0][0],)], []

        def create_operator(self, ctx, shapes, dtypes):
            return Choice()

    body = _block(mx, mx.sym.Variable("data"), "body", 6, 2)
    shared = _block(mx, body, "rpn", 4)
    score = mx.sym.Convolution(shared, kernel=(1, 1), num_filter=2 * 3, name="rpn_score")
    place = mx.sym.Convolution(shared, kernel=(1, 1), num_filter=4 * 3, name="rpn_place")
    pairs = mx.sym.Reshape(score, shape=(0, 2, -1, 0))
    probability = mx.sym.SoftmaxActivation(pairs, mode="channel")
    probability = mx.sym.Reshape(probability, shape=(0, 2 * 3, -1, 0))
    rois = mx.sym.contrib.Proposal(
        probability, place, mx.sym.Variable("im_info"), feature_stride=2, scales=(2, 4, 6),
        ratios=(1,), rpn_pre_nms_top_n=30, rpn_post_nms_top_n=6, threshold=0.7, rpn_min_size=2,
        name="rois",
    )  # fmt: skip
    label = mx.sym.Custom(rois, mx.sym.Variable("box"), op_type="region_choice", name="choice")
    pooled = mx.sym.ROIPooling(body, rois, pooled_size=(2, 2), spatial_scale=0.5, name="pool")
    kind = mx.sym.FullyConnected(mx.sym.Flatten(pooled), num_hidden=2, name="kind")
    net = mx.sym.Group([
        mx.sym.SoftmaxOutput(kind, label, normalization="batch", name="prob"),
        mx.sym.BlockGrad(label), mx.sym.BlockGrad(rois),
    ])  # fmt: skip
    inputs = {"data": (1, 3, 16, 16), "im_info": (1, 3), "box": (1, 4)}
    requests = {n: "null" if n in inputs else "write" for n in net.list_arguments()}
    executor = fill(net.simple_bind(mx.cpu(), requests, **inputs), inputs)
    executor.arg_dict["data"][:] = numbers("street", (1, 3, 16, 16))
    executor.arg_dict["im_info"][:] = [[16, 16, 1]]
    executor.arg_dict["box"][:] = [[2, 3, 10, 11]]
    seen = []
    for _ in range(3):
        outputs = executor.forward(is_train=True)
        seen.append(numpy_of(outputs))
        executor.backward()
        for name, gradient in executor.grad_dict.items():
            if gradient is not None:
                executor.arg_dict[name][:] -= 0.1 * gradient
    return seen, executor.grad_dict["body_conv_weight"]
