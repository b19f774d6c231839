"""Convolutions from scratch, LeNet, batch normalisation, residual and dense blocks, SSD, GAN."""

from __future__ import annotations

from ._facts import fill, numbers, script, train


@script
def correlation_from_scratch(mx):
    np, nn = mx.np, mx.gluon.nn

    def corr2d(x, k):
        h, w = k.shape
        y = np.zeros((x.shape[0] - h + 1, x.shape[1] - w + 1))
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = (x[i : i + h, j : j + w] * k).sum()
        return y

    x = np.ones((4, 6))
    x[:, 2:4] = 0
    y = corr2d(x, np.array([[1.0, -1.0]]))
    conv = nn.Conv2D(1, kernel_size=(1, 2), use_bias=False)
    conv.initialize()
    conv(x.reshape(1, 1, 4, 6))
    conv.weight.set_data(np.array([[[[0.3, -0.2]]]]))
    losses = []
    for _ in range(4):
        with mx.autograd.record():
            loss = (conv(x.reshape(1, 1, 4, 6)) - y.reshape(1, 1, 4, 5)) ** 2
        loss.backward()
        conv.weight.data()[:] -= 3e-2 * conv.weight.grad()
        losses.append(float(loss.sum()))
    return y, losses, conv.weight.data().reshape((1, 2))


def _pictures(mx, shape=(4, 1, 12, 12)):
    return mx.np.array(numbers("pictures", shape)), mx.np.array([0, 2, 1, 0])


def _trained(mx, net, x, y):
    net.initialize(mx.init.Xavier())
    net(x)
    fill(net)
    net.hybridize()
    losses = train(mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), [(x, y)] * 2)
    return losses, net(x), net(x).shape


@script
def lenet(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels=4, kernel_size=3, padding=1, activation="sigmoid"),
            nn.AvgPool2D(pool_size=2, strides=2), nn.Conv2D(6, 3, activation="sigmoid"),
            nn.MaxPool2D(2, 2), nn.Dense(8, activation="sigmoid"), nn.Dense(3))  # fmt: skip
    return _trained(mx, net, *_pictures(mx))


@script
def batch_norm_from_scratch(mx):
    np, nn = mx.np, mx.gluon.nn

    def batch_norm(x, gamma, beta, moving_mean, moving_var):
        if not mx.autograd.is_training():
            scaled = (x - moving_mean) / np.sqrt(moving_var + 1e-5)
        else:
            mean = x.mean(axis=(0, 2, 3), keepdims=True)
            var = ((x - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
            scaled = (x - mean) / np.sqrt(var + 1e-5)
            moving_mean = 0.9 * moving_mean + 0.1 * mean
            moving_var = 0.9 * moving_var + 0.1 * var
        return gamma * scaled + beta, moving_mean, moving_var

    class BatchNorm(nn.Block):
        def __init__(self, channels, **kwargs):
            super().__init__(**kwargs)
            shape = (1, channels, 1, 1)
            self.gamma = self.params.get("gamma", shape=shape, init=mx.init.One())
            self.beta = self.params.get("beta", shape=shape, init=mx.init.Zero())
            self.mean, self.var = np.zeros(shape), np.zeros(shape)

        def forward(self, x):
            y, self.mean, self.var = batch_norm(
                x, self.gamma.data(), self.beta.data(), self.mean, self.var
            )
            return y

    x, y = _pictures(mx)
    net = nn.Sequential()
    net.add(nn.Conv2D(3, 3), BatchNorm(3), nn.Activation("sigmoid"), nn.Dense(3))
    net.initialize()
    net(x)
    fill(net)
    losses = train(mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), [(x, y)] * 2)
    return losses, net[1].gamma.data().reshape((-1,)), net[1].mean.reshape(-1), net(x)


@script
def batch_norm_layers(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(3)
    )
    losses, output, _ = _trained(mx, net, *_pictures(mx))
    return losses, output, net[1].running_mean.data(), net[1].running_var.data()


def _residual(mx):
    np, npx, nn = mx.np, mx.npx, mx.gluon.nn

    class Residual(nn.Block):
        def __init__(self, channels, use_1x1=False, strides=1, **kwargs):
            super().__init__(**kwargs)
            self.conv1 = nn.Conv2D(channels, 3, padding=1, strides=strides)
            self.conv2 = nn.Conv2D(channels, 3, padding=1)
            self.conv3 = nn.Conv2D(channels, 1, strides=strides) if use_1x1 else None
            self.bn1, self.bn2 = nn.BatchNorm(), nn.BatchNorm()

        def forward(self, x):
            y = self.bn2(self.conv2(npx.relu(self.bn1(self.conv1(x)))))
            return npx.relu(y + (x if self.conv3 is None else self.conv3(x)))

    class Dense(nn.Block):
        def __init__(self, convolutions, channels, **kwargs):
            super().__init__(**kwargs)
            self.net = nn.Sequential()
            for _ in range(convolutions):
                block = nn.Sequential()
                block.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(channels, 3, padding=1))
                self.net.add(block)

        def forward(self, x):
            for block in self.net:
                x = np.concatenate((x, block(x)), axis=1)
            return x

    return Residual, Dense


@script
def residual_network(mx):
    nn = mx.gluon.nn
    residual, _ = _residual(mx)
    net = nn.Sequential()
    net.add(nn.Conv2D(3, 3, padding=1), residual(3), residual(4, use_1x1=True, strides=2),
            nn.GlobalAvgPool2D(), nn.Dense(3))  # fmt: skip
    return _trained(mx, net, *_pictures(mx))


