"""The release that is packaged: what Cargo.toml, targets.toml and the last commit say of it, and its programs."""

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "mcp-protector"


class Problem(Exception):
    """Says what is wrong, and what to do."""


@dataclass(frozen=True)
class Target:
    triple: str
    packages: tuple[str, ...]

    @property
    def arch(self) -> str:
        return self.triple.split("-")[0]

    @property
    def system(self) -> str:
        """`linux-gnu`, `linux-musl`, `darwin` or `windows`."""
        for system in ("linux-gnu", "linux-musl", "darwin", "windows"):
            if system in self.triple:
                return system
        raise Problem(f"packaging/targets.toml: no package knows the system of `{self.triple}`")

    @property
    def program(self) -> str:
        return f"{NAME}.exe" if self.system == "windows" else NAME

    @property
    def asset(self) -> str:
        return f"{NAME}-{self.triple}" + (".exe" if self.system == "windows" else "")


@dataclass(frozen=True)
class Release:
    version: str
    description: str
    licence: str
    repository: str
    keywords: tuple[str, ...]
    # Of the last commit: the time of every file in a package.
    time: int
    commit: str
    assets: Path
    targets: tuple[Target, ...]

    def path(self, target: Target) -> Path:
        return self.assets / target.asset

    def of(self, package: str) -> list[Target]:
        """The targets that PACKAGE holds and whose programs are there."""
        return [target for target in self.targets if package in target.packages and self.path(target).is_file()]

    def address(self, asset: str) -> str:
        return f"{self.repository}/releases/download/v{self.version}/{asset}"

    def readme(self) -> str:
        """The README, with links that lead to the repository from everywhere."""
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        return re.sub(r"\]\((?!https?:|#)", f"]({self.repository}/blob/v{self.version}/", text)


def read(assets: Path) -> Release:
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    if not re.fullmatch(r"\d+\.\d+\.\d+", package["version"]):
        raise Problem(f"Cargo.toml: the registries spell versions like `{package['version']}` in several ways: use X.Y.Z")
    listed = tomllib.loads((ROOT / "packaging/targets.toml").read_text(encoding="utf-8"))["targets"]
    targets = tuple(Target(target["triple"], tuple(target["packages"])) for target in listed)
    release = Release(
        version=package["version"],
        description=package["description"],
        licence=package["license"],
        repository=package["repository"],
        keywords=tuple(package["keywords"]),
        time=int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")),
        commit=git("rev-parse", "HEAD"),
        assets=assets,
        targets=targets,
    )
    if not any(release.path(target).is_file() for target in targets):
        names = ", ".join(target.asset for target in targets)
        raise Problem(f"`{assets}` has no program of a release. It must have one of: {names}")
    return release


def git(*words: str) -> str:
    return run("git", "-C", str(ROOT), *words).strip()


def run(*words: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """What a tool prints; a tool that is missing or fails is a problem."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(env or {})}, cwd=cwd)
    except FileNotFoundError:
        raise Problem(f"`{words[0]}` is not installed") from None
    if done.returncode != 0:
        raise Problem(f"`{' '.join(words)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def explain(problem: Problem) -> None:
    print(f"packaging: {problem}", file=sys.stderr)
    sys.exit(1)
