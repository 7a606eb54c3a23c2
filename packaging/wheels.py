"""PyPI: wheels that hold a program of the release, byte for byte.

maturin builds what it packages: it has no option for a program that is there already, and the macOS and Linux programs
come from several machines. So it makes the source package and what `pip install .` builds (pyproject.toml), and these
wheels are made here: a wheel is a zip file with four files of metadata. `.ci/packages` compares the metadata with those
of maturin.
"""

import base64
import hashlib
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import programs
from release import NAME, ROOT, Release, Target

# The first versions of the two families that installers know by numbers. A static program needs none of them.
ANY_LINUX = "manylinux_2_17_{arch}.manylinux2014_{arch}.musllinux_1_1_{arch}"
MODULE = NAME.replace("-", "_")


def build(release: Release, out: Path) -> list[Path]:
    return [wheel(release, target, out) for target in release.of("pypi")]


def platform(path: Path, target: Target) -> str:
    """The oldest system that the program runs on, in the words of PEP 425, 600 and 656."""
    match target.system:
        case "linux-gnu" | "linux-musl":
            needed = programs.linux(path, target.arch).glibc
            if needed is None:
                return ANY_LINUX.format(arch=target.arch)
            return f"manylinux_{needed[0]}_{needed[1]}_{target.arch}"
        case "darwin":
            major, minor = programs.macos(path, target.arch)
            # From 11 on there is one tag for each major version.
            arch = "arm64" if target.arch == "aarch64" else target.arch
            return f"macosx_{major}_{minor if major < 11 else 0}_{arch}"
        case _:
            programs.check_windows(path, target.arch)
            return {"x86_64": "win_amd64", "aarch64": "win_arm64"}[target.arch]


def metadata(release: Release) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {release.version}",
        f"Summary: {release.description}",
        f"Keywords: {','.join(release.keywords)}",
        f"License-Expression: {release.licence}",
        "License-File: LICENSE-APACHE",
        "License-File: LICENSE-MIT",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM",
        f"Project-URL: Source Code, {release.repository}",
    ]
    return "\n".join(lines) + "\n\n" + release.readme()


def wheel(release: Release, target: Target, out: Path) -> Path:
    tags = platform(release.path(target), target)
    described = "Wheel-Version: 1.0\nGenerator: mcp-protector packaging\nRoot-Is-Purelib: false\n"
    described += "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    info = f"{MODULE}-{release.version}.dist-info"
    files = {
        f"{MODULE}-{release.version}.data/scripts/{target.program}": release.path(target).read_bytes(),
        f"{info}/METADATA": metadata(release).encode(),
        f"{info}/WHEEL": described.encode(),
    }
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    path = out / f"{MODULE}-{release.version}-py3-none-{tags}.whl"
    time = datetime.fromtimestamp(release.time, UTC).timetuple()[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, time)
            entry.create_system = 3
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def record(files: dict[str, bytes], own: str) -> bytes:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{own},,\n"]).encode()
