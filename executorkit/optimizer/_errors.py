"""What optimizers raise."""

from __future__ import annotations
