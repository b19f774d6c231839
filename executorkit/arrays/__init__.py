"""Arrays without operators: handles on shared storages, pending contents, and random streams."""
