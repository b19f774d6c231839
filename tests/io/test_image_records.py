"""Iterators over records of images beyond golden answers: distributions of augmentations, threads,
memory, errors, and training from a folder of images to a score."""

from __future__ import annotations

import gc
import struct
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import executorkit as mx
from executorkit.__main__ import main
from executorkit.arrays.values import to_device
from executorkit.io._record_pipeline import HostBuffers

cv2 = pytest.importorskip("cv2")
DATA = Path(__file__).parents[1] / "golden/data"
IMAGES, BOXES = str(DATA / "images.rec"), str(DATA / "boxes.rec")
#: Options of a single batch of the stored images.
FOUR = {"path_imgrec": IMAGES, "data_shape": (3, 20, 16), "batch_size": 4}


def _write(path, images, labels=None):
    record = mx.recordio.MXRecordIO(path, "w")
    for i, image in enumerate(images):
        label = float(i) if labels is None else labels[i]
        record.write(mx.recordio.pack_img((0, label, i, 0), image, 3, ".png"))
    record.close()
    return str(path)


@pytest.fixture(scope="module")
def positions(tmp_path_factory):
    """300 times an image whose red is twice the column and whose green is twice the row."""
    row, column = np.mgrid[:60, :80]
    image = np.stack([np.full_like(row, 50), 2 * row, 2 * column], -1).astype(np.uint8)
    path = tmp_path_factory.mktemp("records") / "positions.rec"
    return _write(path, [image] * 300)


def _draws(path, **keywords):
    options = {"path_imgrec": path, "data_shape": (3, 20, 20), "batch_size": 300, **keywords}
    return mx.io.ImageRecordIter(**options).next().data[0].asnumpy()


# -- random draws --------------------------------------------------------------------------------


def test_random_crops_are_everywhere(positions):
    pixels = _draws(positions, rand_crop=True)
    left, top = pixels[:, 0, 0, 0] / 2, pixels[:, 1, 0, 0] / 2
    assert (left.min(), left.max(), top.min(), top.max()) == (0, 60, 0, 40)
    assert abs(left.mean() - 30) < 4
    assert abs(top.mean() - 20) < 3


def test_half_of_the_images_are_mirrored(positions):
    pixels = _draws(positions, rand_mirror=True)
    mirrored = pixels[:, 0, 0, 0] > pixels[:, 0, 0, -1]
    assert 0.4 < mirrored.mean() < 0.6


def _extent(pixels):
    """Width and height, in pixels of the original, of what a batch's images show."""
    width = (pixels[:, 0, 10, -3] - pixels[:, 0, 10, 2]) / 2 / 15 * 20
    height = (pixels[:, 1, -3, 10] - pixels[:, 1, 2, 10]) / 2 / 15 * 20
    return width, height


def test_random_resized_crops(positions):
    width, height = _extent(
        _draws(
            positions, random_resized_crop=True, min_random_area=0.1, max_random_area=0.4,
            min_aspect_ratio=0.75, max_aspect_ratio=4 / 3,
        )
    )  # fmt: skip
    area = width * height / 4800
    assert 0.09 < area.min() < 0.13
    assert 0.37 < area.max() < 0.42
    assert abs(np.mean(area) - 0.25) < 0.02
    ratio = width / height
    assert 0.7 < ratio.min() < 0.8
    assert 1.25 < ratio.max() < 1.4


def test_squares_of_random_size(positions):
    width, height = _extent(_draws(positions, min_crop_size=24, max_crop_size=48, rand_crop=True))
    assert abs(width - height).max() < 2.5
    assert 23 < width.min() < 26
    assert 45 < width.max() < 49.5
    assert abs(width.mean() - 36) < 2


def test_random_scales(positions):
    width, _ = _extent(_draws(positions, min_random_scale=0.8, max_random_scale=1.6))
    assert abs(20 / width.max() - 0.8) < 0.05
    assert abs(20 / width.min() - 1.6) < 0.1


def test_random_rotations_are_whole_degrees_up_to_the_limit(positions):
    pixels = _draws(positions, max_rotate_angle=30)
    across = pixels[:, :2, 10, 17] - pixels[:, :2, 10, 2]
    angles = np.degrees(np.arctan2(across[:, 1], across[:, 0]))
    assert -33 < angles.min() < -26
    assert 26 < angles.max() < 33
    assert abs(angles.mean()) < 4


