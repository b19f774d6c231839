"""Docstrings of classes whose arguments a base class describes."""

import inspect
import re

_REFERENCE = re.compile(r"\s*The\s+base\s+class\s+describes\s+the\s+(other\s+)?arguments\.")
#: Lines with names of arguments, each with indented lines below that say what they are.
_DESCRIPTIONS = re.compile(r"(?:^\w[\w, ]*\n(?:^    .+\n)+)+", re.MULTILINE)


class DescribesArguments:
    """Base of classes whose subclasses say "The base class describes the arguments.": ``help`` of
    these shows the descriptions."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        doc = inspect.cleandoc(vars(cls).get("__doc__") or "")
        if not _REFERENCE.search(doc):
            return
        for base in cls.__mro__[1:]:
            descriptions = _DESCRIPTIONS.search(inspect.cleandoc(base.__doc__ or "") + "\n")
            if descriptions:
                cls.__doc__ = f"{_REFERENCE.sub('', doc)}\n\n{descriptions[0]}"
                return
