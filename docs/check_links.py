"""Check the links inside a built site: ``python docs/check_links.py SITE``.

Sphinx warns of links that it makes itself. This follows what the pages really hold: links, pictures, scripts, frames,
also of the gallery, the notebooks and the theme. Other sites are not asked.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The addresses that a page refers to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.addresses.append(value)


def broken_links(site: Path) -> list[str]:
    """Return a line for every link of a page to a file or an anchor that does not exist."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        raise FileNotFoundError(f"There is no page in {site}.")
    broken = []
    for path, page in pages.items():
        if "_static" in path.relative_to(site.resolve()).parts:  # templates of the theme, and pages without links
            continue
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site.resolve())}: {address}: there is no such file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(site.resolve())}: {address}: there is no such anchor")
    return broken


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/check_links.py SITE")
    if found := broken_links(Path(sys.argv[1])):
        sys.exit("\n".join(found))
