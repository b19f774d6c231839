"""Has the real MXNet 1.9.1 write files with sparse arrays, and predict with networks of them.

    python tests/golden/make_sparse.py

Runs under MXNet's environment (see ``make.py``), never under the project's. The networks are a
factorization machine, linear classifiers (by a product, by a layer) and a sum of embeddings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

DATA = Path(__file__).parent / "data"
FEATURES, EXAMPLES = 20, 6
Symbol = Any


def _rows(name: str, *shape: int) -> Symbol:
    return mx.sym.var(name, shape=shape, stype="row_sparse")


def _data() -> Symbol:
    return mx.sym.var("data", stype="csr")


def factorization_machine() -> Symbol:
    sym, x, v = mx.sym, _data(), _rows("v", FEATURES, 3)
    linear = sym.sparse.dot(x, _rows("w1_weight", FEATURES, 1))
    linear = sym.broadcast_add(linear, sym.var("w1_bias", shape=(1,)))
    squares = sym._internal._square_sum(v, axis=1, keepdims=True)
    pairs = 0.5 * sym.square(sym.sparse.dot(x, v))
    total = sym.sum(sym.concat(linear, pairs, dim=1), axis=1, keepdims=True)
    total = total - 0.5 * sym.sparse.dot(sym.square(x), squares)
    return sym.LogisticRegressionOutput(total, sym.var("out_label"), name="out")


def linear_product() -> Symbol:
    bias = mx.sym.var("bias", shape=(2,))
    scores = mx.sym.broadcast_add(mx.sym.sparse.dot(_data(), _rows("weight", FEATURES, 2)), bias)
    return mx.sym.SoftmaxOutput(scores, name="softmax")


def linear_layer() -> Symbol:
    weight, bias = _rows("fc0_weight", 1, FEATURES), mx.sym.var("fc0_bias", shape=(1,))
    score = mx.sym.sparse.FullyConnected(_data(), weight, bias, num_hidden=1, name="fc0")
    return mx.sym.LogisticRegressionOutput(score, mx.sym.var("out_label"), name="out")


def embeddings() -> Symbol:
    rows = mx.sym.contrib.SparseEmbedding(
        mx.sym.var("data"), _rows("e_weight", FEATURES, 3), input_dim=FEATURES, output_dim=3
    )
    return mx.sym.sum(rows, axis=1)


NETWORKS = (factorization_machine, linear_product, linear_layer, embeddings)


def _with_empty_rows(rng: np.random.RandomState, *shape: int) -> np.ndarray:
    present = rng.rand(shape[0], *[1] * (len(shape) - 1)) < 0.6
    return (rng.randn(*shape) * present).astype("float32")


def _predict(name: str, symbol: Symbol, data: np.ndarray) -> np.ndarray:
    """Writes a checkpoint with sparse parameters, and predicts with it."""
    rng, stypes = np.random.RandomState(2), symbol.attr_dict()
    params = {}
    shapes, _, _ = symbol.infer_shape(data=data.shape)
    labels = [n for n in symbol.list_arguments() if n.endswith("_label")]
    for argument, shape in zip(symbol.list_arguments(), shapes, strict=True):
        if argument != "data" and argument not in labels:
            array = mx.nd.array(_with_empty_rows(rng, *shape))
            is_sparse = stypes.get(argument, {}).get("__storage_type__") == "1"
            params[argument] = array.tostype("row_sparse") if is_sparse else array
    prefix = str(DATA / f"sparse_{name}")
    mx.model.save_checkpoint(prefix, 0, symbol, params, {})
    is_csr = stypes.get("data", {}).get("__storage_type__") == "2"
    batch = mx.nd.sparse.csr_matrix(data) if is_csr else mx.nd.array(data)
    label = {n: np.zeros(EXAMPLES) for n in labels} or None
    batches = mx.io.NDArrayIter({"data": batch}, label, EXAMPLES, last_batch_handle="discard")
    module = mx.mod.Module.load(prefix, 0, label_names=labels or None)
    module.bind(batches.provide_data, batches.provide_label or None, for_training=False)
    return module.predict(batches).asnumpy()


def _kinds(rng: np.random.RandomState) -> dict[str, Any]:
    nd, few = mx.nd, np.array([[0, 3], [0, 0]])
    return {
        "csr": nd.sparse.csr_matrix(_with_empty_rows(rng, 4, 5), dtype="float64"),
        "rows": nd.array(_with_empty_rows(rng, 5, 2, 3)).tostype("row_sparse"),
        "no_csr": nd.sparse.zeros("csr", (3, 4)),
        "no_rows": nd.sparse.zeros("row_sparse", (3, 4)),
        "dense": nd.ones(2),
        "integers": nd.array(few, dtype="int32").tostype("csr"),
        "halves": nd.array(few, dtype="float16").tostype("row_sparse"),
    }


def main() -> None:
    rng = np.random.RandomState(1)
    sparse = (rng.rand(EXAMPLES, FEATURES) * (rng.rand(EXAMPLES, FEATURES) < 0.3)).astype("float32")
    indices = rng.randint(0, FEATURES, (EXAMPLES, 2)).astype("float32")
    answers = {"sparse": sparse, "indices": indices}
    for network in NETWORKS:
        data = indices if network is embeddings else sparse
        answers[network.__name__] = _predict(network.__name__, network(), data)
    kinds = _kinds(rng)
    mx.nd.save(str(DATA / "sparse_kinds.params"), kinds)
    answers.update({f"kinds/{name}": array.asnumpy() for name, array in kinds.items()})
    np.savez_compressed(DATA / "sparse.npz", **answers)
    print(sum(p.stat().st_size for p in DATA.glob("sparse*")), "bytes")


if __name__ == "__main__":
    main()
