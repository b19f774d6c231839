"""The vocabulary of ``mx.contrib.text``: tokens and their indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentValueError


class Vocabulary:
    """Indices of tokens: 0 is the unknown token, then reserved ones, then others by frequency.

    counter
        The tokens and their frequencies; None for none.
    most_freq_count, min_freq
        The largest number of tokens from the counter (None, or a negative number, for all), and
        their least frequency.
    unknown_token, reserved_tokens
        The token in place of all tokens without index; tokens that have an index without being
        counted.

    Tokens of equal frequency are in alphabetical order. Raises AssertionError (ArgumentValueError)
    for arguments that contradict each other.

    >>> vocabulary = Vocabulary(Counter("banana"))
    >>> vocabulary.idx_to_token, vocabulary.to_indices(["n", "z"])
    (['<unk>', 'a', 'n', 'b'], [2, 0])
    """

    def __init__(
        self,
        counter: Counter[str] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: str = "<unk>",
        reserved_tokens: list[str] | None = None,
    ) -> None:
        reserved = reserved_tokens or []
        for wrong, problem in (
            (min_freq <= 0, f"min_freq is {min_freq}, expected at least 1"),
            (unknown_token in reserved, f"the unknown token {unknown_token!r} is reserved too"),
            (len(set(reserved)) < len(reserved), "a token is reserved twice"),
            (
                not (counter is None or isinstance(counter, Counter)),
                f"counter is {type(counter).__name__}, expected collections.Counter",
            ),
        ):
            if wrong:
                raise ArgumentValueError("Vocabulary", problem)
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        tokens = [unknown_token, *reserved]
        known = set(tokens)
        limit = None if most_freq_count is None or most_freq_count < 0 else most_freq_count
        frequent = sorted((counter or Counter()).items(), key=lambda item: (-item[1], item[0]))
        counted = [t for t, count in frequent if count >= min_freq and t not in known]
        self._set_tokens(tokens + counted[:limit])

    def _set_tokens(self, tokens: list[str]) -> None:
        self._idx_to_token = tokens
        self._token_to_idx = {token: i for i, token in enumerate(tokens)}

    def _take_from(self, vocabulary: Vocabulary) -> None:
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)
        self._set_tokens(list(vocabulary.idx_to_token))

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[str, int]:
        """Indices by token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[str]:
        """Tokens by index."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """The token of index 0."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[str] | None:
        """The reserved tokens."""
        return self._reserved_tokens

    def to_indices(self, tokens: str | list[str]) -> Any:
        """Returns the index of a token, or of each in a list; 0 for unknown ones."""
        if not isinstance(tokens, list):
            return self._token_to_idx.get(tokens, 0)
        return [self._token_to_idx.get(token, 0) for token in tokens]

    def to_tokens(self, indices: int | Sequence[int]) -> Any:
        """Returns the token of an index, or of each in a list. Raises ValueError
        (ArgumentValueError) for an index that is not a Python integer or beyond the last."""
        tokens = []
        for index in indices if isinstance(indices, list) else [indices]:
            if not isinstance(index, int) or index >= len(self):
                problem = f"{index!r} is not an index below {len(self)}"
                raise ArgumentValueError("Vocabulary.to_tokens", problem)
            tokens.append(self._idx_to_token[index])
        return tokens if isinstance(indices, list) else tokens[0]
