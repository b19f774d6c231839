"""The model zoo: files of trained parameters, and a network that is tuned on a folder of
pictures."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, gluon
from executorkit.errors import ArgumentValueError, FileAccessError
from executorkit.gluon.data.vision import ImageFolderDataset
from executorkit.gluon.model_zoo import model_store, vision
from executorkit.ndarray import NDArray


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder with the parameters of MobileNet of 2 classes."""
    folder = tmp_path_factory.mktemp("models")
    net = vision.mobilenet0_25(classes=2)
    mx.random.seed(1)
    net.infer_shape(mx.nd.ones((1, 3, 32, 32)))
    net.initialize(mx.init.Xavier())
    net.save_parameters(str(folder / "mobilenet0.25.params"))
    return folder


def _values(net: Any) -> list[Any]:
    return [p.data().asnumpy() for p in net.collect_params().values()]


def test_parameters_of_a_file_in_the_root_are_taken(root, monkeypatch):
    net = vision.get_model("mobilenet0.25", pretrained=True, root=str(root), classes=2)
    again = vision.mobilenet0_25(pretrained=True, root=str(root), classes=2, ctx=mx.cpu())
    for a, b in zip(_values(net), _values(again), strict=True):
        np.testing.assert_array_equal(a, b)
    monkeypatch.setenv("HOME", str(root))
    assert model_store.get_model_file("mobilenet0.25", "~") == str(root / "mobilenet0.25.params")


def test_a_published_file_is_checked(root, tmp_path, monkeypatch):
    contents = (root / "mobilenet0.25.params").read_bytes()
    path = tmp_path / f"mobilenet0.25-{model_store.short_hash('mobilenet0.25')}.params"
    path.write_bytes(contents)
    with pytest.raises(FileAccessError) as caught:
        vision.mobilenet0_25(pretrained=True, root=str(tmp_path))
    assert str(caught.value) == (
        f"model_zoo: {path} is not the published file, whose SHA-1 is "
        "9f83e440996887baf91a6aff1cccc1c903a64274\n"
        "  try: fetch it again, or call it mobilenet0.25.params if it is one of your own"
    )
    sha1 = hashlib.sha1(contents).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "mobilenet0.25", sha1)
    path = path.rename(tmp_path / f"mobilenet0.25-{sha1[:8]}.params")
    (tmp_path / "mobilenet0.25.params").touch()
    assert model_store.get_model_file("mobilenet0.25", str(tmp_path)) == str(path)


def test_a_missing_file_is_named_with_its_place(tmp_path):
    with pytest.raises(OSError, match="nothing is downloaded") as caught:
        vision.resnet18_v1(pretrained=True, root=str(tmp_path))
    assert str(caught.value) == (
        f"model_zoo: {tmp_path}/resnet18_v1-a0666292.params does not exist, and nothing is "
        "downloaded\n  try: store the file there, or parameters of your own (save_parameters) as "
        f"{tmp_path}/resnet18_v1.params"
    )
    assert Path(model_store.ROOT).name == "models"


def test_networks_without_a_published_file_take_one_of_ones_own(tmp_path):
    net = vision.get_mobilenet(0.1, classes=2)
    net.infer_shape(mx.nd.ones((1, 3, 32, 32)))
    net.initialize()
    net.save_parameters(str(tmp_path / "mobilenet0.10.params"))
    vision.get_mobilenet(0.1, classes=2, pretrained=True, root=str(tmp_path))
    with pytest.raises(ArgumentValueError, match="Pretrained model for mobilenet0"):
        vision.get_mobilenet(0.2, pretrained=True, root=str(tmp_path))


def test_functions_tell_what_they_call():
    what = "Returns a new ResNet v2 of 18 layers; see :func:`get_resnet`."
    assert vision.resnet18_v2.__doc__ == what
    assert "VGG` of 11 layers with batch normalization" in str(vision.vgg11_bn.__doc__)


# Tuning


def _pictures(folder: Path) -> ImageFolderDataset:
    """Pictures of 32 x 32 in folders by their class: bright ones and dark ones."""
    random = np.random.RandomState(0)
    for label, level in (("bright", 150), ("dark", 0)):
        (folder / label).mkdir()
        for number in range(6):
            picture = random.randint(level, level + 100, (32, 32, 3)).astype("uint8")
            cv2.imwrite(str(folder / label / f"{number}.png"), picture)
    return ImageFolderDataset(str(folder))


def _batch(pictures: ImageFolderDataset) -> tuple[NDArray, NDArray]:
    """All pictures as numbers (N, 3, H, W) from 0 to 1, and their labels."""
    samples = [pictures[i] for i in range(len(pictures))]
    x = np.stack([np.asarray(picture.asnumpy(), "f").transpose(2, 0, 1) for picture, _ in samples])
    return mx.nd.array(x / 255), mx.nd.array([label for _, label in samples])


def test_a_network_of_the_zoo_is_tuned_on_a_folder_of_pictures(root, tmp_path):
    """Its first layers are fixed, other features learn slowly, a new output at full rate."""
    pictures = _pictures(tmp_path)
    x, y = _batch(pictures)
    trained = vision.mobilenet0_25(pretrained=True, root=str(root), classes=2)
    net = vision.mobilenet0_25(classes=len(pictures.synsets))
    net.features = trained.features
    net.output.initialize(mx.init.Xavier())
    net.features[:30].collect_params().setattr("grad_req", "null")
    net.features.collect_params().setattr("lr_mult", 0.01)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    net(x)
    layers: list[Any] = [net.features[0], net.features[78], net.output]
    fixed, slow, full = [layer.weight for layer in layers]
    before = [p.data().asnumpy() for p in (fixed, slow, full)]
    losses = []
    for step in range(4):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(pictures))
        losses.append(float(loss.mean().asscalar()))
        np.testing.assert_array_equal(fixed.data().asnumpy(), before[0])
        if step == 0:
            for parameter, old, rate in ((slow, before[1], 0.001), (full, before[2], 0.1)):
                moved = old - parameter.data().asnumpy()
                gradient = parameter.grad().asnumpy() / len(pictures)
                assert abs(gradient).max() > 0
                np.testing.assert_allclose(moved, rate * gradient, rtol=1e-3, atol=1e-6)
    assert losses[-1] < 0.5 * losses[0]


def test_the_hash_of_a_published_file() -> None:
    assert model_store.short_hash("resnet18_v1") == "a0666292"
