"""Repeated blocks of a graph as one scan."""
