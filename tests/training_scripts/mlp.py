"""A multi-layer perceptron on handwritten digits."""

import mxnet as mx

from tests.training_scripts._common import Losses, by_name, digits


def network():
    data = mx.sym.Flatten(mx.sym.Variable("data"))
    fc1 = mx.sym.FullyConnected(data, num_hidden=64, name="fc1")
    act1 = mx.sym.Activation(fc1, act_type="relu", name="relu1")
    fc2 = mx.sym.FullyConnected(act1, num_hidden=32, name="fc2")
    act2 = mx.sym.Activation(fc2, act_type="relu", name="relu2")
    fc3 = mx.sym.FullyConnected(act2, num_hidden=10, name="fc3")
    return mx.sym.SoftmaxOutput(fc3, name="softmax")


def main(ctx):
    train, test = digits()
    train_iter = mx.io.NDArrayIter(*train, batch_size=48)
    val_iter = mx.io.NDArrayIter(*test, batch_size=50)
    losses = Losses()
    model = mx.mod.Module(symbol=network(), context=ctx)
    model.fit(
        train_iter,
        eval_data=val_iter,
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.0001},
        initializer=by_name(mx),
        eval_metric=["ce", "acc"],
        batch_end_callback=[losses, mx.callback.Speedometer(48, 20)],
        num_epoch=6,
    )
    (_, accuracy), (_, top3) = model.score(val_iter, ["acc", mx.metric.TopKAccuracy(3)])
    return {"losses": losses.values, "reached": {"accuracy": accuracy, "top 3": top3}}
