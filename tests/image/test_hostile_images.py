"""Encoded images that claim more than they hold, and damaged ones: errors, before any decoding."""

from __future__ import annotations

import random
import struct

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import executorkit as mx
from executorkit.errors import ArgumentValueError, FileFormatError, RecordError
from executorkit.opencv import decode_image, stored_size

#: Pixels in these tests: small, so that what is refused by mistake or let through shows at once.
LIMIT = 1 << 13
GRAY = np.add.outer(np.arange(40), np.arange(52)).astype(np.uint8)
PIXELS = np.stack([GRAY, 2 * GRAY, 3 * GRAY], axis=2)
ENDINGS = (".png", ".jpg", ".bmp", ".webp", ".tiff", ".ppm", ".jp2", ".gif", ".ras")
FILES = {
    ending: cv2.imencode(ending, PIXELS)[1].tobytes()
    for ending in ENDINGS
    if cv2.haveImageWriter(f"image{ending}")
}


@pytest.fixture
def _limit(monkeypatch):
    monkeypatch.setenv("EXECUTORKIT_MAX_PIXELS", str(LIMIT))


def _enlarged_jpeg(height, width):
    content = bytearray(FILES[".jpg"])
    frame = content.find(b"\xff\xc0")
    content[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(content)


@pytest.mark.parametrize("ending", FILES)
def test_the_size_is_in_the_header(ending):
    assert stored_size(FILES[ending]) == (52, 40)
    assert decode_image(FILES[ending]).shape == (40, 52, 3)


@pytest.mark.parametrize("ending", FILES)
def test_images_above_the_limit_are_refused(ending, monkeypatch):
    monkeypatch.setenv("EXECUTORKIT_MAX_PIXELS", "2079")
    monkeypatch.setattr(cv2, "imdecode", None)
    with pytest.raises(FileFormatError) as caught:
        mx.image.imdecode(FILES[ending])
    assert str(caught.value) == (
        "decoding an image: an image of 52 x 40 pixels, expected at most 2079\n"
        "  try: a larger EXECUTORKIT_MAX_PIXELS in the environment, if the file is trusted"
    )


def test_a_giant_claim_is_refused_without_a_setting(tmp_path):
    giant = _enlarged_jpeg(30_000, 30_000)
    with pytest.raises(FileFormatError, match="an image of 30000 x 30000 pixels"):
        mx.image.imdecode(giant)
    record = mx.recordio.pack((0, 1.0, 0, 0), giant)
    with pytest.raises(FileFormatError, match="unpack_img: an image of 30000 x 30000 pixels"):
        mx.recordio.unpack_img(record)
    path = tmp_path / "a.rec"
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(record)
    writer.close()
    with pytest.raises(RecordError, match=r"a\.rec, offset 0: an image of 30000 x 30000 pixels"):
        mx.io.ImageRecordIter(path_imgrec=str(path), data_shape=(3, 4, 4), batch_size=1)


def test_a_chunk_longer_than_the_file_reserves_no_memory(monkeypatch):
    content = bytearray(FILES[".png"])
    chunk = content.find(b"IDAT")
    content[chunk - 4 : chunk] = b"\x7f\xff\xff\xff"
    monkeypatch.setattr(cv2, "imdecode", None)
    with pytest.raises(FileFormatError, match="are not an image that OpenCV can read"):
        mx.image.imdecode(bytes(content))
    assert mx.recordio.unpack_img(mx.recordio.pack((0, 1.0, 0, 0), bytes(content)))[1] is None


def test_a_setting_that_is_no_number(monkeypatch):
    monkeypatch.setenv("EXECUTORKIT_MAX_PIXELS", "many")
    with pytest.raises(ArgumentValueError, match="EXECUTORKIT_MAX_PIXELS: 'many', expected a num"):
        mx.image.imdecode(FILES[".png"])


def test_a_truncated_image_of_a_record_is_decoded_as_elsewhere(tmp_path):
    part = FILES[".jpg"][:-100]
    expected = mx.image.imdecode(part).asnumpy().transpose(2, 0, 1)
    path = tmp_path / "a.rec"
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(mx.recordio.pack((0, 1.0, 0, 0), part))
    writer.close()
    iterator = mx.io.ImageRecordIter(path_imgrec=str(path), data_shape=(3, 40, 52), batch_size=1)
    np.testing.assert_array_equal(iterator.next().data[0].asnumpy()[0], expected)


def _damaged(ending: str, seed: int) -> bytes:
    """A file after up to four random edits, most of them in its header."""
    draw = random.Random(seed)
    content = bytearray(FILES[ending])
    for _ in range(draw.choice((1, 1, 2, 4))):
        end = len(content) if draw.random() < 0.3 else min(len(content), 200)
        at = draw.randrange(max(end, 1))
        number = draw.choice((0, 1, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1))
        content = draw.choice(
            (
                content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :],
                content[:at]
                + number.to_bytes(4, draw.choice(("big", "little")))
                + content[at + 4 :],
                content[:at] + content[at + draw.choice((1, 4)) :],
                content[:at] + draw.randbytes(4) + content[at:],
                content[:at],
            )
        )
    return bytes(content)


@pytest.mark.usefixtures("_limit")
@pytest.mark.parametrize("ending", FILES)
def test_damaged_images_are_decoded_or_refused(ending, capfd):
    @settings(max_examples=150, derandomize=True, deadline=None, database=None)
    @given(st.integers(0, 2**32))
    def check(seed):
        try:
            image = decode_image(_damaged(ending, seed))
        except FileFormatError:
            return
        assert image.shape[0] * image.shape[1] <= LIMIT

    check()
    capfd.readouterr()  # OpenCV's own messages
