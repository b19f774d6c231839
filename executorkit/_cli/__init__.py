"""The commands of ``python -m executorkit``."""
