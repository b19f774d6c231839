"""SGD and Adam leave the rows alone that a row_sparse gradient does not have, as in MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx

#: MXNet's weights after three steps that read these rows of a table of ones.
BATCHES = ([0, 1], [2, 2], [0, 3])
CASES: list[tuple[str, dict[str, Any], list[float]]] = [
    ("sgd", {"momentum": 0.9}, [0.3375, 0.75, 0.55, 0.75]),
    ("adam", {}, [0.814506, 0.899999, 0.925586, 0.936118]),
    ("sgd", {"momentum": 0.9, "lazy_update": False}, [0.129375, 0.226875, 0.028375, 0.559875]),
]


@pytest.mark.filterwarnings("ignore:parameters and gradients of sparse")
@pytest.mark.parametrize("saves", [False, True])
@pytest.mark.parametrize(("name", "options", "expected"), CASES)
def test_a_trainer_updates_the_rows_of_an_embedding_that_occurred(
    name, options, expected, saves, tmp_path
):
    table = mx.gluon.nn.Embedding(4, 1, sparse_grad=True)
    table.initialize(mx.init.One())
    options = {"learning_rate": 0.1, "wd": 0.5, **options}
    trainer = mx.gluon.Trainer(table.collect_params(), name, options)
    for rows in BATCHES:
        with mx.autograd.record():
            loss = (table(mx.nd.array(rows)) ** 2).sum()
        loss.backward()
        trainer.step(1)
        if saves:
            trainer.save_states(tmp_path / "states")
            trainer.load_states(tmp_path / "states")
    np.testing.assert_allclose(table.weight.data().asnumpy().ravel(), expected, atol=1e-6)


def module_weights(table: mx.sym.Symbol, name: str, options: dict[str, Any], kvstore=None) -> Any:
    module = mx.mod.Module(mx.sym.MakeLoss(table**2), label_names=None)
    module.bind([("data", (2,))])
    module.init_params(mx.init.One())
    options = {"learning_rate": 0.1, "wd": 0.5, "rescale_grad": 1.0, **options}
    module.init_optimizer(kvstore, name, options)
    for rows in BATCHES:
        module.forward_backward(mx.io.DataBatch([mx.nd.array(rows)]))
        module.update()
    return module.get_params()[0]["table_weight"].asnumpy().ravel()


@pytest.mark.parametrize("kvstore", ["local", None])
@pytest.mark.parametrize(("name", "options", "expected"), CASES)
def test_a_module_updates_the_rows_of_an_embedding_that_occurred(name, options, expected, kvstore):
    data = mx.sym.var("data")
    text: Any = "true"  # as in a graph's JSON
    table = mx.sym.Embedding(data, input_dim=4, output_dim=1, sparse_grad=text, name="table")
    if kvstore is None:
        table = mx.sym.contrib.SparseEmbedding(data, input_dim=4, output_dim=1, name="table")
    weights = module_weights(table, name, options, kvstore)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_a_table_that_another_operator_reads_has_a_dense_gradient():
    data, table = mx.sym.var("data"), mx.sym.var("table_weight")
    rows = mx.sym.Embedding(data, table, input_dim=4, output_dim=1, sparse_grad=True)
    others = mx.sym.Embedding(data, table, input_dim=4, output_dim=1)
    weights = module_weights(rows + 0 * others, *CASES[0][:2])
    np.testing.assert_allclose(weights, CASES[2][2], atol=1e-6)
