"""Calls of operators on arrays: resolved, and computed, recorded or deferred."""
