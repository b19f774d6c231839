"""Regression and classification, from scratch and with layers; perceptrons; dropout."""

from __future__ import annotations

from ._facts import fill, numbers, script, train


def _regression_data(mx):
    np = mx.np
    x = np.array(numbers("x", (40, 2)))
    return x, np.dot(x, np.array([2, -3.4])) + 4.2 + 0.01 * np.array(numbers("noise", (40,)))


@script
def linear_regression_from_scratch(mx):
    np, autograd = mx.np, mx.autograd
    x, y = _regression_data(mx)
    w, b = np.array(numbers("w", (2, 1))) * 0.01, np.zeros(1)
    for parameter in (w, b):
        parameter.attach_grad()
    losses = []
    for start in range(0, 40, 10):
        rows = np.array(list(range(start, start + 10)))
        features, labels = x[rows], y[rows]
        with autograd.record():
            predictions = np.dot(features, w) + b
            loss = (predictions - labels.reshape(predictions.shape)) ** 2 / 2
        loss.backward()
        for parameter in (w, b):
            parameter[:] = parameter - 0.3 * parameter.grad / 10
        losses.append(loss.mean())
    return w, b, losses, w.grad


@script
def linear_regression_with_layers(mx):
    gluon, nn = mx.gluon, mx.gluon.nn
    x, y = _regression_data(mx)
    data = gluon.data.ArrayDataset(x, y)
    net = nn.Sequential()
    net.add(nn.Dense(1, in_units=2))
    net.initialize(mx.init.Normal(sigma=0.01))
    fill(net)
    loader = gluon.data.DataLoader(data, 8, shuffle=False)
    losses = train(mx, net, gluon.loss.L2Loss(), loader, learning_rate=0.03)
    first = next(iter(loader))
    kinds = [type(part).__name__ for part in first]
    return losses, net[0].weight.data(), net[0].bias.data(), kinds, net[0].weight.grad()


def _softmax(np, x):
    exponents = np.exp(x)
    return exponents / exponents.sum(axis=1, keepdims=True)


def _class_data(mx, n=24, features=6, classes=3):
    x = numbers("images", (n, features))
    return mx.np.array(x), mx.np.array(x[:, :classes].argmax(1).astype("int32"))


@script
def softmax_regression_from_scratch(mx):
    np = mx.np
    x, y = _class_data(mx)
    w, b = np.array(numbers("weights", (6, 3))), np.zeros(3)
    w.attach_grad()
    b.attach_grad()
    seen = []
    for _ in range(3):
        with mx.autograd.record():
            probabilities = _softmax(np, np.dot(x.reshape((-1, 6)), w) + b)
            loss = -np.log(probabilities[range(len(probabilities)), y])
        loss.backward()
        w -= 0.5 * w.grad / len(x)
        b -= 0.5 * b.grad / len(x)
        right = probabilities.argmax(axis=1).astype(y.dtype) == y
        seen.append([loss.mean(), float(right.astype("float32").sum()) / len(y)])
    return seen, w, b


@script
def softmax_regression_with_layers(mx):
    nn = mx.gluon.nn
    x, y = _class_data(mx)
    net = nn.Sequential()
    net.add(nn.Dense(3, in_units=6))
    net.initialize()
    fill(net)
    losses = train(mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), [(x, y)] * 3)
    accuracy = mx.metric.Accuracy()
    accuracy.update(y.as_nd_ndarray(), net(x).as_nd_ndarray())
    return losses, net(x).argmax(axis=1), accuracy.get()[1]


@script
def perceptron_from_scratch(mx):
    np = mx.np
    x, y = _class_data(mx)
    parameters = [np.array(numbers(n, s)) * 0.5 for n, s in (
        ("w1", (6, 5)), ("b1", (5,)), ("w2", (5, 3)), ("b2", (3,)),
    )]  # fmt: skip
    for parameter in parameters:
        parameter.attach_grad()
    w1, b1, w2, b2 = parameters
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(3):
        with mx.autograd.record():
            hidden = np.maximum(np.dot(x, w1) + b1, 0)
            loss = loss_of(np.dot(hidden, w2) + b2, y)
        loss.backward()
        for parameter in parameters:
            parameter[:] -= 0.1 * parameter.grad / 24
        losses.append(loss.sum())
    return losses, parameters


@script
def weight_decay_and_adam(mx):
    nn = mx.gluon.nn
    x, y = _class_data(mx)
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu", in_units=6), nn.Dense(3, in_units=8))
    net.initialize()
    fill(net)
    net.hybridize()
    net.collect_params(".*bias").setattr("wd_mult", 0)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = train(mx, net, loss, [(x, y)] * 4, "adam", learning_rate=0.05, wd=0.1)
    return losses, [p.data() for p in net.collect_params().values()]


@script
def dropout_layers(mx):
    np, nn = mx.np, mx.gluon.nn
    x = np.ones((4, 50))
    net = nn.Sequential()
    net.add(nn.Dropout(0.5))
    net.initialize()
    with mx.autograd.record():
        dropped = net(x)
    values = {float(v) for v in dropped.reshape(-1)}
    mask = np.random.uniform(0, 1, x.shape) > 0.5
    scaled = mask.astype(np.float32) * x / 0.5
    return net(x)[0, :3], sorted(values), sorted({float(v) for v in scaled.reshape(-1)})


@script
def automatic_gradients(mx):
    np, autograd = mx.np, mx.autograd
    x = np.arange(4)
    x.attach_grad()
    seen = []
    with autograd.record():
        y = 2 * np.dot(x, x)
    y.backward()
    seen.append([y, x.grad.copy(), (x.grad == 4 * x).all()])
    with autograd.record():
        y = x * x
        u = y.detach()
        z = u * x
    z.backward()
    seen.append([x.grad.copy(), x.grad == u])

    def doubled(a):
        b = a * 2
        while np.abs(b).sum() < 100:
            b = b * 2
        return b if b.sum() > 0 else 100 * b

    a = np.array(0.7)
    a.attach_grad()
    with autograd.record():
        d = doubled(a)
    d.backward()
    return seen, a.grad, a.grad == d / a


@script
def matrix_factorization(mx):
    np, nn = mx.np, mx.gluon.nn

    class Factors(nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.users, self.items = nn.Embedding(5, 3), nn.Embedding(4, 3)
            self.user_bias, self.item_bias = nn.Embedding(5, 1), nn.Embedding(4, 1)

        def forward(self, user, item):
            products = (self.users(user) * self.items(item)).sum(axis=1)
            biases = np.squeeze(self.user_bias(user)) + np.squeeze(self.item_bias(item))
            return products + biases

    net = Factors()
    net.initialize()
    fill(net)
    users, items = np.array([0, 1, 4, 2]), np.array([3, 0, 1, 2])
    ratings = np.array([4.0, 3, 5, 1])
    losses = train(mx, net, mx.gluon.loss.L2Loss(), [(users, items, ratings)] * 3, "adam")
    return losses, net(users, items)
