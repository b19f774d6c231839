"""Files of records: errors with offsets, processes, damaged files. MXNet's answers are compared in
``io/test_record_answers.py``."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest

from executorkit import MXNetError, recordio
from tests.golden.cases._records import RECORDS


def _file(folder, records=RECORDS):
    path = folder / "a.rec"
    writer = recordio.MXRecordIO(path, "w")
    for record in records:
        writer.write(record)
    writer.close()
    return path


def _read_all(path):
    reader = recordio.MXRecordIO(path, "r")
    records = []
    while (record := reader.read()) is not None:
        records.append(record)
    return records


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_every_kind_of_bytes_can_be_written(kind, tmp_path):
    path = _file(tmp_path, [kind(b"abcdef"), kind(b"")])
    assert _read_all(path) == [b"abcdef", b""]


def test_records_are_in_the_file_at_once(tmp_path):
    writer = recordio.MXRecordIO(tmp_path / "a.rec", "w")
    writer.write(b"one")
    assert _read_all(tmp_path / "a.rec") == [b"one"]


def test_text_is_no_record(tmp_path):
    writer = recordio.MXRecordIO(tmp_path / "a.rec", "w")
    with pytest.raises(TypeError) as caught:
        writer.write("text")  # type: ignore[arg-type]
    assert str(caught.value) == ("MXRecordIO.write: a str, expected bytes\n  try: text.encode()")


def test_a_truncated_file(tmp_path):
    path = _file(tmp_path, [b"abc", b"0123456789"])
    os.truncate(path, 24)
    reader = recordio.MXRecordIO(path, "r")
    assert reader.read() == b"abc"
    with pytest.raises(recordio.RecordError) as caught:
        reader.read()
    assert str(caught.value) == (
        f"{path}, offset 12: a record of 10 bytes\n  because the file ends at offset 24"
    )
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, struct.error)


def test_a_truncated_split_record(tmp_path):
    path = _file(tmp_path, [b"abcd\n#\xd7\xceefgh"])
    os.truncate(path, 12)
    with pytest.raises(MXNetError) as caught:
        _read_all(path)
    assert str(caught.value) == (
        f"{path}, offset 0: a record whose last part is missing\n  because the file ends there"
    )


def test_a_foreign_file(tmp_path):
    (tmp_path / "a.rec").write_bytes(b"no records at all")
    with pytest.raises(MXNetError) as caught:
        _read_all(tmp_path / "a.rec")
    assert str(caught.value) == (
        f"{tmp_path / 'a.rec'}, offset 0: not a record\n"
        "  because 6e 6f 20 72 stands where 0a 23 d7 ce is expected"
    )


def test_every_truncation_is_an_error_or_ends_between_records(tmp_path):
    whole = _file(tmp_path).read_bytes()
    path = tmp_path / "cut.rec"
    ends = {0}
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        records, error = _read_until_error(path)
        assert records == list(RECORDS[: len(records)])
        if error is None:
            ends.add(length)
        else:
            assert f"{path}, offset " in error
    assert len(ends) == len(RECORDS)


def _read_until_error(path):
    reader = recordio.MXRecordIO(path, "r")
    records = []
    try:
        while (record := reader.read()) is not None:
            records.append(record)
    except recordio.RecordError as error:
        return records, str(error)
    return records, None


def test_damaged_files_end_in_an_error_or_in_other_records(tmp_path):
    whole = _file(tmp_path).read_bytes()
    path = tmp_path / "damaged.rec"
    random = np.random.RandomState(0)
    errors = 0
    for _ in range(100):
        damaged = bytearray(whole)
        for position in random.randint(0, len(whole), random.randint(1, 4)):
            damaged[position] = random.randint(0, 256)
        path.write_bytes(damaged)
        records, error = _read_until_error(path)
        assert len(records) <= len(whole) // 8
        errors += error is not None
    assert errors > 30


def test_a_forked_process_has_to_reset(tmp_path):
    paths = tmp_path / "a.idx", tmp_path / "a.rec"
    writer = recordio.MXIndexedRecordIO(*paths, "w")
    for i in range(3):
        writer.write_idx(i, b"record %d" % i)
    reader = recordio.MXIndexedRecordIO(*paths, "r")
    reader.read()
    writer.pid = reader.pid = os.getpid() + 1  # as a forked process sees it
    with pytest.raises(RuntimeError, match=r"opened by another process\n  try: call reset\(\)"):
        reader.read()
    with pytest.raises(RuntimeError, match="another process"):
        writer.write(b"x")
    assert reader.read_idx(1) == b"record 1"
    assert reader.read() == b"record 2"


def test_an_index_of_another_file(tmp_path):
    path = _file(tmp_path)
    (tmp_path / "a.idx").write_text("0\t4\n1\t100000\n")
    reader = recordio.MXIndexedRecordIO(tmp_path / "a.idx", path, "r")
    for key in (0, 1):
        with pytest.raises(recordio.RecordError, match="offset"):
            reader.read_idx(key)


def test_a_malformed_index(tmp_path):
    path = _file(tmp_path)
    (tmp_path / "a.idx").write_text("0\t0\nonly a key\n")
    with pytest.raises(ValueError, match=r"a.idx, line 2: 'only a key', expected a key"):
        recordio.MXIndexedRecordIO(tmp_path / "a.idx", path, "r")


def test_a_folder_is_no_file_of_records(tmp_path):
    with pytest.raises(OSError, match="cannot be read: Is a directory"):
        recordio.MXRecordIO(tmp_path, "r")


def test_an_unknown_encoding_is_opencv_s_error():
    import cv2

    with pytest.raises(cv2.error):
        recordio.pack_img((0, 1.0, 0, 0), np.zeros((4, 4, 3), np.uint8), img_fmt=".xyz")
