"""Reads the built site as a reader does: every link that stays in it, the navigation, the search, and the pictures."""

import json
import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# A word, and a page that a search for it must find.
SEARCHED = {
    "max_sessions_per_agent": "config-schema.html",
    "outside_workspace": "audit-log-schema.html",
    "test-policy": "commands.html",
    "quarantine": "packs/quarantine.html",
    "TOCTOU": None,
}
# Rows of generated tables.
GENERATED = {
    "config-schema.html": "max_sessions_per_agent",
    "commands.html": "--min-coverage <PERCENT>",
    "codes.html": "config::unknown_key",
    "operating.html": "mcp_protector_ready",
}
# What is left of Markdown that was not understood.
LEFT = re.compile(r"\]\(|```|^\s*(?:[-*]|\d+\.) |\\\||\*\*", re.MULTILINE)


class Page(HTMLParser):
    """The anchors, links, images and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.navigation, self.texts = set(), [], set(), []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.anchors.update(it for it in (names.get("id"), names.get("name")) if it)
        target = names.get("href") if tag == "a" else names.get("src")
        if target:
            self.links.append(target)
            if "nav" in self.open:
                self.navigation.add(target)
        if tag in ("nav", "code", "pre", "script", "style", "p", "td"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, text):
        if self.open and self.open[-1] in ("p", "td"):
            self.texts.append(text)


def resolved(page, target):
    """The file and the anchor that a link of a page leads to; `None` for the web."""
    address = urlsplit(target)
    if address.scheme or address.netloc:
        return None
    path = posixpath.join(posixpath.dirname(page), address.path) if address.path else page
    path = posixpath.normpath(path)
    return ("index.html" if path == "." else path), unquote(address.fragment)


def dead_links(pages, files):
    problems = []
    for name, page in pages.items():
        for target in page.links:
            found = resolved(name, target)
            if found is None:
                continue
            path, anchor = found
            known = path in pages and (not anchor or anchor in pages[path].anchors)
            if not known and (anchor or path not in files):
                problems.append(f"{name}: `{target}` leads nowhere")
    return problems


def unreachable(pages):
    """The pages that the navigation of the first page does not name."""
    named = {resolved("index.html", target)[0] for target in pages["index.html"].navigation if resolved("index.html", target)}
    return [f"{name}: the navigation does not lead here" for name in pages if name not in named]


def left_over(pages):
    return [f"{name}: not rendered: {text!r}" for name, page in pages.items() for text in page.texts if LEFT.search(text)]


def not_found(index, searched):
    problems = []
    for word, page in searched.items():
        hits = {item["location"].split("#")[0] for item in index["items"] if word in item["title"] + item["text"]}
        if page and page not in hits:
            problems.append(f"search: `{word}` does not find {page}")
        elif not page and hits:
            problems.append(f"search: `{word}` finds {sorted(hits)}")
    return problems


def main(directory):
    root = Path(directory)
    files = {file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()}
    texts = {name: (root / name).read_text() for name in files if name.endswith(".html") and name != "404.html"}
    pages = {name: Page(text) for name, text in sorted(texts.items())}
    problems = dead_links(pages, files) + unreachable(pages) + left_over(pages)
    problems += not_found(json.loads((root / "search.json").read_text()), SEARCHED)
    for name, row in GENERATED.items():
        if row.replace("<", "&lt;").replace(">", "&gt;") not in texts.get(name, ""):
            problems.append(f"{name}: lacks the generated row of `{row}`")
    if problems:
        sys.exit("\n".join(problems))
    inside = sum(resolved(name, target) is not None for name, page in pages.items() for target in page.links)
    print(f"site: {len(pages)} pages, {inside} links and pictures within them, none dead")


if __name__ == "__main__":
    main(*sys.argv[1:])
