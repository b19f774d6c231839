"""``mx.image`` beyond MXNet's answers: without OpenCV, damaged files, subclasses, training."""

from __future__ import annotations

import builtins
import logging
import random
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import opencv
from executorkit.errors import (
    ArgumentValueError,
    DTypeError,
    FileAccessError,
    FileFormatError,
    MissingDependencyError,
    ShapeError,
)
from tests.image.test_golden import FILES


def _image(height=24, width=30, dtype="uint8"):
    rng = np.random.RandomState(3)
    return mx.nd.array(rng.randint(0, 256, (height, width, 3)), dtype=dtype)


@pytest.fixture
def _no_opencv(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "cv2":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.usefixtures("_no_opencv")
class TestWithoutOpenCV:
    """Decoding and resizing say what to install; everything else works."""

    @pytest.mark.parametrize(
        "call",
        [
            lambda: mx.image.imdecode(FILES["png"]),
            lambda: mx.image.imresize(_image(), 3, 4),
            lambda: mx.image.ResizeAug(10)(_image()),
            lambda: mx.nd.imdecode(FILES["png"]),
        ],
    )
    def test_what_needs_it_says_so(self, call):
        with pytest.raises(MissingDependencyError, match=r"pip install 'executorkit\[image\]'"):
            call()

    def test_augmenters_of_colour_and_crops_work(self):
        augmenters = mx.image.CreateAugmenter(
            (3, 12, 16), rand_crop=True, rand_mirror=True, mean=True, std=True, brightness=0.1,
            contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, rand_gray=0.5,
        )  # fmt: skip
        image: Any = mx.image.SequentialAug(augmenters)(_image())
        assert image.shape == (12, 16, 3)
        assert image.dtype is np.float32
        assert mx.image.copyMakeBorder(image, 1, 1, 1, 1).shape == (14, 18, 3)
        label = np.array([[0, 0.1, 0.1, 0.6, 0.8]], "float32")
        image, _ = mx.image.DetRandomPadAug()(image, label)
        assert min(image.shape[:2]) >= 12

    def test_a_list_can_be_iterated_with_another_decoder(self, tmp_path):
        class Raw(mx.image.ImageIter):
            def imdecode(self, s):
                return mx.nd.array(np.frombuffer(s, np.uint8).reshape(4, 5, 3), dtype="uint8")

        pixels = np.arange(60, dtype=np.uint8)
        (tmp_path / "a").write_bytes(pixels.tobytes())
        iterator = Raw(1, (3, 4, 5), imglist=[[3, "a"]], path_root=str(tmp_path))
        batch = iterator.next()
        expected = pixels.reshape(4, 5, 3).transpose(2, 0, 1)
        np.testing.assert_array_equal(batch.data[0].asnumpy()[0], expected)

    def test_cv2_is_none(self):
        assert mx.image.cv2 is None

    def test_drawing_warns(self, tmp_path):
        labels = [2, 5, 0, 0.1, 0.1, 0.5, 0.5]
        (tmp_path / "a").write_bytes(b"")
        iterator = mx.image.ImageDetIter(
            1, (3, 4, 4), imglist=[[labels, "a"]], path_root=str(tmp_path)
        )
        with pytest.warns(UserWarning, match="not installed"):
            assert list(iterator.draw_next()) == []


def test_errors_are_worded():
    with pytest.raises(FileFormatError) as caught:
        mx.image.imdecode(b"no image")
    assert str(caught.value) == (
        "decoding an image: 8 bytes are not an image that OpenCV can read\n"
        "  because they begin with b'no image'"
    )
    with pytest.raises(ArgumentValueError) as caught:
        mx.image.resize_short(_image(), 3, 11)
    assert str(caught.value) == "interp: 11, expected 0 to 4, 9 (by size) or 10 (at random)"
    with pytest.raises(DTypeError) as caught:
        mx.image.HueJitterAug(0.1)(_image())
    assert str(caught.value) == (
        "HueJitterAug: the image is uint8, expected float32\n  try: CastAug() first"
    )
    with pytest.raises(FileAccessError, match=r"'/nowhere' cannot be read: No such file"):
        mx.image.imread("/nowhere")


def test_a_jpeg_without_its_end_is_decoded():
    """What is missing of a truncated JPEG is gray; without its end marker nothing is missing."""
    whole = mx.image.imdecode(FILES["jpg"]).asnumpy()
    np.testing.assert_array_equal(mx.image.imdecode(FILES["jpg"][:-2]).asnumpy(), whole)
    part = mx.image.imdecode(FILES["jpg"][:-150]).asnumpy()
    assert (part[:8] == whole[:8]).all()
    assert (part != whole).any()


def test_the_setting_of_opencv_is_kept():
    cv2 = opencv.require_opencv()
    before = cv2.ipp.useIPP()
    opencv.resize_image(np.zeros((4, 4, 3), np.uint8), 3, 3, 2)
    assert cv2.ipp.useIPP() == before


def test_decoding_with_channels_first():
    image = mx.image.imdecode(FILES["png"], to_rgb=False).asnumpy().transpose(2, 0, 1)
    decode = mx.nd.imdecode
    np.testing.assert_array_equal(decode(FILES["png"]).asnumpy(), image)
    part = decode(FILES["png"], clip_rect=(2, 3, 12, 10), mean=mx.nd.ones((3, 7, 10)))
    np.testing.assert_array_equal(part.asnumpy(), image[:, 3:10, 2:12].astype("float32") - 1)
    out = mx.nd.zeros((2, 3, *image.shape[1:]))
    assert decode(FILES["png"], out=out, index=1) is out
    np.testing.assert_array_equal(out.asnumpy()[1], image)
    single = mx.nd.zeros((1, *image.shape[1:]), dtype="uint8")
    decode(FILES["png"], out=single, channels=1)
    gray = mx.image.imdecode(FILES["png"], 0).asnumpy()[:, :, 0]
    np.testing.assert_array_equal(single.asnumpy()[0], gray)
    with pytest.raises(ShapeError, match="is not inside"):
        decode(FILES["png"], clip_rect=(2, 3, 1200, 10))


@pytest.mark.usefixtures("compiled")
def test_images_of_all_sizes_compile_nothing(caplog):
    augmenters = mx.image.CreateAugmenter(
        (3, 9, 10), resize=12, rand_crop=True, rand_mirror=True, mean=True, std=True,
        brightness=0.1, contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, rand_gray=0.5,
    )  # fmt: skip
    with jax.log_compiles(), caplog.at_level(logging.DEBUG):
        for size in range(41, 45):
            mx.image.SequentialAug(augmenters)(_image(size, size + 3))
            mx.image.color_normalize(_image(size, size, "float32"), 3, 2)
        assert "Compiling" not in caplog.text
        mx.nd.square(_image(size, 2, "float32")).asnumpy()
    assert "Compiling" in caplog.text


def _folder_of_squares(folder, count=24):
    """Pictures of two classes: a bright square left or right; with their list and records."""
    cv2 = opencv.require_opencv()
    rng = np.random.RandomState(1)
    record = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    lines = []
    for i in range(count):
        pixels = rng.randint(0, 60, (16, 20, 3)).astype(np.uint8)
        pixels[4:12, 3 + 8 * (i % 2) : 9 + 8 * (i % 2)] += 150
        data = cv2.imencode(".png", pixels)[1].tobytes()
        (folder / f"{i}.png").write_bytes(data)
        header = mx.recordio.IRHeader(0, float(i % 2), i, 0)
        record.write_idx(i, mx.recordio.pack(header, data))
        lines.append(f"{i}\t{i % 2}\t{i}.png\n")
    record.close()
    (folder / "a.lst").write_text("".join(lines))


@pytest.mark.parametrize("source", ["list", "record"])
def test_a_network_learns_from_pictures(source, tmp_path):
    _folder_of_squares(tmp_path)
    paths: dict[str, Any] = {
        "list": {"path_imglist": str(tmp_path / "a.lst"), "path_root": str(tmp_path)},
        "record": {
            "path_imgrec": str(tmp_path / "a.rec"), "path_imgidx": str(tmp_path / "a.idx"),
        },
    }[source]  # fmt: skip
    random.seed(0)
    train = mx.img.ImageIter(
        8, (3, 16, 20), shuffle=True, brightness=0.1, mean=True, std=True, **paths
    )
    score = mx.img.ImageIter(8, (3, 16, 20), mean=True, std=True, **paths)
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(4, 4), stride=(4, 4), num_filter=4)
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=2)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    mx.random.seed(1)
    module.fit(
        train, num_epoch=3, optimizer_params={"learning_rate": 0.05}, eval_metric="acc",
        initializer=mx.init.Xavier(),
    )  # fmt: skip
    assert dict(module.score(score, "acc"))["accuracy"] == 1.0


