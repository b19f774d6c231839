"""Arrays without operators: handles on shared storages, pending contents, and random streams.

What programs and executors need of arrays. ``executorkit.ndarray`` has MXNet's class on top of it.
"""
