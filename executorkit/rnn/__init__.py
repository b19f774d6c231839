"""``mx.rnn``: sentences for recurrent networks."""

from ._sentences import BucketSentenceIter, UnknownTokenError, encode_sentences

__all__ = ["BucketSentenceIter", "UnknownTokenError", "encode_sentences"]
