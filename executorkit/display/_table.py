"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    footer: Sequence[str] | None = None,
) -> str:
    """Columns as wide as their widest cell, two spaces apart, the header underlined.

    ``right`` are the numbers of the columns that are aligned to the right; ``footer`` is a last
    row below another line.

    >>> print(text_table(["layer", "size"], [["fc1", "1,280"], ["relu1", "0"]], right={1}))
    layer   size
    -----  -----
    fc1    1,280
    relu1      0
    """
    lines = [header, *rows, *([footer] if footer is not None else [])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    lines = [header, rule, *rows, *([rule, footer] if footer is not None else [])]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
