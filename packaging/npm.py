"""npm: one package for each system, and `mcp-protector`, which starts the program of the right one."""

import json
import shutil
import tempfile
from pathlib import Path

import programs
from release import NAME, ROOT, Release, Target, run

# In npm's words.
SYSTEMS = {
    "linux-gnu": {"os": ["linux"], "libc": ["glibc"]},
    "linux-musl": {"os": ["linux"], "libc": ["musl"]},
    "darwin": {"os": ["darwin"]},
    "windows": {"os": ["win32"]},
}
CPUS = {"x86_64": "x64", "aarch64": "arm64"}


def build(release: Release, out: Path) -> list[Path]:
    packed = [program_package(release, target, out) for target in release.of("npm")]
    return [*packed, main_package(release, out)]


def package_name(target: Target) -> str:
    musl = "-musl" if target.system == "linux-musl" else ""
    return f"@{NAME}/{SYSTEMS[target.system]['os'][0]}-{CPUS[target.arch]}{musl}"


def manifest(release: Release, name: str, description: str) -> dict:
    return {
        "name": name,
        "version": release.version,
        "description": description,
        "license": release.licence,
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
    }


def program_package(release: Release, target: Target, out: Path) -> Path:
    text = manifest(release, package_name(target), f"The program of `{NAME}` for {target.triple}.")
    text |= SYSTEMS[target.system] | {"cpu": [CPUS[target.arch]]}
    text["preferUnplugged"] = True
    if target.system == "linux-gnu" and (glibc := programs.linux(release.path(target), target.arch).glibc):
        # For the launcher: npm compares no versions of C libraries.
        text["glibc"] = ".".join(map(str, glibc))
    with tempfile.TemporaryDirectory() as directory:
        stage = Path(directory)
        (stage / "bin").mkdir()
        program = stage / "bin" / target.program
        shutil.copy(release.path(target), program)
        program.chmod(0o755)
        (stage / "README.md").write_text(f"{text['description']} Install `{NAME}`, which brings it.\n", encoding="utf-8")
        return pack(stage, text, out)


def main_package(release: Release, out: Path) -> Path:
    text = manifest(release, NAME, release.description)
    text["keywords"] = list(release.keywords)
    text["bin"] = {NAME: "launcher.js"}
    text["engines"] = {"node": ">=18"}
    # All of them, also those whose programs are not in this directory: the package is the same everywhere.
    every = [package_name(target) for target in release.targets if "npm" in target.packages]
    text["optionalDependencies"] = {name: release.version for name in every}
    with tempfile.TemporaryDirectory() as directory:
        stage = Path(directory)
        shutil.copy(ROOT / "packaging/npm/launcher.js", stage)
        (stage / "launcher.js").chmod(0o755)
        (stage / "README.md").write_text(release.readme(), encoding="utf-8")
        return pack(stage, text, out)


def pack(stage: Path, text: dict, out: Path) -> Path:
    """Packs a directory as npm does, which sorts the entries and gives all of them one time."""
    (stage / "package.json").write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / name, stage)
    words = ["--json", "--ignore-scripts", "--offline", "--pack-destination", str(out.resolve())]
    said = json.loads(run("npm", "pack", *words, cwd=stage))
    return out / said[0]["filename"]
