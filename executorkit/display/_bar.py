"""How much of something is done."""

from __future__ import annotations

from dataclasses import dataclass

_WIDTH, _HEIGHT, _CHARACTERS = 320, 10, 40


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that is filled as far as ``done`` says, from 0 to 1.

    >>> Bar(0.25).text()
    '██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░'
    """

    done: float

    def html(self) -> str:
        filled = round(_WIDTH * min(1.0, max(0.0, self.done)))
        return (
            f'<svg width="{_WIDTH}" height="{_HEIGHT}">'
            f'<path d="M0 0h{_WIDTH}v{_HEIGHT}h-{_WIDTH}z" fill="var(--rule)"></path>'
            f'<path d="M0 0h{filled}v{_HEIGHT}h-{filled}z" fill="var(--mark)"></path></svg>'
        )

    def text(self) -> str:
        filled = round(_CHARACTERS * min(1.0, max(0.0, self.done)))
        return "█" * filled + "░" * (_CHARACTERS - filled)
