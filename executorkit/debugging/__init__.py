"""Searching for the node that made a NaN or an infinity."""
