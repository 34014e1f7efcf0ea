"""Finds dead links in the Markdown files of the repository and in the pages that `cargo doc` has written.

    python3 tests/python/links.py target/doc

Links to other hosts are not followed. Markdown files in a folder `src` are skipped, because they are parts of pages or
of tables that programs write. A page is checked only if another page links to it or if it is the index of a crate,
because the folder can contain pages of removed items.
"""

import re, subprocess, sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.anchors |= {value for name, value in attributes if name in ("id", "name")}
        self.links += [value for name, value in attributes if name in ("href", "src") and value]


class Markdown:
    """The links and the anchors of a Markdown file, as GitHub shows it."""

    def __init__(self, path):
        text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        headings = re.findall(r"^#+ +(.*?) *$", text, re.M)
        self.anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
        text = re.sub(r"`[^`]*`", "", text)
        self.links = re.findall(r"\]\(<?([^)>\s]+)", text)
        self.links += re.findall(r"^\[[^\]]+\]: +(\S+)", text, re.M)
        self.links += re.findall(r"(?:src|href)=\"([^\"]+)", text)


@cache
def read(path):
    return {".md": Markdown, ".html": Page}[path.suffix](path)


def check(path):
    """Returns the HTML pages that a file links to, and its dead links."""
    linked_pages, dead_links = [], []
    for link in read(path).links:
        url = urlsplit(link)
        if url.scheme or url.netloc:
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        # In pages of source code, a script adds the anchors of ranges of lines.
        has_anchors = target.suffix in (".md", ".html") and not target.name.endswith(".rs.html")
        must_have_anchor = url.fragment and has_anchors
        if not target.exists() or must_have_anchor and url.fragment not in read(target).anchors:
            dead_links.append(link)
        elif target.suffix == ".html":
            linked_pages.append(target)
    return linked_pages, dead_links


doc = Path(sys.argv[1]).resolve()
git_output = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True)
files = [Path(name).resolve() for name in git_output.stdout.split() if "src" not in Path(name).parts]
files += doc.glob("*/index.html")
known_files, failed_count = set(files), 0
for path in files:
    linked_pages, dead_links = check(path)
    files += dict.fromkeys(page for page in linked_pages if page not in known_files)
    known_files.update(linked_pages)
    for link in dead_links:
        print(f"{path}: dead link {link}")
    failed_count += bool(dead_links)
print(f"{len(files) - failed_count} passed, {failed_count} failed")
sys.exit(failed_count > 0)
