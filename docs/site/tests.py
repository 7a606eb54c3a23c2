"""What `check.py` and `pages.py` find."""

import unittest

import check
import pages


class Checks(unittest.TestCase):
    def test_a_link_leads_to_a_page_an_anchor_or_a_file(self):
        site = {
            "index.html": check.Page('<nav><a href="a/b.html">b</a><a href=".">top</a></nav>'),
            "a/b.html": check.Page('<h2 id="x"></h2><a href="#x">x</a><a href="../index.html">up</a>'),
        }
        self.assertEqual(check.dead_links(site, {"index.html", "a/b.html"}), [])
        self.assertEqual(check.unreachable(site), [])
        for target in ["gone.html", "#gone", "../index.html#gone", "../p.svg", "p.svg#x"]:
            site["a/b.html"] = check.Page(f'<a href="{target}">dead</a>')
            self.assertEqual(check.dead_links(site, {"a/p.svg"}), [f"a/b.html: `{target}` leads nowhere"])
        site["a/b.html"] = check.Page('<img src="p.svg"><a href="https://example.com/x">web</a>')
        self.assertEqual(check.dead_links(site, {"a/p.svg"}), [])

    def test_a_page_without_a_place_in_the_navigation_is_found(self):
        site = {"index.html": check.Page('<nav><a href="index.html"></a></nav><a href="b.html"></a>')}
        site["b.html"] = check.Page("")
        self.assertEqual(check.unreachable(site), ["b.html: the navigation does not lead here"])

    def test_what_is_left_of_markdown_is_found(self):
        for text, left in [("a list:\n- one", 1), ("[a](b)", 1), ("a \\| b", 1), ("**a**", 1), ("a - b", 0)]:
            for tag, found in [("p", left), ("code", 0), ("pre", 0)]:
                page = check.Page(f"<{tag}>{text}</{tag}>")
                self.assertEqual(len(check.left_over({"p.html": page})), found, (tag, text))

    def test_a_search_finds_the_page_of_a_word_and_no_page_of_another(self):
        index = {"items": [{"location": "a.html#x", "title": "Ports", "text": "port and host"}]}
        self.assertEqual(check.not_found(index, {"port": "a.html", "unknown": None}), [])
        self.assertEqual(len(check.not_found(index, {"port": "b.html", "host": None})), 2)


class Links(unittest.TestCase):
    def check(self, page, target, expected, problems=0):
        source = pages.Source()
        self.assertEqual(source.link(page, target), expected.format(tree=source.tree, tag=source.tag))
        self.assertEqual(len(source.problems), problems)

    def test_a_link_leads_to_the_site_or_to_the_repository_at_the_tag(self):
        self.check("README.md", "docs/http.md#responses", "http.md#responses")
        self.check("docs/decisions/0001-wire-layer.md", "../http.md", "../http.md")
        self.check("docs/http.md", "../policies/starter/README.md", "packs/starter.md")
        self.check("policies/starter/README.md", "../../README.md", "../index.md")
        self.check("policies/starter/README.md", "gate.toml", "{tree}/blob/{tag}/policies/starter/gate.toml")
        self.check("README.md", "docs/decisions", "{tree}/tree/{tag}/docs/decisions")
        self.check("docs/http.md", "schema/audit.schema.json", "schema/audit.schema.json")
        self.check("docs/http.md", "#responses", "#responses")
        self.check("docs/http.md", "https://example.com/a", "https://example.com/a")

    def test_a_link_that_leads_nowhere_is_found(self):
        self.check("docs/http.md", "gone.md", "{tree}/blob/{tag}/docs/gone.md", problems=1)
        self.check("docs/http.md", "http://example.com", "http://example.com", problems=1)
        self.check("docs/http.md", "https://nowhere", "https://nowhere", problems=1)


unittest.main(verbosity=0)