def test_a_subclass_changes_what_is_read(tmp_path):
    _folder_of_squares(tmp_path, 4)

    class Halved(mx.image.ImageIter):
        def read_image(self, fname):
            return super().read_image(fname.replace("3", "0"))

        def check_valid_image(self, data):
            super().check_valid_image(data)
            if data.asnumpy()[4:12, 3:9].mean() < 100:
                raise RuntimeError("the square is not left")

        def postprocess_data(self, datum):
            return super().postprocess_data(datum) / 2

    listing: dict[str, Any] = {"path_imglist": str(tmp_path / "a.lst"), "path_root": str(tmp_path)}
    halved = Halved(3, (3, 16, 20), **listing)
    whole = mx.image.ImageIter(4, (3, 16, 20), **listing).next().data[0].asnumpy()
    batch = halved.next()
    assert batch.label[0].asnumpy().tolist() == [0, 0, 1]
    np.testing.assert_array_equal(batch.data[0].asnumpy(), whole[[0, 2, 0]] / 2)


def test_a_broken_picture_is_named(tmp_path, caplog):
    _folder_of_squares(tmp_path, 3)
    (tmp_path / "1.png").write_bytes(b"nothing")
    iterator = mx.image.ImageIter(
        3, (3, 16, 20), path_imglist=str(tmp_path / "a.lst"), path_root=str(tmp_path)
    )
    with pytest.raises(RuntimeError, match=r"file '1\.png' is a broken image"):
        iterator.next()
    (tmp_path / "a.lst").write_text("0 1 0.png\n")
    with pytest.raises(FileFormatError, match=r"line 1 is '0 1 0\.png', expected a number"):
        mx.image.ImageIter(1, (3, 16, 20), path_imglist=str(tmp_path / "a.lst"))


