"""Homebrew: a formula for a tap, with the digests of the release's programs."""

from pathlib import Path

from release import NAME, ROOT, Release, Target, sha256

SYSTEMS = {"darwin": "macos", "linux-musl": "linux"}
CPUS = {"x86_64": "intel", "aarch64": "arm"}


def build(release: Release, out: Path) -> list[Path]:
    targets = release.of("homebrew")
    if not targets:
        return []
    text = (ROOT / "packaging/homebrew" / f"{NAME}.rb").read_text(encoding="utf-8")
    programs = "".join(block(release, target) for target in targets)
    for name, value in {"REPOSITORY": release.repository, "VERSION": release.version, "PROGRAMS": programs}.items():
        text = text.replace(f"@{name}@", value)
    path = out / f"{NAME}.rb"
    path.write_text(text, encoding="utf-8")
    return [path]


def block(release: Release, target: Target) -> str:
    return f"""
  on_{SYSTEMS[target.system]} do
    on_{CPUS[target.arch]} do
      url "{release.address(target.asset)}"
      sha256 "{sha256(release.path(target))}"
    end
  end
"""
