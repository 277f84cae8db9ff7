"""Pages of reports: one HTML file each, which loads nothing from elsewhere."""

from __future__ import annotations

from html import escape
from string import Template

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; }
body { font-family: sans-serif; margin: 2em auto; max-width: 1240px; padding: 0 1em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9em; }
th, td { border-bottom: 1px solid #8888; padding: 0.3em 0.7em; text-align: right; }
.texts { text-align: left; }
.warning { border-left: 4px solid #b35900; padding-left: 0.7em; }
svg { height: auto; max-width: 100%; }
</style>
</head>
<body>
<h1>$title</h1>
$body
</body>
</html>
""")


def page_html(title: str, body: str) -> str:
    """Returns a page.

    Args:
        title: Its title, and its heading; not yet escaped.
        body: What is below the heading, as HTML. Elements of the class "wide" scroll by
            themselves, and those of the class "warning" stand out.
    """
    return _PAGE.substitute(title=escape(title), body=body)