def test_colours_change_within_their_limits(tmp_path):
    image = np.full((8, 8, 3), (40, 100, 160), np.uint8)  # blue, green, red
    path = _write(tmp_path / "a.rec", [image] * 200)

    def colours(**keywords):
        return _draws(path, data_shape=(3, 8, 8), batch_size=200, **keywords)[:, :, 0, 0]

    factor = colours(brightness=0.3) / [160, 100, 40]
    assert 0.68 < factor.min() < 0.75
    assert 1.25 < factor.max() < 1.32
    # Contrast and saturation move towards a grey that weighs red as blue, as MXNet's does.
    grey = 0.114 * 160 + 0.587 * 100 + 0.299 * 40
    for option in ("contrast", "saturation"):
        change = (colours(**{option: 0.5}) - grey) / (np.array([160, 100, 40]) - grey)
        assert 0.45 < change[:, 0].min() < 0.6
        assert 1.4 < change[:, 0].max() < 1.55
    shift = colours(max_random_illumination=20) - [160, 100, 40]
    assert np.ptp(shift, axis=1).max() < 1e-4
    assert -20 <= shift.min() < -15
    assert 15 < shift.max() <= 20
    contrast = colours(max_random_contrast=0.5) / [160, 100, 40]
    assert 0.5 <= contrast.min() < 0.6
    assert 1.4 < contrast.max() <= 1.5
    noise = colours(pca_noise=0.1) - [160, 100, 40]
    assert np.abs(noise.std(0) - [3.17, 3.23, 3.25]).max() < 0.8
    hls = cv2.cvtColor(image, cv2.COLOR_BGR2HLS)[0, 0].astype(int)
    shifted = colours(random_l=30)[:, None, ::-1].astype(np.uint8)
    lightness = cv2.cvtColor(shifted, cv2.COLOR_BGR2HLS)[:, 0, 1].astype(int) - hls[1]
    assert lightness.min() in range(-30, -20)
    assert lightness.max() in range(20, 31)


def test_crops_of_boxes_keep_what_they_show(tmp_path):
    random = np.random.RandomState(0)
    images, labels = [], []
    for _ in range(60):
        left, top = random.randint(0, 30, 2)
        image = np.zeros((60, 60, 3), np.uint8)
        image[top : top + 24, left : left + 24] = 255
        images.append(image)
        box = np.array([left, top, left + 24, top + 24]) / 60
        labels.append(np.array([2, 5, 1, *box], np.float32))
    batch = mx.io.ImageDetRecordIter(
        path_imgrec=_write(tmp_path / "a.rec", images, labels), data_shape=(3, 60, 60),
        batch_size=60, rand_crop_prob=0.7, min_crop_scales=0.4, max_crop_scales=0.9,
        min_crop_aspect_ratios=0.5, max_crop_aspect_ratios=2, min_crop_object_coverages=0.5,
        rand_pad_prob=0.5, max_pad_scale=1.5, fill_value=0, rand_mirror_prob=0.5, inter_method=0,
    ).next()  # fmt: skip
    white = batch.data[0].asnumpy()[:, 0] > 127
    sizes = set()
    for shown, label in zip(white, batch.label[0].asnumpy(), strict=True):
        rows, columns = np.flatnonzero(shown.any(1)), np.flatnonzero(shown.any(0))
        seen = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]) / 60
        np.testing.assert_allclose(label[7:11], seen, atol=0.09)
        sizes.add(len(columns))
    assert len(sizes) > 10


# -- order, threads, memory ------------------------------------------------------------------------