@script
def dense_network(mx):
    nn = mx.gluon.nn
    _, dense = _residual(mx)
    net = nn.Sequential()
    net.add(
        dense(2, 3), nn.BatchNorm(), nn.Conv2D(4, 1), nn.AvgPool2D(2, 2), nn.Flatten(), nn.Dense(3)
    )
    return _trained(mx, net, *_pictures(mx))


@script
def hybrid_blocks(mx):
    nn = mx.gluon.nn

    class Net(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.hidden, self.output = nn.Dense(4), nn.Dense(2)
            self.scale = self.params.get("scale", shape=(1,), init="ones")

        def hybrid_forward(self, F, x, scale):  # noqa: N803
            x = F.npx.relu(self.hidden(x)) * scale + 1
            x = F.np.concatenate([x, F.np.exp(-x)], axis=1)
            first = F.np.expand_dims(x[:, 0], axis=1)
            return self.output(x) + first / F.np.sum(x, axis=1, keepdims=True)

    net = Net()
    net.initialize()
    x = mx.np.array(numbers("rows", (3, 5)))
    net(x)
    fill(net)
    plain = net(x)
    net.hybridize()
    with mx.autograd.record():
        traced = net(x)
    traced.backward()
    grads = [p.grad() for p in net.collect_params().values()]
    net.export("net")
    block = mx.gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
    same = mx.np.abs(block(x) - traced).max() < 1e-6
    return plain, traced, grads, type(traced).__name__, same, type(block(x)).__name__


@script
def anchor_boxes(mx):
    np, npx = mx.np, mx.npx
    x = np.zeros((1, 3, 4, 6))
    boxes = npx.multibox_prior(x, sizes=[0.75, 0.5], ratios=[1, 2])
    anchors = np.array([[[0, 0.1, 0.2, 0.3], [0.15, 0.2, 0.4, 0.4], [0.63, 0.05, 0.88, 0.98],
                         [0.66, 0.45, 0.8, 0.8], [0.57, 0.3, 0.92, 0.9]]])  # fmt: skip
    truth = np.array([[[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]]])
    labels = npx.multibox_target(anchors, truth, np.zeros((1, 3, 5)))
    scores = np.array([[[0, 0, 0, 0, 0], [0.9, 0.8, 0.7, 0.1, 0.2], [0.1, 0.2, 0.3, 0.9, 0.8]]])
    found = npx.multibox_detection(scores, np.zeros((1, 20)), anchors, nms_threshold=0.5)
    return boxes[0, :6], boxes.shape, labels, found


@script
def detection_losses(mx):
    np, gluon = mx.np, mx.gluon
    classes = np.array(numbers("classes", (2, 5, 3)))
    boxes, truth = np.array(numbers("boxes", (2, 20))), np.array(numbers("truth", (2, 20)))
    masks = np.array([[1.0] * 12 + [0.0] * 8] * 2)
    labels = np.array([[0, 1, 2, 0, 1], [2, 2, 0, 0, 1]])
    cls = gluon.loss.SoftmaxCrossEntropyLoss()(classes, labels)
    bbox = gluon.loss.L1Loss()(boxes * masks, truth * masks)
    errors = np.abs((truth - boxes) * masks).sum()
    return cls, bbox, cls + bbox, errors, (classes.argmax(axis=-1).astype("int32") == 1).sum()


@script
def generative_adversarial(mx):
    np, gluon, nn = mx.np, mx.gluon, mx.gluon.nn
    data = np.dot(np.array(numbers("z", (16, 2))), np.array([[1, 2], [-0.1, 0.5]])) + np.array(
        [1, 2]
    )
    generator, critic = nn.Sequential(), nn.Sequential()
    generator.add(nn.Dense(2, in_units=2))
    critic.add(nn.Dense(5, activation="tanh", in_units=2), nn.Dense(1, in_units=5))
    trainers = []
    for net in (generator, critic):
        net.initialize()
        fill(net)
        trainers.append(gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}))
    loss = gluon.loss.SigmoidBCELoss()
    ones, zeros, seen = np.ones((16,)), np.zeros((16,)), []
    for step in range(3):
        noise = np.array(numbers(f"noise{step}", (16, 2)))
        with mx.autograd.record():
            fake = generator(noise)
            both = (loss(critic(data), ones) + loss(critic(fake.detach()), zeros)) / 2
        both.backward()
        trainers[1].step(16)
        with mx.autograd.record():
            fooled = loss(critic(generator(noise)), ones)
        fooled.backward()
        trainers[0].step(16)
        seen.append([both.sum(), fooled.sum()])
    return seen, generator[0].weight.data()


@script
def style_transfer(mx):
    np, nn = mx.np, mx.gluon.nn

    class Image(nn.Block):
        def __init__(self, shape, **kwargs):
            super().__init__(**kwargs)
            self.weight = self.params.get("weight", shape=shape)

        def forward(self):
            return self.weight.data()

    def gram(x):
        channels, n = x.shape[1], x.size // x.shape[1]
        x = x.reshape(channels, n)
        return np.dot(x, x.T) / (channels * n)

    content, style = (np.array(numbers(n, (1, 3, 6, 6))) for n in ("content", "style"))
    image = Image(content.shape)
    image.initialize()
    image.weight.set_data(content * 0.9)
    trainer = mx.gluon.Trainer(image.collect_params(), "adam", {"learning_rate": 0.1})
    losses = []
    for _ in range(3):
        with mx.autograd.record():
            x = image()
            variation = np.abs(x[:, :, 1:, :] - x[:, :, :-1, :]).mean()
            variation = variation + np.abs(x[:, :, :, 1:] - x[:, :, :, :-1]).mean()
            loss = (
                np.square(x - content).mean() + np.square(gram(x) - gram(style)).mean() + variation
            )
        loss.backward()
        trainer.step(1)
        losses.append(loss)
    return losses, image()[0, 0, 0]