def test_pictures_whose_objects_are_lost_are_left_out(tmp_path, caplog):
    _folder_of_squares(tmp_path, 2)
    one = [2, 5, 0, 0.1, 0.1, 0.5, 0.5]
    entries = [[one, "0.png"], [[*one, -1, 0.1, 0.1, 0.5, 0.5], "1.png"]]

    class Lose(mx.image.DetAugmenter):
        def __call__(self, src, label):
            return src, label[len(label) - 1 :]

    iterator = mx.image.ImageDetIter(
        1, (3, 16, 20), imglist=entries, path_root=str(tmp_path), aug_list=[Lose()]
    )
    assert iterator.provide_label == [("label", (1, 2, 5))]
    with caplog.at_level(logging.DEBUG):
        labels = [batch.label[0].asnumpy()[0, :, 0].tolist() for batch in iterator]
    assert labels == [[0, -1]]
    assert "file '1.png': no object is left" in caplog.text


def test_frames_are_drawn(tmp_path):
    _folder_of_squares(tmp_path, 1)
    label = [2, 5, 3, 0.25, 0.25, 0.75, 0.75]
    iterator = mx.image.ImageDetIter(
        1, (3, 32, 40), imglist=[[label, "0.png"]], path_root=str(tmp_path)
    )
    (image,) = iterator.draw_next(color=(255, 0, 0), id2labels={3: "cat"})
    assert image.shape == (32, 40, 3)
    assert image.dtype == np.uint8
    assert image[8, 10:30].tolist() == [[0, 0, 255]] * 20  # blue first
    assert (image == 255).all(-1).any()  # the name


def test_a_missing_list_raises_pythons_error():
    """As MXNet, which reads lists in Python."""
    with pytest.raises(FileNotFoundError, match="'/nowhere'"):
        mx.image.ImageIter(1, (3, 4, 4), path_imglist="/nowhere", path_root=".")
