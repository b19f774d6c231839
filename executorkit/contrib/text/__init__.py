"""``mx.contrib.text``: vocabularies, and vectors of words read from files."""

from . import embedding as embedding, utils as utils, vocab as vocab
