"""fit on the handwritten digits, from fixed parameters: accuracies."""

from __future__ import annotations

from ._facts import Log, contexts, load_digits, script, start


def _fit(mx, net, count, epochs, optimizer, **options):
    images, labels, test_images, test_labels = load_digits(800, 300)
    train = mx.io.NDArrayIter(images, labels, 40)
    test = mx.io.NDArrayIter(test_images, test_labels, 50)
    log = Log()
    module = mx.mod.Module(net, context=contexts(mx, count), logger=log)
    module.bind(train.provide_data, train.provide_label)
    start(mx, module, 0.1)
    module.fit(
        train, eval_data=test, optimizer=optimizer, optimizer_params=options, num_epoch=epochs,
        eval_metric=["acc", "ce"],
    )  # fmt: skip
    return log.values, module.score(test, "acc")


@script
def digits_mlp(mx):
    x = mx.sym.Flatten(mx.sym.Variable("data"))
    x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=32, name="fc1"), act_type="relu")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    return {c: _fit(mx, net, c, 4, "sgd", learning_rate=0.1, momentum=0.9) for c in (1, 2)}


@script
def digits_lenet(mx):
    x = mx.sym.Variable("data")
    for i, filters in ((1, 8), (2, 12)):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"tanh{i}")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=24, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=10, name="fc2")
    return _fit(mx, mx.sym.SoftmaxOutput(x, name="softmax"), 1, 3, "adam", learning_rate=0.005)
