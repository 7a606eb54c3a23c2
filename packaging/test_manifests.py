"""The manifests of a release that has a program for every target. Run by `.ci/packages`."""

import hashlib
import json
import re
import tempfile
import unittest
from pathlib import Path

import homebrew
import release
import scoop


class Manifests(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name)
        first = release.Target("x86_64-unknown-linux-gnu", ())
        (self.place / first.asset).write_text(first.triple)
        self.release = release.read(self.place)
        for target in self.release.targets:
            (self.place / target.asset).write_text(target.triple)

    def expected(self, package: str) -> set[tuple[str, str]]:
        """Address and digest of each program that PACKAGE downloads."""
        found = {
            (self.release.address(target.asset), hashlib.sha256(target.triple.encode()).hexdigest())
            for target in self.release.targets
            if package in target.packages
        }
        self.assertTrue(found)
        return found

    def test_scoop_downloads_the_programs_for_windows(self):
        [path] = scoop.build(self.release, self.place)
        manifest = json.loads(path.read_text())
        programs = manifest["architecture"].values()
        self.assertEqual({(it["url"].split("#")[0], it["hash"]) for it in programs}, self.expected("scoop"))
        self.assertEqual({it["url"].split("#/")[1] for it in programs}, {manifest["bin"]})
        self.assertEqual(manifest["version"], self.release.version)

    def test_homebrew_downloads_the_program_of_each_system(self):
        [path] = homebrew.build(self.release, self.place)
        blocks = re.findall(
            r'on_(macos|linux) do\n    on_(intel|arm) do\n      url "(.*)"\n      sha256 "(.*)"', path.read_text()
        )
        self.assertEqual({(url, digest) for _, _, url, digest in blocks}, self.expected("homebrew"))
        for system, cpu, url, _ in blocks:
            self.assertIn({"macos": "darwin", "linux": "linux-musl"}[system], url)
            self.assertIn({"intel": "x86_64", "arm": "aarch64"}[cpu], url)
