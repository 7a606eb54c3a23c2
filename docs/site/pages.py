"""Lays out the repository's pages as the source of the site.

Links between pages lead to the page on the site, and other links into the repository to the file in the repository,
at the tag of this version. A link that leads nowhere, and a page without a place in the navigation, end the build.
"""

import fnmatch
import json
import posixpath
import re
import shutil
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "docs/site"
PAGES = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md", "policies/*/README.md"]
# Copied as they are.
FILES = ["docs/schema/*.json", "docs/*.svg", "docs/*.png"]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^( *)```")


def place(path):
    """Where a page or a file of the repository is on the site."""
    if path == "README.md":
        return "index.md"
    if path.startswith("policies/"):
        return f"packs/{path.split('/')[1]}.md"
    return path.removeprefix("docs/")


def found(patterns):
    files = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    paths = [file.relative_to(ROOT).as_posix() for file in files]
    return {path: place(path) for path in paths}


class Source:
    def __init__(self):
        package = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
        self.tree = package["repository"]
        self.version = package["version"]
        self.tag = f"v{self.version}"
        self.pages = found(PAGES)
        self.files = found(FILES)
        self.problems = []

    def link(self, page, target):
        """The target of a link of a page, on the site."""
        address = urlsplit(target)
        if address.scheme or address.netloc:
            if address.scheme != "https" or "." not in address.netloc:
                self.problems.append(f"{page}: `{target}` is no address")
            return target
        if not address.path:
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), address.path))
        anchor = f"#{address.fragment}" if address.fragment else ""
        on_site = self.pages.get(path) or self.files.get(path)
        if on_site:
            return posixpath.relpath(on_site, posixpath.dirname(self.pages[page]) or ".") + anchor
        file = ROOT / path
        if path.startswith("..") or not file.exists():
            self.problems.append(f"{page}: `{target}` leads nowhere")
        return f"{self.tree}/{'tree' if file.is_dir() else 'blob'}/{self.tag}/{path}{anchor}"

    def text(self, page):
        """A page with the links of the site. Python's Markdown wants what belongs to an item to be indented by four."""
        lines, shift, inside = [], 0, False
        for line in (ROOT / page).read_text().splitlines():
            blanks = len(line) - len(line.lstrip())
            fence = FENCE.match(line)
            if not inside:
                shift = 4 - blanks if blanks in (2, 3) else 0
                line = LINK.sub(lambda it: it[1] + self.link(page, it[2]) + it[3], line)
            lines.append(" " * shift + line if line else line)
            inside = inside != bool(fence)
        return "\n".join(lines) + "\n"

    def title(self, page):
        heading = re.search(r"^# (.+)$", (ROOT / page).read_text(), re.MULTILINE)
        # `Read-only: an agent that may only look`
        return heading[1].split(": ")[0].replace("`", "") if heading else page

    def navigation(self):
        """The pages by section, each at one place."""
        sections = tomllib.loads((HERE / "navigation.toml").read_text())["section"]
        rest = dict(self.pages)
        named = [page for section in sections for page in section["pages"] if "*" not in page]
        unknown = [page for page in named if page not in rest]
        self.problems += [f"navigation.toml: there is no `{page}`" for page in unknown]
        whole = []
        for section in sections:
            items = []
            for pattern in section["pages"]:
                fits = [page for page in rest if fnmatch.fnmatchcase(page, pattern)]
                fits = [page for page in fits if page == pattern or page not in named]
                # `docs/*.md` has no other directories.
                fits = [page for page in fits if page.count("/") == pattern.count("/")]
                items += [{self.title(page): rest.pop(page)} for page in fits]
            whole += [{section["title"]: items}] if "title" in section else items
        self.problems += [f"navigation.toml: `{page}` has no place" for page in rest]
        return whole


def toml(value):
    """Lists, tables and words, in one line of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(it)}" for key, it in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(it) for it in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def main(target):
    source = Source()
    target = Path(target)
    shutil.rmtree(target, ignore_errors=True)
    for page, on_site in source.pages.items():
        file = target / "docs" / on_site
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.text(page))
    for path, on_site in source.files.items():
        file = target / "docs" / on_site
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, file)
    settings = (HERE / "zensical.toml").read_text()
    settings = settings.replace("# nav\n", f"nav = {toml(source.navigation())}\n")
    settings = settings.replace("REPOSITORY", source.tree).replace("VERSION", source.version)
    (target / "zensical.toml").write_text(settings)
    shutil.copyfile(HERE / "style.css", target / "docs/style.css")
    if source.problems:
        sys.exit("\n".join(source.problems))
    print(f"site: {len(source.pages)} pages, {len(source.files)} files")


if __name__ == "__main__":
    main(*sys.argv[1:])
