"""``mx.contrib.text``: vocabularies, and vectors of words read from files."""

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
