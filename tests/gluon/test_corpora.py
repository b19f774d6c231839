"""Corpora of text: archives, files that are missing or broken."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from executorkit.errors import FileAccessError, FileFormatError
from executorkit.gluon.contrib.data import IntervalSampler, text


def test_the_archive_is_read_where_it_is(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "wikitext-2-v1.zip", "w") as archive:
        archive.writestr("wikitext-2/wiki.valid.tokens", "a b\n c d\n")
    corpus = text.WikiText2(str(tmp_path), "validation", seq_len=2)
    assert [x.asnumpy().tolist() for x in corpus[1]] == [[1, 4], [4, 5]]
    assert [path.name for path in tmp_path.iterdir()] == ["wikitext-2-v1.zip"]
    with pytest.raises(FileFormatError, match=r"wikitext-2/wiki\.test\.tokens cannot be read"):
        text.WikiText2(str(tmp_path), "test")


def test_the_error_says_which_file_goes_where(tmp_path: Path):
    with pytest.raises(FileAccessError) as caught:
        text.WikiText103(str(tmp_path), "test")
    assert str(caught.value).startswith(
        f"WikiText103: cannot find wiki.test.tokens, nor wikitext-103-v1.zip in {tmp_path}\n"
        f"  because nothing is downloaded\n"
        f"  try: put it there, from https://"
    )


@pytest.mark.parametrize("content", [b"a \xff b", b"\x00\x81"])
def test_a_file_that_is_no_text(content, tmp_path: Path):
    (tmp_path / "wiki.train.tokens").write_bytes(content)
    with pytest.raises(ValueError, match="it is not text in UTF-8: invalid start byte at byte"):
        text.WikiText2(str(tmp_path))


def test_a_zip_file_that_is_none(tmp_path: Path):
    (tmp_path / "wikitext-2-v1.zip").write_bytes(b"PK")
    with pytest.raises(FileFormatError, match="is not a zip file"):
        text.WikiText2(str(tmp_path))


def test_lengths_and_intervals_are_positive(tmp_path: Path):
    with pytest.raises(ValueError, match="seq_len: 0, expected 1 or more"):
        text.WikiText2(str(tmp_path), seq_len=0)
    with pytest.raises(AssertionError, match="interval: 0, expected 1 to 3"):
        IntervalSampler(3, 0)
