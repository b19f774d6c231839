"""Pictures: computed in the host's memory as by programs, whatever their size; what MXNet 1.9.1 has
not, and files that are missing or broken."""

from __future__ import annotations

import gzip
import random
import struct
import tarfile
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd
from executorkit.errors import FileAccessError, FileFormatError
from executorkit.gluon.data import vision
from executorkit.gluon.data.vision import transforms
from executorkit.jaxpr_interpreter import hash_words
from executorkit.ops import all_ops
from executorkit.ops.vision import image_transforms
from executorkit.program import cache_info

PIXELS = np.random.default_rng(0).integers(0, 256, (9, 7, 3))
FACTORS = {"min_factor": 0.5, "max_factor": 1.5}
#: Attributes of every operator on images.
CALLS: dict[str, dict[str, Any]] = {
    "adjust_lighting": {"alpha": (1.0, 0.2, -0.3)},
    "crop": {"x": 1, "y": 2, "width": 3, "height": 4},
    "flip_left_right": {},
    "flip_top_bottom": {},
    "random_brightness": FACTORS,
    "random_color_jitter": {"brightness": 0.4, "contrast": 0.3, "saturation": 0.2, "hue": 0.1},
    "random_contrast": FACTORS,
    "random_flip_left_right": {},
    "random_flip_top_bottom": {},
    "random_hue": FACTORS,
    "random_lighting": {"alpha_std": 0.1},
    "random_saturation": FACTORS,
    "resize": {"size": (5, 12)},
    "to_tensor": {},
}


def photo(height: int = 9, width: int = 7, dtype: str = "uint8") -> nd.NDArray:
    pixels = np.resize(PIXELS, (height, width, 3))
    return nd.array(pixels, dtype=dtype)


def prepare() -> transforms.Compose:
    means, spreads = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return transforms.Compose([transforms.ToTensor(), transforms.Normalize(means, spreads)])


class TestHost:
    @pytest.mark.parametrize("dtype", ["uint8", "float64"])
    def test_the_host_computes_as_a_program(self, dtype):
        x, marked = photo(dtype=dtype), photo(dtype=dtype)
        marked.attach_grad()
        for name, attrs in CALLS.items():
            call = getattr(nd.image, name)
            mx.random.seed(3)
            ours = np.stack([call(x, **attrs).asnumpy() for _ in range(3)])
            mx.random.seed(3)
            with autograd.record():  # what is recorded becomes a program
                recorded = [call(marked, **attrs) for _ in range(3)]
            by_program = np.stack([y.asnumpy() for y in recorded])
            assert (ours.dtype, ours.shape) == (by_program.dtype, by_program.shape)
            tolerance = 1 if dtype == "uint8" and ours.dtype == np.uint8 else 1e-4
            np.testing.assert_allclose(ours, by_program, rtol=0, atol=tolerance, err_msg=name)
            assert np.mean(ours != by_program) < 0.01 or dtype != "uint8" or name == "to_tensor"

    def test_every_operator_on_images_is_listed(self):
        served = {op.name.removeprefix("_image_") for op in all_ops() if op.host is not None}
        assert served == {*CALLS, "normalize", "Cast", "stack"}

    def test_sizes_that_are_new_make_no_programs(self, fresh_programs):
        augment = transforms.Compose([
            transforms.RandomResizedCrop(6), transforms.RandomFlipLeftRight(),
            transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1), transforms.RandomLighting(0.1),
            *prepare()._children.values(), transforms.Cast("float64"),
        ])  # fmt: skip
        resize = transforms.Compose([transforms.Resize(5, True), transforms.ToTensor()])
        prepare()(photo())
        before = nd.eager_cache_info(), cache_info()
        for size in range(7, 27):
            x = photo(size, 30 - size)
            assert augment(x).shape == (3, 6, 6)
            assert min(resize(x).shape[1:]) == 5
            transforms.Normalize(0.5, 0.5)(prepare()(x)).wait_to_read()
            transforms.CropResize(0, 1, 4, 3, (5, 6), 2)(x).wait_to_read()
        assert (nd.eager_cache_info(), cache_info()) == before

    def test_results_have_memory_of_their_own(self):
        x = photo()
        for name, attrs in CALLS.items():
            for _ in range(3):
                result = getattr(nd.image, name)(x, **attrs)
                assert not np.may_share_memory(result.host, x.host), name
        whole = nd.image.crop(x, x=0, y=0, width=7, height=9)
        x[:] = 0
        np.testing.assert_array_equal(whole.asnumpy(), PIXELS)

    def test_a_part_of_an_array_is_read_where_it_is(self):
        pictures = nd.array(np.stack([PIXELS, PIXELS[::-1]]), dtype="uint8")
        assert np.may_share_memory(pictures[1].host, pictures.host)
        np.testing.assert_array_equal(
            prepare()(pictures[0]).asnumpy(), prepare()(photo()).asnumpy()
        )
        pictures[1][:] = 7
        assert transforms.Cast()(pictures[1]).asnumpy().mean() == 7

    def test_without_opencv(self, monkeypatch):
        expected = nd.image.resize(photo(), size=(5, 6)).asnumpy()
        monkeypatch.setattr(image_transforms, "has_opencv", lambda: False)
        np.testing.assert_array_equal(nd.image.resize(photo(), size=(5, 6)).asnumpy(), expected)

    def test_out_is_written(self):
        out = nd.zeros((3, 9, 7))
        assert nd.image.to_tensor(photo(), out=out) is out
        np.testing.assert_array_equal(out.asnumpy(), transforms.ToTensor()(photo()).asnumpy())
        op = nd.CachedOp(mx.sym.image.to_tensor(mx.sym.var("x")))
        assert op(photo(), out=out) is out

    def test_words_of_a_hash(self):
        for seed in (0, 7):
            key = jax.random.key(seed, impl="threefry2x32")
            words = tuple(jax.random.key_data(key).tolist())
            keys = jax.random.key_data(jax.random.split(key, 4)).tolist()
            assert [hash_words(words, i) for i in range(4)] == [tuple(k) for k in keys]


