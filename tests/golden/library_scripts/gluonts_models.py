"""GluonTS's estimators: networks for training and prediction, models that are written and read."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ._facts import script


def _series(dimension: int = 1) -> Any:
    from gluonts.dataset.common import ListDataset

    targets = [np.sin(np.arange(48) / (2 + i)) for i in range(4)]
    if dimension > 1:
        targets = [np.stack([x * k for k in range(1, dimension + 1)]) for x in targets]
    rows = [{"start": "2020-01-01", "target": x} for x in targets]
    return ListDataset(rows, freq="D", one_dim_target=dimension == 1)


def _trained(estimator: Any, dimension: int = 1) -> Any:
    """What a trained predictor forecasts: numbers follow from random draws, their kind does not."""
    from gluonts.model.predictor import Predictor

    series = _series(dimension)
    predictor = estimator.train(series)
    (forecast, *others) = predictor.predict(series)
    with tempfile.TemporaryDirectory() as folder:
        predictor.serialize(Path(folder))
        again = Predictor.deserialize(Path(folder))
        (read, *_) = again.predict(series)
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


RECURRENT = {"freq": "D", "num_cells": 4, "num_layers": 1, "lags_seq": [1, 2]}
STACKED = {"channels_seq": [4, 4], "dilation_seq": [1, 2], "kernel_size_seq": [3, 2]}
SKIPPING = {"skip_size": 2, "kernel_size": 3, "rnn_num_layers": 1, "skip_rnn_num_layers": 1}
CELLS = {"rnn_num_cells": 4, "skip_rnn_num_cells": 4}
#: Module, class, arguments and number of series in one target of further estimators.
ESTIMATORS: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "deepvar": ("deepvar", "DeepVAREstimator", {**RECURRENT, "target_dim": 2}, 2),
    "gpvar": ("gpvar", "GPVAREstimator", {**RECURRENT, "target_dim": 2, "rank": 2}, 2),
    "lstnet": (
        "lstnet", "LSTNetEstimator",
        {"context_length": 20, "num_series": 2, "ar_window": 5, "channels": 4, **SKIPPING, **CELLS},
        2,
    ),
    "n_beats": (
        "n_beats", "NBEATSEstimator",
        {"freq": "D", "num_stacks": 2, "widths": [8], "num_blocks": [1], "num_block_layers": [2]},
        1,
    ),
    "deep_factor": (
        "deep_factor", "DeepFactorEstimator",
        {"freq": "D", "num_hidden_global": 4, "num_factors": 2, "num_hidden_local": 2}, 1,
    ),
    "gaussian_process": (
        "gp_forecaster", "GaussianProcessEstimator",
        {"freq": "D", "cardinality": 4, "context_length": 10}, 1,
    ),
    "mqcnn": (
        "seq2seq", "MQCNNEstimator",
        {"freq": "D", "context_length": 20, "decoder_mlp_dim_seq": [4], **STACKED}, 1,
    ),
    "mqrnn": (
        "seq2seq", "MQRNNEstimator",
        {"freq": "D", "context_length": 20, "decoder_mlp_dim_seq": [4]}, 1,
    ),
    "tft": (
        "tft", "TemporalFusionTransformerEstimator",
        {"freq": "D", "context_length": 20, "hidden_dim": 8, "num_heads": 2}, 1,
    ),
}  # fmt: skip


def _add(name: str) -> None:
    def trained(mx: Any) -> Any:
        module, kind, arguments, dimension = ESTIMATORS[name]
        estimator = getattr(import_module(f"gluonts.model.{module}"), kind)
        return _trained(estimator(prediction_length=6, trainer=_trainer(), **arguments), dimension)

    trained.__name__ = name
    script("gluonts")(trained)


for name in ESTIMATORS:
    _add(name)


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
