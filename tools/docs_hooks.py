"""MkDocs hooks for the documentation's site: `make docs`, or `mkdocs serve`.

The site has the repository's Markdown pages, the files that they link to, and the
generated reference. A build fails if a public name has no docstring or is absent from
the reference, or if a page loads something from another site.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

# MkDocs loads this file by its path, so modules in its folder would not be found.
sys.path.insert(0, str(Path(__file__).parent))
import reference_pages  # noqa: E402

ROOT = reference_pages.ROOT
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md")
REFERENCE = "docs/reference"

_LINK = re.compile(r"(\]\()([^)\s#]+)")
_FROM_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|"""
    r"""<link[^>]*rel=["']?(?:stylesheet|preconnect)[^>]*href=["']?(?:https?:)?//"""
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replaces the pages of `docs_dir` with the repository's, at the same paths."""
    for file in files.documentation_pages() + files.media_files():
        if file.generated_by is None and file.src_dir == config.docs_dir:
            files.remove(file)
    for path, text in _pages_and_linked_files():
        content = path.read_bytes() if text is None else text
        uri = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, uri, content=content))
    for name, text in reference_pages.pages().items():
        files.append(File.generated(config, f"{REFERENCE}/{name}", content=text))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Checks the site that was built."""
    site = Path(config.site_dir)
    for complaint, found in (
        ("public, and without a docstring", _undocumented_names()),
        ("public, and not in the reference", _absent_names(site)),
        ("loads from another site", _pages_that_load_from_elsewhere(site)),
    ):
        if found:
            raise PluginError(f"{complaint}: {', '.join(found)}")


def _pages_and_linked_files() -> Iterator[tuple[Path, str | None]]:
    """Yields each page with its text, and each other file that a page links to."""
    waiting = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if path.suffix != ".md":
            yield path, None
            continue
        text = _LINK.sub(partial(_to_file, path), path.read_text())
        waiting += _linked_files(path, text)
        yield path, text


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


def _undocumented_names() -> list[str]:
    package = griffe.load(reference_pages.PACKAGE, search_paths=[ROOT])
    root = f"{reference_pages.PACKAGE}."
    return [
        name
        for name in _defined_names()
        if not package[name.removeprefix(root)].has_docstring
    ]


def _absent_names(site: Path) -> list[str]:
    """Returns the public names that the reference lacks."""
    inventory = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(inventory.split(b"\n", 4)[4]).decode().splitlines()
    listed = {line.split(" ", 1)[0] for line in lines}
    return [name for name in _defined_names() if name not in listed]


def _defined_names() -> list[str]:
    public = reference_pages.public_names().values()
    return [reference_pages.definition(name) for names in public for name in names]


def _pages_that_load_from_elsewhere(site: Path) -> list[str]:
    return [
        str(page.relative_to(site))
        for page in sorted(site.rglob("*.html"))
        if _FROM_ELSEWHERE.search(page.read_text())
    ]
