"""Small scripts in the style of a book on deep learning, with ``np``, ``npx`` and Gluon, on both
sides: MXNet answers, ours is compared.

Every file of this folder whose name has no leading underscore is a theme."""

from importlib import import_module
from pkgutil import iter_modules

from ._facts import SCRIPTS, run

for _theme in sorted(module.name for module in iter_modules(__path__)):
    if not _theme.startswith("_"):
        import_module(f"{__name__}.{_theme}")

__all__ = ["SCRIPTS", "run"]
