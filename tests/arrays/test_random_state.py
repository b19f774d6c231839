"""Seeds: repeatable, one stream per context, safe between threads."""

from __future__ import annotations

import threading
from typing import Any

import jax
import numpy as np
import pytest

from executorkit import ndarray as nd, random
from executorkit.arrays.random_state import next_key
from executorkit.context import cpu


def _words(ctx=None) -> tuple[int, ...]:
    return tuple(jax.random.key_data(next_key(ctx)).tolist())


def test_a_seed_repeats_everything():
    random.seed(7)
    first = nd.random.normal(shape=(5,)).asnumpy(), _words()
    random.seed(7)
    again = nd.random.normal(shape=(5,)).asnumpy(), _words()
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1] == again[1]
    random.seed(8)
    assert not np.array_equal(nd.random.normal(shape=(5,)).asnumpy(), first[0])


@pytest.mark.parametrize("state", [0, -1, 2**40, np.int64(3)])
def test_any_integer_is_a_seed(state):
    random.seed(state)
    first = _words()
    random.seed(state)
    assert _words() == first


def test_seed_of_all_differs_by_device_and_seed_of_one_does_not():
    random.seed(3)
    assert _words(cpu(0)) != _words(cpu(1))
    random.seed(3, ctx=cpu(0))
    random.seed(3, ctx=cpu(1))
    assert _words(cpu(0)) == _words(cpu(1))


def test_seed_of_one_gives_what_device_0_gives_after_a_seed_of_all():
    random.seed(3)
    first = _words(cpu(0))
    random.seed(3, ctx=cpu(1))
    assert _words(cpu(1)) == first


def test_numbers_for_a_given_array_come_from_the_stream_of_its_device():
    filled = []
    for context in (cpu(0), cpu(1)):
        array = nd.zeros((5,), ctx=context)
        random.seed(3, ctx=context)
        nd.random.uniform(out=array)
        filled.append(array.asnumpy().tolist())
    assert filled[0] == filled[1]


def test_seed_of_one_context_leaves_the_others_alone():
    random.seed(3)
    first = _words(cpu(1))
    random.seed(3)
    random.seed(5, ctx=cpu(0))
    assert _words(cpu(1)) == first


def test_keys_do_not_repeat_and_are_on_their_device():
    random.seed(1)
    assert len({_words() for _ in range(200)}) == 200
    assert next_key(cpu(2)).devices() == {cpu(2).device}


def test_threads_get_different_keys():
    random.seed(1)
    seen: list[tuple[int, ...]] = []

    def draw() -> None:
        seen.extend(_words() for _ in range(50))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(seen)) == 200


def test_errors():
    with pytest.raises(ValueError, match="seed_state is 'a', expected an integer"):
        random.seed("a")  # type: ignore[reportArgumentType]
    with pytest.raises(KeyError):
        random.seed(1, ctx="foo")


def test_zipfian_classes_are_in_range_and_expected_counts_add_up():
    random.seed(2)
    sampled, true, drawn = nd.contrib.rand_zipfian(nd.arange(10), 50, 10)
    assert sampled.dtype is np.int64
    assert 0 <= sampled.asnumpy().min() <= sampled.asnumpy().max() < 10
    assert float(true.sum()) == pytest.approx(50)
    assert drawn.shape == (50,)


def test_a_key_compiles_nothing():
    compiled = []

    def note(event: str, duration_secs: float, **kwargs: Any) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(kwargs["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        key = next_key(cpu(6))
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert compiled == []
    assert key.devices() == {cpu(6).device}
