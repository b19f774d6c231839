"""Elements of static HTML: everything that comes from a user's graph is escaped here."""

from __future__ import annotations

import html
import re

#: Characters that no HTML or SVG document may hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escape(text: object) -> str:
    """Text as it may stand between tags and in quoted attributes.

    >>> escape('<script> & "x"')
    '&lt;script&gt; &amp; &quot;x&quot;'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", str(text)), quote=True)


def tag(name: str, *content: str, **attributes: object) -> str:
    """An element. Content is HTML already; values of attributes are escaped, those that are None
    left out; a trailing underscore of a name is dropped, others become hyphens.

    >>> tag("p", escape("a < b"), class_="note")
    '<p class="note">a &lt; b</p>'
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{''.join(content)}</{name}>"