def test_draws_do_not_depend_on_the_number_of_threads(positions):
    options = {"rand_crop": True, "rand_mirror": True, "max_random_contrast": 0.5}
    first, second, other = (
        _draws(positions, preprocess_threads=threads, seed_aug=seed, **options)
        for threads, seed in ((1, None), (5, None), (3, 1))
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_every_epoch_draws_anew(positions):
    iterator = mx.io.ImageRecordIter(
        path_imgrec=positions, data_shape=(3, 20, 20), batch_size=300, rand_crop=True
    )
    epochs = []
    for _ in range(2):
        epochs.append(iterator.next().data[0].asnumpy())
        iterator.reset()
    assert (epochs[0] != epochs[1]).any()


def test_a_reset_in_the_middle_starts_over():
    iterator = mx.io.ImageRecordIter(**{**FOUR, "batch_size": 1})
    iterator.next()
    iterator.next()
    iterator.reset()
    assert [int(b.label[0].asnumpy()[0]) for b in iterator] == [0, 1, 2, 3]
    assert not iterator.iter_next()


def test_parts_of_the_current_batch():
    iterator = mx.io.ImageRecordIter(**FOUR)
    with pytest.raises(mx.MXNetError, match="no current batch"):
        iterator.getdata()
    assert iterator.iter_next()
    assert iterator.getdata().shape == (4, 3, 20, 16)
    assert iterator.getlabel().asnumpy().tolist() == [0, 1, 2, 3]
    assert (iterator.getpad(), iterator.getindex().tolist()) == (0, [0, 0, 0, 0])


def test_batches_keep_their_values_while_later_ones_reuse_memory():
    iterator = mx.io.ImageRecordIter(**{**FOUR, "batch_size": 2, "prefetch_buffer": 1})
    kept = []
    for _ in range(8):
        kept += [(b.data[0], b.data[0].asnumpy().copy()) for b in iterator]
        iterator.reset()
    for array, values in kept[::3]:
        np.testing.assert_array_equal(array.asnumpy(), values)
    first, _ = kept[0]
    first[:] = -1
    np.testing.assert_array_equal(kept[2][0].asnumpy(), kept[2][1])


def test_memory_is_used_again_only_when_nobody_holds_it():
    buffers = HostBuffers((64, 64), "float32")
    array = buffers.take()
    array[:] = 1
    address = array.ctypes.data
    on_device = to_device(array, mx.cpu().device)
    del array
    gc.collect()
    assert buffers.take().ctypes.data != address
    view = np.asarray(on_device)
    del on_device
    gc.collect()
    assert buffers.take().ctypes.data != address
    assert (view == 1).all()


def test_batches_are_on_the_current_device():
    with mx.cpu(1):
        iterator = mx.io.ImageRecordIter(**FOUR)
    batch = iterator.next()
    assert batch.data[0].context == batch.label[0].context == mx.cpu(1)
    assert batch.data[0].jax.devices() == {mx.cpu(1).device}


def test_threads_end_with_the_iterator():
    iterator = mx.io.ImageRecordIter(**FOUR, preprocess_threads=3)
    iterator.next()
    threads = [t for t in threading.enumerate() if t.name.startswith("image-records")]
    assert threads
    del iterator
    gc.collect()
    for thread in threads:
        thread.join(10)
    assert not any(t.is_alive() for t in threads)


def test_several_files_are_read_one_after_the_other(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(Path(IMAGES).read_bytes())
    for path in (str(tmp_path), f"{tmp_path / 'a'};{IMAGES}"):
        iterator = mx.io.ImageRecordIter(**{**FOUR, "path_imgrec": path, "batch_size": 8})
        assert iterator.next().label[0].asnumpy().tolist() == [0, 1, 2, 3] * 2


def test_a_mean_image_is_computed_and_stored(tmp_path):
    path = tmp_path / "mean.nd"
    plain = mx.io.ImageRecordIter(**FOUR).next().data[0].asnumpy()
    for batch_size in (4, 3):
        iterator = mx.io.ImageRecordIter(**{**FOUR, "batch_size": batch_size}, mean_img=str(path))
        centred = iterator.next().data[0].asnumpy()
        np.testing.assert_allclose(centred, (plain - plain.mean(0))[:batch_size], atol=1e-4)
        stored = mx.nd.load(str(path))
        assert isinstance(stored, dict)
        np.testing.assert_allclose(stored["mean_img"].asnumpy(), plain.mean(0), atol=1e-4)
    with pytest.raises(ValueError, match=r"shapes \(3, 20, 16\), expected one mean image"):
        mx.io.ImageRecordIter(**{**FOUR, "data_shape": (3, 16, 16)}, mean_img=str(path))


# -- errors ----------------------------------------------------------------------------------------


def test_unknown_keywords_are_ignored_with_one_warning(tmp_path):
    with pytest.warns(UserWarning, match="ImageRecordIter: ignored, not known: 'a', 'b'"):
        iterator = mx.io.ImageRecordIter(**FOUR, a=1, b=2)
    assert iterator.next().data[0].shape == (4, 3, 20, 16)
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_bytes(struct.pack(">4i", 2051, 4, 2, 2) + bytes(16))
    labels.write_bytes(struct.pack(">2i", 2049, 4) + bytes(4))
    with pytest.warns(UserWarning, match="MNISTIter: ignored, not known: 'x'"):
        digits = mx.io.MNISTIter(image=images, label=labels, batch_size=2, input_shape=(4,), x=1)
    assert digits.provide_data[0].shape == (2, 1, 2, 2)
    (tmp_path / "rows").write_text("1\n")
    with pytest.warns(UserWarning, match="CSVIter: ignored, not known: 'x'") as caught:
        mx.io.CSVIter(data_csv=tmp_path / "rows", data_shape=(1,), batch_size=1, x=1)
    with pytest.warns(UserWarning, match="LibSVMIter: ignored, not known: 'x'"):
        mx.io.LibSVMIter(data_libsvm=tmp_path / "rows", data_shape=(1,), batch_size=1, x=1)
    assert caught[0].filename == __file__


def test_a_record_that_is_no_image(tmp_path):
    path = tmp_path / "a.rec"
    record = mx.recordio.MXRecordIO(path, "w")
    record.write(mx.recordio.pack((0, 1.0, 0, 0), b"no image"))
    record.close()
    with pytest.raises(mx.MXNetError) as caught:
        mx.io.ImageRecordIter(**{**FOUR, "path_imgrec": str(path), "batch_size": 1})
    assert str(caught.value) == (
        f"{path}, offset 0: 8 bytes are not an image that OpenCV can read\n"
        "  because they begin with b'no image'"
    )


def test_labels_of_another_number(tmp_path):
    with pytest.raises(mx.MXNetError) as caught:
        mx.io.ImageRecordIter(**FOUR, label_width=3)
    assert str(caught.value) == (
        f"{IMAGES}, offset 0: 1 labels, expected 3\n  because label_width is 3"
    )


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"batch_size": 9}, "batch_size: 9, expected at most twice the number of records\n"
         "  because there are 4 records"),
        ({"data_shape": (2, 4, 4)}, "data_shape: (2, 4, 4), expected (channels, height, width) "
         "with 1, 3 or 4 channels"),
        ({"shuffle": "maybe"}, "shuffle: 'maybe', expected a boolean"),
        ({"dtype": "int16"}, "dtype: 'int16', expected one of 'bfloat16', 'float16', 'float32', "
         "'float64', 'int32', 'int64', 'int8', 'uint8' or None"),
        ({"aug_seq": "nothing"}, "aug_seq: 'nothing', expected 'aug_default'"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be(keywords, text):
    with pytest.raises(mx.MXNetError) as caught:
        mx.io.ImageRecordIter(**{**FOUR, **keywords})
    assert str(caught.value) == f"ImageRecordIter: {text}"


def test_lists_without_enough_labels(tmp_path):
    (tmp_path / "a.lst").write_text("0\t1.0\tx.jpg\n")
    with pytest.raises(ValueError, match=r"a.lst, line 1: .*expected a number, 2 labels and a"):
        mx.io.ImageRecordIter(**FOUR, path_imglist=str(tmp_path / "a.lst"), label_width=2)


def test_labels_of_boxes_that_are_none():
    with pytest.raises(ValueError, match="it begins with the lengths of its header and of each"):
        mx.io.ImageDetRecordIter(**FOUR)
    with pytest.raises(ValueError, match="label_pad_width: 9, expected at least 17"):
        mx.io.ImageDetRecordIter(**{**FOUR, "path_imgrec": BOXES}, label_pad_width=9)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("abc 0:1\n", "line 1: 'abc', expected a label"),
        ("1 0:1\n1 2\n", "line 2: '2', expected an index from 0 on, a colon and a number"),
        ("1 -1:2\n", "line 1: '-1:2', expected an index"),
        ("1 7:2\n", "line 1: index 7, expected at most 2"),
        ("# nothing\n", "it has no rows"),
    ],
)
def test_malformed_libsvm_files(content, text, tmp_path):
    (tmp_path / "a").write_text(content)
    with pytest.raises(ValueError, match=text):
        mx.io.LibSVMIter(data_libsvm=str(tmp_path / "a"), data_shape=(3,), batch_size=1)


