"""Fixtures of metrics: small predictions are measured by programs on their devices too."""

from __future__ import annotations

import pytest

from executorkit.metric import _device_metric


@pytest.fixture
def on_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """No prediction is so small that NumPy measures it in any case."""
    monkeypatch.setattr(_device_metric, "_SMALL_SIZE", -1)


@pytest.fixture(params=["by NumPy", "on devices"])
def anywhere(request: pytest.FixtureRequest) -> None:
    """Small predictions are measured by NumPy, or by programs on their devices."""
    if request.param == "on devices":
        request.getfixturevalue("on_devices")
