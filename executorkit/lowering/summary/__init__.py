"""Layers, FLOPs and the table of a network."""
