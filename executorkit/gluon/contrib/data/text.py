"""``mx.gluon.contrib.data.text``: corpora for language models, from files that are there.

Nothing is downloaded: an error says which file goes where.
"""

import os
import zipfile
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .... import ndarray as nd
from ...._support.described_arguments import DescribesArguments
from ...._support.vocabulary import Vocabulary
from ....base import data_dir
from ....errors import ArgumentValueError, FileFormatError, UnknownNameError
from ..._types import FilePath
from ...data import dataset as dataset

#: The token at the end of each line.
EOS_TOKEN = "<eos>"
_WIKITEXT_2, _WIKITEXT_103 = (
    os.path.join(data_dir(), "datasets", name) for name in ("wikitext-2", "wikitext-103")
)
#: The file of each segment.
_FILES = {
    "train": "wiki.train.tokens",
    "validation": "wiki.valid.tokens",
    "test": "wiki.test.tokens",
}


class _WikiText(DescribesArguments, dataset._DownloadedDataset):
    """Sequences of a corpus: ``seq_len`` indices of tokens, and the indices of the tokens that
    follow them, both int32.

    root
        The folder with ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, or
        with the zip file of them. Nothing is downloaded: an error names the file.
    segment
        'train', 'validation' or 'test'.
    vocab
        A :class:`executorkit.contrib.text.vocab.Vocabulary`; by default all tokens of the file.
    seq_len
        The length of a sequence. The rest after the last sequence is dropped.

    Lines that are not empty end with the token ``<eos>``. Raises OSError (FileAccessError) for a
    missing file, ValueError for text that is not UTF-8, KeyError (UnknownNameError) for another
    segment. Unlike MXNet, checks no checksums.
    """

    _namespace: str

    def __init__(
        self, root: FilePath, segment: str = "train", vocab: Any = None, seq_len: int = 35
    ) -> None:
        if segment not in _FILES:
            problem = f"{segment!r}, expected one of {', '.join(_FILES)}"
            raise UnknownNameError(f"{type(self).__name__}: segment", problem)
        if seq_len < 1:
            problem = f"{seq_len}, expected 1 or more"
            raise ArgumentValueError(f"{type(self).__name__}: seq_len", problem)
        self._segment = segment
        self._seq_len = seq_len
        self._vocab = vocab
        self._counter: Counter[str] | None = None
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Any:
        """The vocabulary of the indices."""
        return self._vocab

    @property
    def frequencies(self) -> Counter[str] | None:
        """The number of occurrences of each token in the file."""
        return self._counter

    def _get_data(self) -> None:
        content = self._content()
        self._counter = Counter()
        for line in content.split("\n"):
            self._counter.update(token for token in line.split(" ") if token)
        if self._vocab is None:
            self._vocab = Vocabulary(self._counter, reserved_tokens=[EOS_TOKEN])
        numbers = array("i")  # of a hundred million tokens lists would take gigabytes
        for line in content.splitlines():
            words = line.split()
            if words:
                numbers.extend(self._vocab.to_indices([*words, EOS_TOKEN]))
        indices = np.array(numbers, np.int32)
        count = max(len(indices) - 1, 0) // self._seq_len
        shape = count, self._seq_len
        length = count * self._seq_len
        self._data = nd.array(indices[:length].reshape(shape), dtype=np.int32)
        self._label = nd.array(indices[1 : length + 1].reshape(shape), dtype=np.int32)

    def _content(self) -> str:
        name = _FILES[self._segment]
        path = Path(self._root, name)
        archive = Path(self._root, f"{self._namespace}-v1.zip")
        if path.is_file():
            raw = path.read_bytes()
        elif archive.is_file():
            raw = _member(archive, f"{self._namespace}/{name}")
        else:
            self._refuse_missing(f"{name}, nor {archive.name}", archive.name)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            problem = f"it is not text in UTF-8: {error.reason} at byte {error.start}"
            raise FileFormatError(str(path), problem) from None
        return text.replace("\r\n", "\n").replace("\r", "\n")


class WikiText2(_WikiText):
    r"""The smaller corpus of Wikipedia articles (Merity et al., 2016), 2 million words. The base
    class describes the arguments.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(f"{folder}/wiki.train.tokens", "w") as file:
    ...     _ = file.write("the cat saw the dog .\nthe end .")
    >>> corpus = WikiText2(folder, seq_len=4)
    >>> corpus.vocabulary.idx_to_token
    ['<unk>', '<eos>', 'the', '.', 'cat', 'dog', 'end', 'saw']
    >>> [part.asnumpy().tolist() for part in corpus[0]]
    [[2, 4, 7, 2], [4, 7, 2, 5]]
    """

    _namespace = "wikitext-2"

    def __init__(
        self,
        root: FilePath = _WIKITEXT_2,
        segment: str = "train",
        vocab: Any = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """The larger corpus of Wikipedia articles (Merity et al., 2016), 103 million words; see
    :class:`WikiText2`."""

    _namespace = "wikitext-103"

    def __init__(
        self,
        root: FilePath = _WIKITEXT_103,
        segment: str = "train",
        vocab: Any = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


def _member(archive: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(archive) as file:
            return file.read(name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise FileFormatError(str(archive), f"{name} cannot be read: {error}") from None
