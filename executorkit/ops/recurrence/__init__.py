"""Recurrences: ``lax.scan`` with a backward pass that stores and computes little per iteration."""

from .scan import (
    fused_scan_pays as fused_scan_pays,
    matrix_rows as matrix_rows,
    scan_with_vjp as scan_with_vjp,
)
from .scan_body import Constants as Constants, ScanBody as ScanBody, ScanProduct as ScanProduct
