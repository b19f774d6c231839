"""Small names that scripts use answer as MXNet's; deviations are named with their reason."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import executorkit as mx
import executorkit.misc
from executorkit.contrib import tensorboard
from tests._tools.answers import stored_answers
from tests.golden import small_name_questions as sq

ANSWERS = stored_answers("small_names")
#: Questions with another answer here, and why.
DEVIATIONS = {
    "mx.gluon.utils.split_data(np.ones((2, 4)), 2, batch_axis=1)[1].shape": (
        "NumPy arrays are divided along any axis"
    ),
    'mx.gluon.utils.download("http://localhost:1/x", path="no_such_file", retries=0)': (
        "FileAccessError, an OSError as MXNet's ConnectionError, says where to put the file"
    ),
}


def _agree(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and theirs["error"][0] in ours["error"]
    if isinstance(theirs, list):
        return (
            isinstance(ours, list)
            and len(ours) == len(theirs)
            and all(_agree(a, b) for a, b in zip(ours, theirs, strict=True))
        )
    if isinstance(theirs, float) and isinstance(ours, float):
        return bool(np.isclose(ours, theirs, rtol=1e-5))
    return ours == theirs


@pytest.mark.parametrize(
    ("theme", "question"), [(t, q) for t in sq.THEMES for q in sq.questions(t)]
)
def test_answer_is_that_of_mxnet(theme: str, question: str) -> None:
    ours = json.loads(json.dumps(sq.ask(question, mx, np)))
    agree = _agree(ours, ANSWERS[theme][question])
    assert agree != (question in DEVIATIONS), f"{ours}, MXNet: {ANSWERS[theme][question]}"


def test_gluon_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="try: 'Trainer'"):
        mx.gluon.Trainr  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(mx.gluon, "nothing")


def test_the_switches_of_arrays_are_restored() -> None:
    @mx.use_np
    def inside() -> tuple[bool, bool]:
        return mx.is_np_array(), mx.is_np_shape()

    with mx.np_array():
        assert (mx.is_np_array(), mx.is_np_shape(), inside()) == (True, False, (True, True))
    assert (mx.is_np_array(), mx.is_np_shape()) == (False, False)
    with pytest.raises(TypeError, match="neither a class nor a function"):
        mx.use_np_array(True)


def test_shapes_of_numpy_in_all_methods_of_a_class() -> None:
    @mx.use_np_shape
    class Own:
        def method(self) -> bool:
            return mx.is_np_shape()

        @staticmethod
        def static() -> bool:
            return mx.is_np_shape()

        @property
        def attribute(self) -> bool:
            return mx.is_np_shape()

    assert (Own().method(), Own.static(), Own().attribute, mx.is_np_shape()) == (
        True, True, True, False,
    )  # fmt: skip

    class Base:
        def inherited(self) -> bool:
            return mx.is_np_shape()

        def __len__(self) -> int:
            return int(mx.is_np_shape())

    @mx.use_np_shape
    class Derived(Base):
        other = Base

    derived = Derived()
    assert (derived.inherited(), len(derived), derived.other().inherited()) == (True, 1, False)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_block_of_numpy_runs_where_arrays_are_ndarrays(hybridize: bool) -> None:
    @mx.use_np
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", shape=(3, 2), init=mx.init.One())
            self.dense = mx.gluon.nn.Dense(1)

        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:  # noqa: N803
            return self.dense(F.npx.fully_connected(x, w, no_bias=True, num_hidden=3)) * 2

    net = mx.gluon.nn.HybridSequential()
    net.add(Net())
    net[0].initialize(mx.init.One())
    if hybridize:
        net.hybridize()
    y = net[0](mx.np.array([[1, 2]]))
    assert isinstance(y, mx.np.ndarray)
    assert y.tolist() == net(mx.np.array([[1, 2]])).tolist() == [[18.0]]


def test_local_files_are_copied(tmp_path) -> None:
    source, target = tmp_path / "a.txt", tmp_path / "b" / "b.txt"
    source.write_text("hi")
    for url in (f"file://{source}", str(source)):
        assert mx.gluon.utils.download(url, path=str(target), overwrite=True) == str(target)
        assert target.read_text() == "hi"
    with pytest.raises(OSError, match="SHA-1"):
        mx.gluon.utils.download(str(source), path=str(tmp_path / "c"), sha1_hash="00")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "b"]


def test_downloads_are_whole_and_repeated(tmp_path) -> None:
    answers = [(500, b""), (200, b"par"), (200, b"whole"), (200, b"again")]

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, content = answers.pop(0)
            self.send_response(code)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url, target = f"http://127.0.0.1:{server.server_port}/a.bin", tmp_path / "new" / "a.bin"
    sha1 = hashlib.sha1(b"whole").hexdigest()
    try:
        with pytest.raises(OSError, match=r"HTTP Error 500(.|\n)*store it as .*new/a\.bin"):
            mx.gluon.utils.download(url, str(target), retries=1)
        assert not target.parent.exists()
        assert mx.gluon.utils.download(url, str(target), sha1_hash=sha1) == str(target)
        assert target.read_bytes() == b"whole"
        assert mx.test_utils.download(url, "a.bin", str(target.parent)) == str(target)
        assert answers == [(200, b"again")]
        with pytest.raises(OSError, match=f"its SHA-1 is .*, expected {sha1}"):
            mx.gluon.utils.download(url, str(target), True, sha1, retries=0)
        assert [p.read_bytes() for p in target.parent.iterdir()] == [b"whole"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    with pytest.raises(OSError, match=r"store it as no_such_file"):
        mx.gluon.utils.download(url, path="no_such_file", retries=0)


def test_lines_of_loggers(capsys, tmp_path) -> None:
    logger = mx.log.get_logger("executorkit.test", level=mx.log.INFO)
    logger.propagate = False
    logger.info("epoch %d", 3)
    logger.debug("hidden")
    line = capsys.readouterr().err
    assert line.startswith("\x1b[32mI")
    assert line.endswith("]\x1b[0m epoch 3\n")
    file = tmp_path / "log.txt"
    to_file = mx.log.get_logger("executorkit.test.file", str(file), level=logging.INFO)
    to_file.propagate = False
    to_file.info("plain")
    assert file.read_text() == "plain\n"


def test_metrics_for_tensorboard(monkeypatch) -> None:
    written = []

    class Writer:
        def __init__(self, folder: str) -> None:
            self.folder = folder

        def add_scalar(self, tag: str, value: float, global_step: int) -> None:
            written.append((self.folder, tag, value, global_step))

    monkeypatch.setattr(tensorboard, "import_module", lambda name: _Module(Writer))
    callback = tensorboard.LogMetricsCallback("logs", prefix="train")
    metric = mx.metric.create("acc")
    metric.update([mx.nd.array([1.0])], [mx.nd.array([[0.0, 1.0]])])
    callback(mx.model.BatchEndParam(epoch=2, nbatch=1, eval_metric=metric, locals=None))
    callback(mx.model.BatchEndParam(epoch=2, nbatch=1, eval_metric=None, locals=None))
    assert written == [("logs", "train-accuracy", 1.0, 2)]


class _Module:
    def __init__(self, writer: type) -> None:
        self.SummaryWriter = writer


def test_tensorboard_needs_a_package(monkeypatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(tensorboard, "import_module", missing)
    with pytest.raises(ImportError, match="try: pip install tensorboardX"):
        tensorboard.LogMetricsCallback("logs")


def test_batches_of_a_loader() -> None:
    loader = [(np.ones((2, 3)), np.array([0, 1])), (np.ones((1, 3)), np.array([1]))]
    batches = mx.contrib.io.DataLoaderIter(loader)
    assert batches.provide_data[0].shape == (2, 3)
    last = list(batches)[-1]
    assert last.pad == 1
    assert last.data[0].asnumpy().tolist() == [[1, 1, 1], [0, 0, 0]]
    batches.reset()
    assert len(list(batches)) == 2


def test_import_paths_are_no_packages() -> None:
    shown = import_module("executorkit.optimizer.optimizer")
    assert shown.SGD is mx.optimizer.SGD
    assert "SGD" in shown.__all__
    with pytest.raises(AttributeError, match="no attribute '__path__'"):
        _ = shown.__path__


def test_the_global_norm_is_a_scalar_of_numpy() -> None:
    assert type(mx.gluon.utils.clip_global_norm([mx.nd.ones((4,))], 1.0)) is np.float32


def test_import_paths_of_onnx() -> None:
    path = "executorkit.contrib.onnx.onnx2mx"
    for name in ("import_model", "import_to_gluon"):
        shown = import_module(f"{path}.{name}")
        assert getattr(shown, name) is getattr(mx.contrib.onnx, name)
    assert mx.contrib.onnx.onnx2mx is import_module(path)
    assert mx.onnx.mx2onnx.export_model is mx.onnx.export_model


def test_vectors_of_tokens_are_written_in_place(tmp_path: Any) -> None:
    (tmp_path / "vectors").write_text("a 1 2\n")
    embedding = mx.contrib.text.embedding.CustomEmbedding(str(tmp_path / "vectors"))
    table = embedding.idx_to_vec
    embedding.update_token_vectors("a", mx.nd.array([5, 6]))
    assert table.asnumpy().tolist() == [[0, 0], [5, 6]]
