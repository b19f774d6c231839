"""Loops over time with a backward pass of their own."""
