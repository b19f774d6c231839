"""``mx.contrib.text.embedding``: vectors of tokens, read from text files. A file has a line per
token: the token and its numbers, between delimiters. Files of GloVe and fastText must be below
``embedding_root``; they are not downloaded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..._support.described_arguments import DescribesArguments
from ...base import data_dir
from ...errors import ArgumentValueError, FileAccessError, FileFormatError, UnknownNameError
from ...ndarray import NDArray, array, zeros
from ...registry import get_create_func, get_register_func
from .vocab import Vocabulary

#: Folder of the files by default.
_ROOT = os.path.join(data_dir(), "embeddings")
_GLOVE = (
    "glove.42B.300d.txt", "glove.6B.50d.txt", "glove.6B.100d.txt", "glove.6B.200d.txt",
    "glove.6B.300d.txt", "glove.840B.300d.txt", "glove.twitter.27B.25d.txt",
    "glove.twitter.27B.50d.txt", "glove.twitter.27B.100d.txt", "glove.twitter.27B.200d.txt",
)  # fmt: skip


class _TokenEmbedding(Vocabulary):
    #: Names of files that the class knows.
    pretrained_file_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._idx_to_vec: NDArray | None = None

    @property
    def vec_len(self) -> int:
        """Number of elements of a vector."""
        return 0 if self._idx_to_vec is None else self._idx_to_vec.shape[1]

    @property
    def idx_to_vec(self) -> NDArray | None:
        """The vectors by index (tokens, elements), float32."""
        return self._idx_to_vec

    def _load_embedding(
        self,
        pretrained_file_path: str,
        elem_delim: str,
        init_unknown_vec: Callable[..., Any],
        encoding: str = "utf8",
    ) -> None:
        path = Path(pretrained_file_path).expanduser()
        if not path.is_file():
            raise ArgumentValueError("embedding", f"no file {path}")
        vectors, unknown = _read_vectors(path, elem_delim, encoding, self.unknown_token, self)
        if not vectors and unknown is None:
            raise FileFormatError(str(path), "it has no vectors")
        length = len(next(iter(vectors.values()))) if vectors else len(unknown)  # type: ignore[arg-type]
        self._set_tokens([*self.idx_to_token, *vectors])
        table = np.zeros((len(self), length), np.float32)
        if vectors:
            table[-len(vectors) :] = list(vectors.values())
        table[0] = init_unknown_vec(shape=length).asnumpy() if unknown is None else unknown
        self._idx_to_vec = array(table)

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        if vocabulary is not None:
            _check_vocabulary(vocabulary)
            self._set_idx_to_vec_by_embeddings([self], vocabulary)

    def _set_idx_to_vec_by_embeddings(
        self, token_embeddings: list[_TokenEmbedding], vocabulary: Vocabulary
    ) -> None:
        columns = [e.get_vecs_by_tokens(list(vocabulary.idx_to_token)) for e in token_embeddings]
        self._idx_to_vec = array(np.concatenate([c.asnumpy() for c in columns], axis=1))
        self._take_from(vocabulary)

    def get_vecs_by_tokens(
        self, tokens: str | list[str], lower_case_backup: bool = False
    ) -> NDArray:
        """Returns the vector of a token, or the vectors of a list (tokens, elements);
        ``lower_case_backup`` tries unknown tokens in small letters."""
        assert self._idx_to_vec is not None
        names = tokens if isinstance(tokens, list) else [tokens]
        known = self.token_to_idx
        rows = [known.get(n, known.get(n.lower(), 0) if lower_case_backup else 0) for n in names]
        vectors = self._idx_to_vec.asnumpy()[rows]
        return array(vectors if isinstance(tokens, list) else vectors[0])

    def update_token_vectors(self, tokens: str | list[str], new_vectors: NDArray) -> None:
        """Replaces the vectors of tokens. AssertionError (ArgumentValueError) without vectors or
        for another shape, ValueError (the same) for an unknown token."""
        where = "update_token_vectors"
        if self._idx_to_vec is None:
            raise ArgumentValueError(where, "it has no vectors yet")
        names = tokens if isinstance(tokens, list) else [tokens]
        if not isinstance(new_vectors, NDArray):
            raise ArgumentValueError(where, "new_vectors is not an NDArray")
        shape = new_vectors.shape if new_vectors.ndim == 2 else (1, *new_vectors.shape)
        expected = (len(names), self.vec_len)
        if shape != expected:
            problem = f"new_vectors is {new_vectors.shape}, expected {expected}"
            raise ArgumentValueError(where, problem)
        for name in names:
            if name not in self.token_to_idx:
                hint = f"{self.unknown_token!r}, the token of all unknown ones"
                raise ArgumentValueError(where, f"token {name!r} is unknown", hint=hint)
        table = self._idx_to_vec.asnumpy()
        table[[self.token_to_idx[name] for name in names]] = new_vectors.asnumpy().reshape(shape)
        self._idx_to_vec[:] = array(table)


def _check_vocabulary(vocabulary: object) -> None:
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentValueError("embedding", f"{vocabulary!r} is not a Vocabulary")


def _read_vectors(
    path: Path, elem_delim: str, encoding: str, unknown_token: str, known: Vocabulary
) -> tuple[dict[str, list[float]], list[float] | None]:
    vectors: dict[str, list[float]] = {}
    unknown: list[float] | None = None
    length: int | None = None
    with path.open(encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            where = f"{path}: line {number}"
            token, *texts = line.rstrip().split(elem_delim)
            if not texts:
                raise ArgumentValueError(where, "it is not a token and its numbers")
            numbers = [float(text) for text in texts]
            if token == unknown_token and unknown is None:
                unknown = numbers
            elif token in known.token_to_idx or token in vectors:
                warnings.warn(f"{where}: token {token!r} occurs again", stacklevel=4)
            elif len(numbers) == 1:
                warnings.warn(f"{where}: {token!r} has one number, a header", stacklevel=4)
            else:
                if length is not None and len(numbers) != length:
                    problem = f"{token!r} has {len(numbers)} numbers, the others {length}"
                    raise ArgumentValueError(where, problem)
                length = len(numbers)
                vectors[token] = numbers
    return vectors, unknown


register = get_register_func(_TokenEmbedding, "token embedding")
create = get_create_func(_TokenEmbedding, "token embedding")


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Returns names of files by embedding, or of one embedding; KeyError for an unknown one.
    fastText's files are not listed."""
    names = {kind.__name__.lower(): list(kind.pretrained_file_names) for kind in (GloVe, FastText)}
    if embedding_name is None:
        return names
    if embedding_name not in names:
        raise UnknownNameError("embedding", f"no {embedding_name!r}", hint=", ".join(names))
    return names[embedding_name]


