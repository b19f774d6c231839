"""``mx.notebook``: watching a training run where it is started, in a notebook or a terminal."""

__all__ = ["callback"]