class TestCompose:
    def test_a_run_is_its_parts(self):
        parts = [
            transforms.Resize(6), transforms.RandomFlipTopBottom(), transforms.RandomHue(0.2),
            transforms.RandomBrightness(0.3), transforms.ToTensor(),
        ]  # fmt: skip
        together, x = transforms.Compose(parts), photo()
        for _ in range(3):
            mx.random.seed(1)
            expected = x
            for part in parts:
                expected = part(expected)
            mx.random.seed(1)
            np.testing.assert_array_equal(together(x).asnumpy(), expected.asnumpy())

    def test_it_is_differentiated(self):
        x = photo(dtype="float32")
        x.attach_grad()
        with autograd.record():
            y = prepare()(x)
        y.backward()
        expected = 1 / 255 / np.array([0.229, 0.224, 0.225])
        np.testing.assert_allclose(x.grad.asnumpy()[0, 0], expected, rtol=1e-5)


class TestNewer:
    """Names of MXNet 2."""

    def test_random_crop(self):
        random.seed(1)
        crop = transforms.RandomCrop((5, 6), pad=2, pad_value=255)
        parts = [crop(photo()).asnumpy() for _ in range(20)]
        assert {part.shape for part in parts} == {(6, 5, 3)}
        assert any((part[0] == 255).all() for part in parts)
        assert transforms.RandomCrop(20)(photo()).shape == (20, 20, 3)

    def test_random_gray(self):
        always, never = transforms.RandomGray(1), transforms.RandomGray(0)
        gray = always(photo()).asnumpy()
        np.testing.assert_allclose(gray[..., 0], PIXELS @ [0.299, 0.587, 0.114], rtol=1e-5)
        assert (gray == gray[..., :1]).all()
        np.testing.assert_array_equal(never(photo()).asnumpy(), PIXELS)

    @pytest.mark.parametrize("hybrid", [False, True])
    def test_hybrid_random_apply(self, hybrid):
        apply = transforms.HybridRandomApply(transforms.RandomBrightness(0.9), 0.5)
        if hybrid:
            apply.hybridize()
        changed = [bool((apply(photo()).asnumpy() != PIXELS).any()) for _ in range(30)]
        assert 5 < sum(changed) < 25
        with pytest.raises(ValueError, match="is not a HybridBlock"):
            transforms.HybridRandomApply(transforms.CenterCrop(2))  # type: ignore[arg-type]

    def test_hybrid_compose(self):
        both = transforms.HybridCompose([transforms.ToTensor(), transforms.Cast("float64")])
        assert both(photo()).dtype == np.float64

    def test_list_of_pictures(self, tmp_path):
        (tmp_path / "a").mkdir()
        cv2 = pytest.importorskip("cv2")
        cv2.imwrite(str(tmp_path / "a" / "1.png"), PIXELS.astype("uint8")[..., ::-1])
        (tmp_path / "some.lst").write_text("7\t1.5\t2\ta/1.png\n8\t3\ta/1.png\n")
        of_file = vision.ImageListDataset(tmp_path, "some.lst")
        entries = [[1.5, 2, "a/1.png"], [3, "a/1.png"], [[4, 5, 6], "a/1.png"]]
        of_list = vision.ImageListDataset(str(tmp_path), entries, flag=0)
        assert [label.asnumpy().tolist() for _, label in of_file] == [[1.5, 2], [3]]
        assert [label.asnumpy().tolist() for _, label in of_list] == [[1.5, 2], [3], [4, 5, 6]]
        np.testing.assert_array_equal(of_file[0][0].asnumpy(), PIXELS)
        assert of_list[0][0].shape == (9, 7, 1)
        for refused in (None, 3):
            with pytest.raises(ValueError, match="expected a file's name or a list"):
                vision.ImageListDataset(tmp_path, refused)


