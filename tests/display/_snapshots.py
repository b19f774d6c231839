"""Text forms of views, as they were when someone read them.

``EXECUTORKIT_SNAPSHOTS=write`` writes them anew: read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def matches(name: str, text: str) -> None:
    """Asserts that a text is the one in ``snapshots/<name>.txt``."""
    path = FOLDER / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in text.split("\n")) + "\n"
    if os.environ.get("EXECUTORKIT_SNAPSHOTS") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