class _PretrainedEmbedding(DescribesArguments, _TokenEmbedding):
    """Vectors from the file ``<embedding_root>/<name of the class>/<pretrained_file_name>``.

    pretrained_file_name, embedding_root
        The name of the file, and the folder of the embeddings.
    init_unknown_vec
        A function that makes the unknown token's vector from ``shape=``.
    vocabulary
        The tokens to keep; None: all.

    KeyError (UnknownNameError) for an unknown file name, OSError (FileAccessError) for a missing
    file.
    """

    default_file_name: ClassVar[str]

    def __init__(
        self,
        pretrained_file_name: str | None = None,
        embedding_root: str = _ROOT,
        init_unknown_vec: Callable[..., Any] = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: object,
    ) -> None:
        kind = type(self).__name__.lower()
        name = pretrained_file_name or self.default_file_name
        if self.pretrained_file_names and name not in self.pretrained_file_names:
            hint = ", ".join(self.pretrained_file_names)
            raise UnknownNameError(f"embedding {kind}", f"no file {name!r}", hint=hint)
        path = Path(embedding_root).expanduser() / kind / name
        if not path.is_file():
            problem = f"{path} is missing"
            because = "executorkit does not use the net"
            hint = "fetch it from its authors' page and put it there"
            raise FileAccessError(f"embedding {kind}", problem, because=because, hint=hint)
        super().__init__(**kwargs)
        self._load_embedding(str(path), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class GloVe(_PretrainedEmbedding):
    """Vectors of GloVe, by default ``glove.840B.300d.txt``. The base class describes the
    arguments."""

    pretrained_file_names = _GLOVE
    default_file_name = "glove.840B.300d.txt"


@register
class FastText(_PretrainedEmbedding):
    """Vectors of fastText, by default ``wiki.simple.vec``. The base class describes the
    arguments."""

    default_file_name = "wiki.simple.vec"


class CustomEmbedding(_TokenEmbedding):
    """Vectors from the file ``pretrained_file_path``, a text in ``encoding`` in which
    ``elem_delim`` stands between a token and its numbers. Other arguments as of :class:`GloVe`."""

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., Any] = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The vectors of several embeddings beside each other, for the tokens of a vocabulary."""

    def __init__(
        self, vocabulary: Vocabulary, token_embeddings: _TokenEmbedding | list[_TokenEmbedding]
    ) -> None:
        _check_vocabulary(vocabulary)
        parts = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for part in parts:
            if not isinstance(part, _TokenEmbedding):
                raise ArgumentValueError("CompositeEmbedding", f"{part!r} is not a token embedding")
        super().__init__()
        self._set_idx_to_vec_by_embeddings(parts, vocabulary)