class TestFiles:
    @pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "CIFAR10", "CIFAR100"])
    @pytest.mark.parametrize("train", [True, False])
    def test_a_missing_file_is_named_with_its_place(self, name, train, tmp_path):
        with pytest.raises(OSError, match="nothing is downloaded") as caught:
            getattr(vision, name)(root=tmp_path / "new", train=train)
        assert isinstance(caught.value, FileAccessError)
        assert f"in {tmp_path / 'new'}" in str(caught.value)
        assert "try: put it there, from https://" in str(caught.value)

    def test_mnist_that_is_not_zipped_or_broken(self, tmp_path):
        images = tmp_path / "t10k-images-idx3-ubyte"
        images.write_bytes(struct.pack(">IIII", 2051, 2, 28, 28) + bytes(2 * 28 * 28))
        labels = tmp_path / "t10k-labels-idx1-ubyte.gz"
        labels.write_bytes(gzip.compress(struct.pack(">II", 2049, 2) + b"\1\2"))
        data = vision.MNIST(tmp_path, train=False)
        assert [int(label) for _, label in data] == [1, 2]
        labels.write_bytes(gzip.compress(struct.pack(">II", 2049, 3) + b"\1\2\3"))
        with pytest.raises(FileFormatError, match="3 labels, expected 2"):
            vision.MNIST(tmp_path, train=False)

    def test_archives_of_cifar(self, tmp_path):
        part = tmp_path / "part"
        part.write_bytes(bytes([5, 99]) + bytes(3072))
        path = tmp_path / "cifar-100-binary.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(part, "cifar-100-binary/train.bin")
        assert vision.CIFAR100(tmp_path, fine_label=True)[0][1] == 99
        with pytest.raises(FileFormatError, match=r"test\.bin is not in it"):
            vision.CIFAR100(tmp_path, train=False)
        path.write_bytes(b"no archive")
        with pytest.raises(FileFormatError, match="not a readable archive"):
            vision.CIFAR100(tmp_path)

    def test_a_broken_picture_is_named(self, tmp_path):
        (tmp_path / "kind").mkdir()
        (tmp_path / "kind" / "a.png").write_bytes(b"x")
        with pytest.raises(mx.MXNetError) as caught:
            vision.ImageFolderDataset(tmp_path)[0]
        assert "a.png" in "".join(caught.value.__notes__)


def test_small_datasets_and_samplers(tmp_path):
    assert mx.gluon.data.SimpleDataset(["a", "b"])[1] == "b"
    path = str(tmp_path / "a")
    record = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    for number in range(3):
        record.write_idx(number, b"record %d" % number)
    record.close()
    assert mx.gluon.data.RecordFileDataset(path + ".rec")[1] == b"record 1"
    assert list(mx.gluon.data.SequentialSampler(3, start=4)) == [4, 5, 6]
    np.random.seed(3)
    assert list(mx.gluon.data.RandomSampler(5)) == [3, 4, 1, 0, 2]
