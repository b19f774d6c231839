"""LeNet on handwritten digits of 8x8 pixels."""

import mxnet as mx

from tests.training_scripts._common import Losses, by_name, digits


def network():
    data = mx.sym.var("data")
    conv1 = mx.sym.Convolution(data=data, kernel=(3, 3), pad=(1, 1), num_filter=8, name="conv1")
    tanh1 = mx.sym.Activation(data=conv1, act_type="tanh")
    pool1 = mx.sym.Pooling(data=tanh1, pool_type="max", kernel=(2, 2), stride=(2, 2))
    conv2 = mx.sym.Convolution(data=pool1, kernel=(3, 3), num_filter=16, name="conv2")
    tanh2 = mx.sym.Activation(data=conv2, act_type="tanh")
    pool2 = mx.sym.Pooling(data=tanh2, pool_type="max", kernel=(2, 2), stride=(2, 2))
    flatten = mx.sym.flatten(data=pool2)
    fc1 = mx.sym.FullyConnected(data=flatten, num_hidden=40, name="fc1")
    tanh3 = mx.sym.Activation(data=fc1, act_type="tanh")
    fc2 = mx.sym.FullyConnected(data=tanh3, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(data=fc2, name="softmax")


def main(ctx):
    train, test = digits()
    train_iter = mx.io.NDArrayIter(*train, batch_size=48)
    val_iter = mx.io.NDArrayIter(*test, batch_size=50)
    losses = Losses()
    schedule = mx.lr_scheduler.MultiFactorScheduler([60, 90], factor=0.5)
    model = mx.mod.Module(symbol=network(), context=ctx)
    model.fit(
        train_iter,
        eval_data=val_iter,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01, "lr_scheduler": schedule},
        initializer=by_name(mx),
        eval_metric=mx.metric.CompositeEvalMetric(["ce", "acc"]),
        batch_end_callback=losses,
        num_epoch=4,
    )
    (_, accuracy), (_, loss) = model.score(val_iter, ["acc", "ce"])
    return {"losses": losses.values, "reached": {"accuracy": accuracy, "cross-entropy": loss}}
