"""Small programs of the kinds that users of the symbolic API write: train, generate, play, tag.

Each uses several parts of the API together, as such programs do. They run on both sides; MXNet's
answers are stored. Random numbers come from NumPy, so that the answers can be compared.
"""

from . import classics, generation, imperative, pictures, play, shapes, tools, words
from ._facts import SCRIPTS, run

__all__ = [
    "SCRIPTS",
    "classics",
    "generation",
    "imperative",
    "pictures",
    "play",
    "run",
    "shapes",
    "tools",
    "words",
]
