"""Algorithms for convolutions on CPUs behind one entry."""
