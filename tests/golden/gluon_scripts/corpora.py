"""Corpora of text from files, samplers at intervals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ._facts import attempts, folder, script

_TRAIN = (
    " \n = A B = \n \n the cat sat on the mat . \n the dog <unk> sat\n\n  a  b\tc \r\n"
    "z\x0by\r\u2028x"
)


def _raised(answers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"raises": answer["raises"]} if isinstance(answer, dict) else answer
        for name, answer in answers.items()
    }


@script
def corpora_of_text(mx):
    text = mx.gluon.contrib.data.text
    checked = getattr(text, "check_sha1", None)
    text.check_sha1 = lambda *args: True  # MXNet takes its own files only
    try:
        with folder():
            return _corpora(mx, text)
    finally:
        if checked is None:
            del text.check_sha1
        else:
            text.check_sha1 = checked


def _corpora(mx: Any, text: Any) -> Any:
    Path("wiki.train.tokens").write_bytes(_TRAIN.encode())
    Path("wiki.valid.tokens").write_text("a cat \n sat <eos> again\n")
    Path("wiki.test.tokens").write_text("")

    def look(corpus: Any) -> list[Any]:
        vocabulary = corpus.vocabulary
        samples = [corpus[0], corpus[-1], corpus[0:2]] if len(corpus) else []
        return [
            len(corpus),
            list(vocabulary.idx_to_token),
            vocabulary.reserved_tokens,
            sorted(corpus.frequencies.items()),
            [list(sample) for sample in samples],
        ]

    def corpus(segment: str, seq_len: int, vocab: Any = None, kind: str = "WikiText2") -> Any:
        return getattr(text, kind)(".", segment, vocab, seq_len)

    sizes = ("train", 5), ("train", 1), ("train", 30), ("validation", 2), ("test", 3)
    seen = [look(corpus(*size)) for size in sizes]
    train = corpus("train", 2)
    other = corpus("validation", 2, train.vocabulary, "WikiText103")
    seen.append([look(other), other.vocabulary is train.vocabulary])
    few = mx.contrib.text.vocab.Vocabulary(Counter(["cat", "sat"]))
    seen.append(look(corpus("validation", 2, few)))
    seen.append([list(sample) for sample in train.transform(lambda x, y: (y, x)).take(2)])
    seen.append(_raised(attempts(
        mx,
        segment=lambda: corpus("valid", 2),
        beyond=lambda: train[100],
    )))  # fmt: skip
    return seen


@script
def samplers_at_intervals(mx):
    sampler = mx.gluon.contrib.data.IntervalSampler
    cases = ((13, 3), (13, 3, False), (3, 3), (3, 3, False), (4, 1), (1, 1), (5, 4, False))
    seen = [[list(sampler(*case)), len(sampler(*case))] for case in cases]
    twice = sampler(5, 2)
    refused = attempts(mx, longer=lambda: sampler(3, 4), none=lambda: sampler(0, 1))
    return [seen, [list(twice), list(twice)], _raised(refused)]
