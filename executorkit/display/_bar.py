"""How much of something is done."""

from __future__ import annotations

from dataclasses import dataclass

_BAR_WIDTH, _BAR_HEIGHT, _BAR_CHARACTERS = 320, 10, 40


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that is filled as far as ``done`` says, from 0 to 1.

    >>> Bar(0.25).text()
    '██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░'
    """

    done: float

    def html(self) -> str:
        filled = round(_BAR_WIDTH * min(1.0, max(0.0, self.done)))
        return (
            f'<svg width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}">'
            f'<path d="M0 0h{_BAR_WIDTH}v{_BAR_HEIGHT}h-{_BAR_WIDTH}z" fill="var(--rule)"></path>'
            f'<path d="M0 0h{filled}v{_BAR_HEIGHT}h-{filled}z" fill="var(--mark)"></path></svg>'
        )

    def text(self) -> str:
        filled = round(_BAR_CHARACTERS * min(1.0, max(0.0, self.done)))
        return "█" * filled + "░" * (_BAR_CHARACTERS - filled)
