"""GluonTS's estimators: networks for training and prediction, models that are written and read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ._facts import script


def _series() -> Any:
    from gluonts.dataset.common import ListDataset

    rows = [{"start": "2020-01-01", "target": np.sin(np.arange(48) / (2 + i))} for i in range(4)]
    return ListDataset(rows, freq="D")


def _trained(estimator: Any) -> Any:
    """What a trained predictor forecasts: numbers follow from random draws, their kind does not."""
    from gluonts.model.predictor import Predictor

    predictor = estimator.train(_series())
    (forecast, *others) = predictor.predict(_series())
    with tempfile.TemporaryDirectory() as folder:
        predictor.serialize(Path(folder))
        again = Predictor.deserialize(Path(folder))
        (read, *_) = again.predict(_series())
    assert np.isfinite(forecast.mean).all()
    return {
        "forecasts": 1 + len(others),
        "mean": list(np.shape(forecast.mean)),
        "quantile": list(np.shape(forecast.quantile(0.5))),
        "kind": type(predictor).__name__,
        "read": [type(again).__name__, list(np.shape(read.mean))],
        "within reach": bool(np.abs(forecast.mean).max() < 10),
    }


def _trainer() -> Any:
    from gluonts.mx.trainer import Trainer

    return Trainer(epochs=2, num_batches_per_epoch=4, learning_rate=1e-2)


@script("gluonts")
def deepar(mx):
    from gluonts.model.deepar import DeepAREstimator

    return _trained(
        DeepAREstimator(
            freq="D",
            prediction_length=6,
            num_cells=8,
            num_layers=1,
            lags_seq=[1, 2, 7],
            trainer=_trainer(),
        )
    )


@script("gluonts")
def simple_feedforward(mx):
    from gluonts.model.simple_feedforward import SimpleFeedForwardEstimator

    return _trained(
        SimpleFeedForwardEstimator(
            prediction_length=6, num_hidden_dimensions=[8], trainer=_trainer()
        )
    )


@script("gluonts")
def transformer(mx):
    from gluonts.model.transformer import TransformerEstimator

    return _trained(
        TransformerEstimator(
            freq="D",
            prediction_length=6,
            model_dim=8,
            num_heads=2,
            lags_seq=[1, 2, 7],
            trainer=_trainer(),
        )
    )


@script("gluonts")
def distributions(mx):
    from gluonts.mx import distribution as d

    x = mx.nd.array([0.2, 0.7, 0.9])
    one = mx.nd.ones(3)
    made = {
        "Gaussian": d.Gaussian(x, one), "StudentT": d.StudentT(x, one, 3 * one),
        "Laplace": d.Laplace(x, one), "Beta": d.Beta(2 * one, 3 * one),
        "Gamma": d.Gamma(2 * one, one), "Uniform": d.Uniform(0 * one, 2 * one),
        "NegativeBinomial": d.NegativeBinomial(one, one), "Poisson": d.Poisson(2 * one),
    }  # fmt: skip
    return {
        name: [
            [float(v) for v in law.log_prob(x).asnumpy()], [float(v) for v in law.mean.asnumpy()],
            list(law.sample(5).shape),
        ]
        for name, law in made.items()
    }  # fmt: skip