def test_damaged_files_end_in_an_error_or_in_other_images(tmp_path):
    whole = Path(IMAGES).read_bytes()
    random = np.random.RandomState(0)
    path = tmp_path / "damaged.rec"
    errors = 0
    for number in range(40):
        damaged = bytearray(whole)
        for position in random.randint(0, len(whole), 6):
            damaged[position] = random.randint(0, 256)
        if number % 2:
            del damaged[random.randint(0, len(whole)) :]
        path.write_bytes(damaged)
        count, error = _read_until_error({**FOUR, "path_imgrec": str(path), "batch_size": 1})
        assert count <= 4
        if error is not None:
            errors += 1
            assert str(path) in error
    assert errors > 10


def _read_until_error(options):
    count = 0
    try:
        for _ in mx.io.ImageRecordIter(**options):
            count += 1
    except mx.MXNetError as error:
        return count, str(error)
    return count, None


def test_without_opencv(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"pip install 'executorkit\[image\]'"):
        mx.io.ImageRecordIter(**FOUR)


# -- training --------------------------------------------------------------------------------------


def test_from_a_folder_of_images_to_a_score(tmp_path):
    random = np.random.RandomState(0)
    for label, colour in enumerate([(200, 40, 40), (40, 200, 40)]):
        folder = tmp_path / "images" / f"class{label}"
        folder.mkdir(parents=True)
        for i in range(12):
            image = np.clip(np.array(colour) + random.normal(0, 20, (14, 12, 3)), 0, 255)
            cv2.imwrite(str(folder / f"{i}.png"), image.astype(np.uint8))
    prefix = str(tmp_path / "set")
    root = str(tmp_path / "images")
    assert main(["im2rec", "--list", "--recursive", prefix, root]) == 0
    assert main(["im2rec", "--resize", "12", "--num-thread", "2", prefix, root]) == 0
    train = mx.io.ImageRecordIter(
        path_imgrec=f"{prefix}.rec", path_imgidx=f"{prefix}.idx", data_shape=(3, 10, 10),
        batch_size=8, shuffle=True, rand_crop=True, rand_mirror=True, scale=1 / 255,
    )  # fmt: skip
    net = mx.sym.FullyConnected(mx.sym.flatten(mx.sym.var("data")), num_hidden=2)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.fit(train, num_epoch=4, optimizer_params={"learning_rate": 0.05})
    ((_, accuracy),) = module.score(train, "acc")
    assert accuracy == 1.0


