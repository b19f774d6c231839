"""``mx.contrib.text.vocab``: tokens and their indices."""

from ..._support.vocabulary import Vocabulary as Vocabulary
