"""JAX's default random generator, bit for bit: Threefry-2x32 (Salmon et al. 2011)."""

import math

import jax
import numpy as np

from .._support.annotations import Raw
from ._plan import data_of_keys, keys_of_data
from ._rules import KEY, Call, Kernel, rule

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry2x32(key1: Raw, key2: Raw, x1: Raw, x2: Raw) -> tuple[np.ndarray, np.ndarray]:
    """Returns both words of the hash of two counters by two words of a key; all broadcast."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in (key1, key2, x1, x2)))
    key1, key2 = np.asarray(key1, np.uint32), np.asarray(key2, np.uint32)
    keys = (key1, key2, key1 ^ key2 ^ np.uint32(0x1BD11BDA))
    first = np.array(np.broadcast_to(x1, shape), np.uint32, order="C")
    second = np.array(np.broadcast_to(x2, shape), np.uint32, order="C")
    high, low = np.empty_like(first), np.empty_like(first)
    np.add(first, keys[0], first)
    np.add(second, keys[1], second)
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            np.add(first, second, first)
            np.left_shift(second, np.uint32(rotation), high)
            np.right_shift(second, np.uint32(32 - rotation), low)
            np.bitwise_or(high, low, second)
            np.bitwise_xor(first, second, second)
        np.add(first, keys[(block + 1) % 3], first)
        np.add(second, keys[(block + 2) % 3] + np.uint32(block + 1), second)
    return first, second


def hash_words(key: tuple[int, int], counter: int) -> tuple[int, int]:
    """Computes :func:`threefry2x32` by Python's integers, in a tenth of the time."""
    mask = 0xFFFFFFFF
    keys = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    first, second = key[0], (counter + key[1]) & mask
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            first += second
            second = ((second << rotation | second >> (32 - rotation)) ^ first) & mask
        first = (first + keys[(block + 1) % 3]) & mask
        second = (second + keys[(block + 2) % 3] + block + 1) & mask
    return first, second


rule("threefry2x32", fresh=True, weight=90)(lambda call: threefry2x32)
rule("random_wrap", weight=0)(lambda call: keys_of_data)
rule("random_unwrap", fresh=True, weight=1)(lambda call: data_of_keys)
rule("random_clone", weight=0)(lambda call: lambda keys: keys)


def _words(keys: object, rank: int) -> tuple[Raw, Raw]:
    data = data_of_keys(keys)
    shape = data.shape[:-1] + (1,) * rank
    return data[..., 0].reshape(shape), data[..., 1].reshape(shape)


def _counters(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    return (numbers >> np.uint64(32)).astype(np.uint32), numbers.astype(np.uint32)


def _partitionable() -> bool:
    return jax.config.jax_threefry_partitionable  # pyright: ignore[reportAttributeAccessIssue]


def _keys(first: Raw, second: Raw) -> Raw:
    return keys_of_data(np.stack([first, second], -1))


@rule("random_bits", fresh=True, weight=100)
def _random_bits(call: Call) -> Kernel | None:
    shape, width, dtype = call.params["shape"], call.params["bit_width"], call.dtype
    if not _partitionable():
        return None

    def bits(keys: object) -> np.ndarray:
        first, second = threefry2x32(*_words(keys, len(shape)), *_counters(shape))
        if width == 64:
            return (first.astype(np.uint64) << np.uint64(32)) | second
        return np.bitwise_xor(first, second).astype(dtype, copy=False)

    return bits


@rule("random_split", weight=20)
def _random_split(call: Call) -> Kernel | None:
    shape = call.params["shape"]
    if not _partitionable():
        return None
    return lambda keys: _keys(*threefry2x32(*_words(keys, len(shape)), *_counters(shape)))


@rule("random_fold_in", weight=20)
def _random_fold_in(call: Call) -> Kernel:
    return lambda keys, numbers: _keys(
        *threefry2x32(*_words(keys, 0), np.uint32(0), numbers.astype(np.uint32))
    )


@rule("random_seed", weight=1)
def _random_seed(call: Call) -> Kernel | None:
    if call.dtype != KEY:
        return None
    wide = call.ins[0].dtype.itemsize == 8

    def seed(numbers: Raw) -> np.ndarray:
        low = numbers.astype(np.uint32)
        high = (numbers.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
        return _keys(high if wide else np.zeros_like(low), low)

    return seed