def test_a_step_of_detection():
    batches = mx.io.ImageDetRecordIter(
        path_imgrec=BOXES, data_shape=(3, 20, 20), batch_size=4, rand_mirror_prob=0.5,
        mean_r=120, mean_g=120, mean_b=120, scale=1 / 60,
    )  # fmt: skip
    data, label = mx.sym.var("data"), mx.sym.var("label")
    features = mx.sym.Convolution(data, kernel=(5, 5), stride=(5, 5), num_filter=8, name="features")
    anchors = mx.sym.contrib.MultiBoxPrior(features, sizes=(0.4, 0.7), ratios=(1, 2))
    classes = mx.sym.Convolution(features, kernel=(1, 1), num_filter=12, name="classes")
    classes = mx.sym.reshape(mx.sym.transpose(classes, (0, 2, 3, 1)), (0, -1, 4))
    classes = mx.sym.transpose(classes, (0, 2, 1))
    target = mx.sym.contrib.MultiBoxTarget(anchors, label, classes, overlap_threshold=0.3)
    loss = mx.sym.SoftmaxOutput(
        classes, target[2], multi_output=True, use_ignore=True, ignore_label=-1, name="loss"
    )
    executor = mx.sym.Group([loss, mx.sym.BlockGrad(target[2])]).simple_bind(
        mx.cpu(), data=(4, 3, 20, 20), label=(4, 3, 5), grad_req={"classes_weight": "write"}
    )
    weight = executor.arg_dict["features_weight"]
    weight[:] = np.random.RandomState(0).normal(0, 0.1, weight.shape)
    batch = batches.next()
    # Behind channels, height, width, length and the two numbers of its header.
    objects = batch.label[0].asnumpy()[:, 6:].reshape(4, 3, 5)
    executor.forward(is_train=True, data=batch.data[0], label=mx.nd.array(objects))
    executor.backward()
    assert (executor.outputs[1].asnumpy() > 0).any(1).all()
    assert np.isfinite(executor.grad_dict["classes_weight"].asnumpy()).all()
    assert executor.grad_dict["classes_weight"].asnumpy().any()
