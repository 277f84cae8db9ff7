"""Builds the documentation's site: `make docs`.

    python tools/docs_site.py

The site has the Markdown pages of the repository, which can be read there as well. This
program copies them, with every file that they link to, to build/docs, beside the
generated reference. Then MkDocs builds build/site. A broken link, a page without links
to it, and a public name without a docstring are errors.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import griffe
import reference_pages
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

ROOT = reference_pages.ROOT
GATHERED = ROOT / "build" / "docs"
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md")

_LINK = re.compile(r"(\]\()([^)\s#]+)")
_FROM_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|"""
    r"""<link[^>]*rel=["']?(?:stylesheet|preconnect)[^>]*href=["']?(?:https?:)?//"""
)


def gather(folder: Path) -> None:
    """Copies the pages, and all files that they link to, to a folder."""
    waiting = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    copied = set()
    while waiting:
        source = waiting.pop()
        if source in copied:
            continue
        copied.add(source)
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            shutil.copyfile(source, target)
            continue
        text = _LINK.sub(partial(_to_file, source), source.read_text())
        target.write_text(text)
        waiting += _linked_files(source, text)


def _to_file(source: Path, link: re.Match[str]) -> str:
    """Converts a link to a folder to a link to the page shown for the folder."""
    path = link[2].rstrip("/")
    is_page_of_folder = (source.parent / path / "README.md").is_file()
    return f"{link[1]}{path}/README.md" if is_page_of_folder else link[0]


def _linked_files(source: Path, text: str) -> Iterator[Path]:
    for _, link in _LINK.findall(text):
        linked = (source.parent / link).resolve()
        if linked.is_file() and linked.is_relative_to(ROOT):
            yield linked


def write_reference(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, text in reference_pages.pages().items():
        (folder / name).write_text(text)


def undocumented_names() -> list[str]:
    package = griffe.load(reference_pages.PACKAGE, search_paths=[ROOT])
    root = f"{reference_pages.PACKAGE}."
    return [
        name
        for name in _defined_names()
        if not package[name.removeprefix(root)].has_docstring
    ]


def absent_names(site: Path) -> list[str]:
    """Returns the public names that the reference lacks."""
    inventory = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(inventory.split(b"\n", 4)[4]).decode().splitlines()
    listed = {line.split(" ", 1)[0] for line in lines}
    return [name for name in _defined_names() if name not in listed]


def _defined_names() -> list[str]:
    public = reference_pages.public_names().values()
    return [reference_pages.definition(name) for names in public for name in names]


def pages_that_load_from_elsewhere(site: Path) -> list[str]:
    return [
        str(page.relative_to(site))
        for page in sorted(site.rglob("*.html"))
        if _FROM_ELSEWHERE.search(page.read_text())
    ]


def main() -> None:
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    shutil.rmtree(GATHERED, ignore_errors=True)
    gather(GATHERED)
    write_reference(GATHERED / "docs" / "reference")
    # After the folder is created: `load_config` checks that it exists.
    config = load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(GATHERED))
    site = Path(config.site_dir)
    try:
        build(config)
    except Abort as abort:
        sys.exit(str(abort))
    for complaint, found in (
        ("public, and without a docstring", undocumented_names()),
        ("public, and not in the reference", absent_names(site)),
        ("loads from another site", pages_that_load_from_elsewhere(site)),
    ):
        if found:
            sys.exit(f"{complaint}: {', '.join(found)}")
    print(f"The site is at {site.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    main()
