"""Scoop: a manifest for a bucket, with the digest of the release's program for Windows."""

import json
from pathlib import Path

from release import NAME, Release, sha256

CPUS = {"x86_64": "64bit", "aarch64": "arm64"}


def build(release: Release, out: Path) -> list[Path]:
    targets = release.of("scoop")
    if not targets:
        return []
    programs = {
        # What stands behind `#/` is the name under which Scoop saves the file.
        CPUS[target.arch]: {
            "url": f"{release.address(target.asset)}#/{target.program}",
            "hash": sha256(release.path(target)),
        }
        for target in targets
    }
    text = {
        "version": release.version,
        "description": release.description,
        "homepage": release.repository,
        "license": release.licence.replace(" OR ", "|"),
        "architecture": programs,
        "bin": targets[0].program,
        "checkver": "github",
    }
    path = out / f"{NAME}.json"
    path.write_text(json.dumps(text, indent=4) + "\n", encoding="utf-8")
    return [path]
