"""Colours and spacing of views, light and dark.

A page is dark if its theme says so: the classes and attributes that JupyterLab, VS Code and Sphinx
themes set. Where a page says nothing, the system's preference counts.
"""

from __future__ import annotations

_LIGHT = (
    "--fg:#1c1e21;--soft:#666c75;--line:#d4d8de;--rule:#eceef1;--bg:#fff;--mark:#3574b5;--bad:#c0272d;"
    "--dense:#f6c7c0;--norm:#d3cfe8;--act:#fbf3b8;--pool:#bcd9ec;--shape:#fbd9b0;--loss:#fbd3e6;"
    "--input:#bfe6dd;--block:#e6e9ee;--other:#dfeccb"
)
_DARK = (
    "--fg:#e4e6ea;--soft:#9aa1ab;--line:#4a5058;--rule:#33383f;--bg:#16181b;--mark:#6ea8e0;--bad:#ff7b72;"
    "--dense:#6b362f;--norm:#474068;--act:#5c5420;--pool:#274b63;--shape:#664522;--loss:#63324a;"
    "--input:#215249;--block:#31363d;--other:#3f4d29"
)
_DARK_PAGES = (
    '[data-jp-theme-light="false"]', ".jp-mod-dark", ".vscode-dark", '[data-theme="dark"]',
    ".theme-dark",
)  # fmt: skip
_LIGHT_PAGES = ('[data-jp-theme-light="true"]', ".vscode-light", '[data-theme="light"]')

_RULES = """
.ek{font:13px/1.45 system-ui,sans-serif;color:var(--fg);max-width:100%}
.ek .h{font-weight:600;margin:2px 0 4px}
.ek p{margin:2px 0;color:var(--soft)}
.ek pre{margin:2px 0;font-size:12px;color:var(--fg);background:none;white-space:pre;overflow-x:auto}
.ek .x{overflow:auto;max-height:520px}
.ek table{border-collapse:collapse;margin:2px 0 6px;font-size:12px}
.ek .x th,.ek .x td{padding:1px 10px 1px 0;text-align:left;white-space:nowrap}
.ek .x th,.ek .x td{background:none;color:var(--fg)}
.ek .x th{color:var(--soft);font-weight:500;border-bottom:1px solid var(--line)}
.ek .x td{border-bottom:1px solid var(--rule)}
.ek .x .r{text-align:right;font-variant-numeric:tabular-nums}
.ek .x tfoot td{font-weight:600;border-top:1px solid var(--line)}
.ek details{margin:1px 0 1px 2px}
.ek details>:not(summary){margin-left:14px}
.ek summary{cursor:pointer}
.ek b.bad{color:var(--bad)}
.ek svg{display:block}
.ek svg.s{display:inline-block;vertical-align:middle}
.ek svg.s path{fill:var(--mark)}
.ek text{font:11px system-ui,sans-serif;fill:var(--fg);text-anchor:middle}
.ek .d{fill:var(--soft);font-size:10px}
.ek .e{fill:none;stroke:var(--soft);stroke-width:1}
.ek .n{stroke:var(--line);stroke-width:1}
"""

#: Kinds of boxes in drawings of graphs, each with a colour.
KINDS = ("dense", "norm", "act", "pool", "shape", "loss", "input", "block", "other")


def _sheet() -> str:
    kinds = "".join(f".ek .n.{kind}{{fill:var(--{kind})}}" for kind in KINDS)
    dark, light = (
        ",".join(f"{page} .ek" for page in pages) for pages in (_DARK_PAGES, _LIGHT_PAGES)
    )
    return (
        f".ek{{{_LIGHT}}}"
        f"@media (prefers-color-scheme:dark){{.ek{{{_DARK}}}}}"
        f"{light}{{{_LIGHT}}}{dark}{{{_DARK}}}" + _RULES.replace("\n", "") + kinds
    )


def _picture_sheet() -> str:
    """Light colours for pictures in files, which viewers show on white, and drawings' own rules."""
    kinds = "".join(f".n.{kind}{{fill:var(--{kind})}}" for kind in KINDS)
    rules = [
        line
        for line in _RULES.split("\n")
        if line.startswith((".ek text", ".ek .d", ".ek .e", ".ek .n"))
    ]
    return f"svg{{{_LIGHT}}}" + "".join(rules).replace(".ek ", "") + kinds


#: The style sheet that every view brings along, and that of a drawing which is a file of its own.
SHEET = _sheet()
PICTURE_SHEET = _picture_sheet()
