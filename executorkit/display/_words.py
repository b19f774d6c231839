"""Numbers and names as people read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite


def count(number: float | None) -> str:
    """Thousands set apart; '?' for what is not known.

    >>> count(1234567), count(None)
    ('1,234,567', '?')
    """
    return "?" if number is None else f"{number:,.0f}"


def many(number: int, what: str) -> str:
    """A number of things.

    >>> many(1, "compilation"), many(1200, "row")
    ('1 compilation', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def total(numbers: Collection[float | None]) -> str:
    """The sum of what is known; marked where something is not.

    >>> total([1000, 234]), total([5, None]), total([None])
    ('1,234', '5 + ?', '?')
    """
    known = [number for number in numbers if number is not None]
    if not known:
        return "?" if numbers else "0"
    return count(sum(known)) + (" + ?" if len(known) < len(numbers) else "")


def scaled(number: float | None, unit: str = "", base: int = 1000) -> str:
    """Three digits and a prefix.

    >>> scaled(7.7e9, "FLOPs"), scaled(102400, "B", 1024), scaled(12, "B"), scaled(None, "B")
    ('7.7 GFLOPs', '100 KiB', '12 B', '?')
    """
    if number is None or not isfinite(number):
        return "?"
    size = float(number)
    prefixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi") if base == 1024 else ("", "k", "M", "G", "T", "P")
    for prefix in prefixes:
        if abs(size) < base * 0.9995 or prefix == prefixes[-1]:
            break
        size /= base
    return f"{size:.3g} {prefix}{unit}".rstrip()


def shape(sizes: Sequence[int] | None) -> str:
    """A shape; '?' where nothing is known, and for dimensions of 0, which are not known.

    >>> shape((32, 10)), shape((0, 5)), shape(None), shape((3,))
    ('(32, 10)', '(?, 5)', '?', '(3,)')
    """
    if sizes is None:
        return "?"
    words = [str(size) if size else "?" for size in sizes]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def value(number: float | None) -> str:
    """A measured value with four digits.

    >>> value(0.123456), value(1e-9), value(None)
    ('0.1235', '1e-09', '')
    """
    return "" if number is None else f"{number:.4g}"


def clipped(name: str, length: int) -> str:
    """A name that is too long without its middle.

    >>> clipped("stage1_unit1_conv1", 10), clipped("conv", 10)
    ('stage…conv1', 'conv')
    """
    if len(name) <= length + 1:
        return name
    half = length // 2
    return f"{name[:half]}…{name[-half:]}"
