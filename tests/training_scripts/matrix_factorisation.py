"""Recommendation by matrix factorisation: ratings as products of factors of users and of items.

The ratings are drawn from factors that the model does not know.
"""

import mxnet as mx
import numpy as np

from tests.training_scripts._common import Losses, by_name

USERS, ITEMS, FACTORS = 60, 40, 6


def ratings(count):
    rng = np.random.RandomState(4)
    user, item = rng.randint(0, USERS, count), rng.randint(0, ITEMS, count)
    taste, kind = rng.standard_normal((USERS, 3)), rng.standard_normal((ITEMS, 3))
    score = np.clip(3 + (taste[user] * kind[item]).sum(1), 1, 5).round()
    return user.astype(np.float32), item.astype(np.float32), score.astype(np.float32)


def network():
    user = mx.symbol.Variable("user")
    item = mx.symbol.Variable("item")
    score = mx.symbol.Variable("score")
    user = mx.symbol.Embedding(data=user, input_dim=USERS, output_dim=FACTORS)
    user = mx.symbol.FullyConnected(data=user, num_hidden=16)
    item = mx.symbol.Embedding(data=item, input_dim=ITEMS, output_dim=FACTORS)
    item = mx.symbol.FullyConnected(data=item, num_hidden=16)
    pred = user * item
    pred = mx.symbol.sum_axis(data=pred, axis=1)
    pred = mx.symbol.Flatten(data=pred)
    return mx.symbol.LinearRegressionOutput(data=pred, label=score)


def data_iter(user, item, score, batch_size=64):
    return mx.io.NDArrayIter(
        data={"user": user, "item": item}, label={"score": score}, batch_size=batch_size
    )


def rmse(label, pred):
    return float(np.sqrt(((label - pred.flatten()) ** 2).mean()))


def main(ctx):
    user, item, score = ratings(1600)
    train = data_iter(user[:1280], item[:1280], score[:1280])
    test = data_iter(user[1280:], item[1280:], score[1280:])
    losses = Losses()
    model = mx.module.Module(
        context=ctx, data_names=["user", "item"], label_names=["score"], symbol=network()
    )
    model.fit(
        train,
        eval_data=test,
        eval_metric=mx.metric.CustomMetric(rmse, name="rmse"),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02, "wd": 0.01},
        initializer=by_name(mx),
        batch_end_callback=losses,
        num_epoch=8,
    )
    (_, error), (_, absolute) = model.score(test, ["rmse", "mae"])
    return {"losses": losses.values, "reached": {"rmse": error, "mae": absolute}}
