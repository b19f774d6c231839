"""Two heads on one body: which digit it is, and whether that is odd."""

import mxnet as mx

from tests.training_scripts._common import Losses, by_name, digits


class MultiAccuracy(mx.metric.EvalMetric):
    """The accuracy of each of several outputs."""

    def __init__(self, num):
        self.num = num
        super().__init__("multi-accuracy")

    def reset(self):
        self.num_inst = [0] * self.num
        self.sum_metric = [0.0] * self.num

    reset_local = reset

    def update(self, labels, preds):
        mx.metric.check_label_shapes(labels, preds)
        for i in range(self.num):
            pred = mx.nd.argmax_channel(preds[i]).asnumpy().astype("int32")
            label = labels[i].asnumpy().astype("int32")
            self.sum_metric[i] += (pred.flat == label.flat).sum()
            self.num_inst[i] += len(pred.flat)

    def get(self):
        names = [f"task{i}-accuracy" for i in range(self.num)]
        sums = zip(self.sum_metric, self.num_inst, strict=True)
        return names, [s / n if n else float("nan") for s, n in sums]


def network():
    data = mx.sym.Flatten(mx.sym.Variable("data"))
    fc1 = mx.sym.FullyConnected(data=data, name="fc1", num_hidden=48)
    act1 = mx.sym.Activation(data=fc1, name="relu1", act_type="relu")
    fc2 = mx.sym.FullyConnected(data=act1, name="fc2", num_hidden=10)
    fc3 = mx.sym.FullyConnected(data=act1, name="fc3", num_hidden=2)
    digit = mx.sym.SoftmaxOutput(data=fc2, name="digit")
    parity = mx.sym.SoftmaxOutput(data=fc3, name="parity", grad_scale=0.5)
    return mx.sym.Group([digit, parity])


def data_iter(images, labels):
    return mx.io.NDArrayIter(
        images, {"digit_label": labels, "parity_label": labels % 2}, batch_size=40
    )


def main(ctx):
    train, test = digits()
    train_iter, val_iter = data_iter(*train), data_iter(*test)
    losses = Losses()
    metric = mx.metric.CompositeEvalMetric()
    for head in ("digit", "parity"):
        metric.add(
            mx.metric.CrossEntropy(
                name=head, output_names=[f"{head}_output"], label_names=[f"{head}_label"]
            )
        )
    metric.add(MultiAccuracy(2))
    model = mx.mod.Module(
        symbol=network(), context=ctx, label_names=["digit_label", "parity_label"]
    )
    model.fit(
        train_iter,
        eval_data=val_iter,
        eval_metric=metric,
        optimizer="rmsprop",
        optimizer_params={"learning_rate": 0.003},
        initializer=by_name(mx),
        batch_end_callback=losses,
        num_epoch=5,
    )
    return {"losses": losses.values, "reached": dict(model.score(val_iter, MultiAccuracy(2)))}
