"""Unknown keywords of constructors: the refusal names similar ones, or all."""

# pyright: reportCallIssue=false
from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import executorkit as mx
from executorkit._support.keyword_arguments import CheckedKeywords


def _module():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return mx.mod.Module(net, label_names=None)


class _Halving(mx.metric.EvalMetric):
    """A metric whose constructor takes keywords of its own, and hands the others on."""

    def __init__(self, factor=2, **kwargs):
        self.factor, self.extra = factor, kwargs.pop("extra", None)
        super().__init__("halving", **kwargs)


REFUSED = {
    "another library's name": (
        lambda: mx.optimizer.create("sgd", lr=0.1),
        "SGD: unknown argument 'lr'\n  try: 'learning_rate'",
    ),
    "the rate of a module's optimizer": (
        lambda: _fitted(optimizer_params={"lr": 0.1}),
        "SGD: unknown argument 'lr'\n  try: 'learning_rate'",
    ),
    "a name of the subclass": (
        lambda: mx.optimizer.Adam(beta_1=0.5),
        "Adam: unknown argument 'beta_1'\n  try: 'beta1' or 'beta2'",
    ),
    "weight decay": (
        lambda: mx.optimizer.RMSProp(weight_decay=0.5),
        "RMSProp: unknown argument 'weight_decay'\n  try: 'wd'",
    ),
    "metric": (
        lambda: mx.metric.create("top_k_accuracy", k=3),
        "TopKAccuracy: unknown argument 'k'\n  try: 'top_k'",
    ),
    "no similar name": (
        lambda: mx.metric.Accuracy(zzz=1),
        "Accuracy: unknown argument 'zzz'\n  try: one of: axis, name, output_names, label_names",
    ),
    "initializer": (
        lambda: mx.init.Normal(std=0.1),
        "Normal: unknown argument 'std'\n  try: 'sigma'",
    ),
    "initializer with base classes": (
        lambda: mx.init.Xavier(magnitud=3),
        "Xavier: unknown argument 'magnitud'\n  try: 'magnitude'",
    ),
    "iterator": (
        lambda: mx.io.NDArrayIter(np.zeros((4, 2)), batchsize=2),
        "NDArrayIter: unknown argument 'batchsize'\n  try: 'batch_size'",
    ),
    "scheduler": (
        lambda: mx.lr_scheduler.FactorScheduler(stp=3),
        "FactorScheduler: unknown argument 'stp'\n  try: 'step'",
    ),
    "module": (
        lambda: mx.mod.Module(_module().symbol, ctx=mx.cpu()),
        "Module: unknown argument 'ctx'\n  try: 'context'",
    ),
    "callback": (
        lambda: mx.callback.Speedometer(batchsize=4),
        "Speedometer: unknown argument 'batchsize'\n  try: 'batch_size'",
    ),
    "monitor": (
        lambda: mx.mon.Monitor(intervl=4),
        "Monitor: unknown argument 'intervl'\n  try: 'interval'",
    ),
}


def _fitted(**options):
    data = mx.io.NDArrayIter(np.zeros((4, 3)), batch_size=2)
    module = _module()
    module.bind(data.provide_data)
    module.init_params()
    module.init_optimizer(**options)


@pytest.mark.parametrize("case", REFUSED)
def test_unknown_keyword_is_refused_with_similar_names(case):
    call, message = REFUSED[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert isinstance(caught.value, mx.MXNetError)
    assert str(caught.value) == message


def test_constructors_of_users_hand_on_what_they_do_not_take():
    metric = _Halving(extra=3, output_names=["a"])
    assert (metric.extra, metric.output_names) == (3, ["a"])
    assert _Halving(anything=1).get_config()["anything"] == 1  # as the base class takes it


def test_signatures_and_pickles_are_those_of_the_class():
    assert next(iter(inspect.signature(mx.metric.Accuracy).parameters)) == "axis"
    assert "lr_scheduler" in inspect.signature(mx.optimizer.Optimizer).parameters
    scheduler = mx.lr_scheduler.FactorScheduler(step=3, factor=0.5)
    assert pickle.loads(pickle.dumps(scheduler)).factor == 0.5


def test_a_constructor_that_takes_any_keyword_refuses_none():
    class Base(CheckedKeywords):
        def __init__(self, *args, **kwargs):
            self.args, self.kwargs = args, kwargs

    assert Base(lr=1).kwargs == {"lr": 1}


def test_numbers_of_numpy_become_pythons():
    class Base(CheckedKeywords):
        def __init__(self, *args, **kwargs):
            self.args, self.kwargs = args, kwargs

    array = np.ones(1)
    made = Base(np.int64(2), np.array(0.5), array, flag=np.bool_(True), name=np.str_("a"))
    assert [type(x) for x in made.args] == [int, float, np.ndarray]
    assert made.args[2] is array
    assert made.kwargs == {"flag": True, "name": "a"}
    assert [type(x) for x in made.kwargs.values()] == [bool, str]


def test_warnings_of_a_constructor_point_to_the_caller():
    symbol = _module().symbol
    assert symbol is not None
    with pytest.warns(UserWarning, match="is not an argument") as caught:
        mx.mod.Module(symbol)
    assert caught[0].filename == __file__
