"""``mx.contrib.text.utils``: counting of words."""

import re
from collections import Counter


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """Returns the number of times that each token occurs in a text.

    token_delim, seq_delim
        regular expressions of the delimiters of tokens, and of sequences of tokens.
    to_lower
        whether capitals become small letters.
    counter_to_update
        is counted on and returned; a new counter by default.

    >>> sorted(count_tokens_from_str("life is life\\nis it", to_lower=True).items())
    [('is', 2), ('it', 1), ('life', 2)]
    """
    counter = Counter() if counter_to_update is None else counter_to_update
    tokens = re.split(f"{token_delim}|{seq_delim}", source_str)
    counter.update(token.lower() if to_lower else token for token in tokens if token)
    return counter
