"""What a program needs of the system that runs it, read from the program itself."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from release import Problem, run

# Libraries that every distribution of the manylinux policies has.
EVERYWHERE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
LOADERS = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}

# Mach-O (`mach-o/loader.h`): the load commands that name the oldest macOS.
MACH_O_64 = 0xFEEDFACF
CPU_TYPES = {"x86_64": 0x01000007, "aarch64": 0x0100000C}
VERSION_MIN_MACOSX, BUILD_VERSION = 0x24, 0x32

# PE: the machines of the COFF header.
PE_MACHINES = {"x86_64": 0x8664, "aarch64": 0xAA64}


@dataclass(frozen=True)
class Needs:
    """What a Linux program needs; nothing, if it is static."""

    libraries: frozenset[str]
    glibc: tuple[int, int] | None


def linux(path: Path, arch: str) -> Needs:
    if MACHINES[arch] not in run("readelf", "--wide", "--file-header", str(path)):
        raise Problem(f"`{path}` is no Linux program for {arch}")
    loaded = "INTERP" in run("readelf", "--wide", "--program-headers", str(path))
    dynamic = run("readelf", "--wide", "--dynamic", str(path))
    libraries = frozenset(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) - LOADERS
    if not loaded and not libraries:
        return Needs(libraries, None)
    if libraries - EVERYWHERE:
        strange = ", ".join(sorted(libraries - EVERYWHERE))
        raise Problem(f"`{path}` needs {strange}, which not every Linux has: link it statically")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "--wide", "--version-info", str(path)))
    if not versions:
        raise Problem(f"`{path}` is linked with libraries, but not with glibc")
    return Needs(libraries, max((int(major), int(minor)) for major, minor in versions))


def macos(path: Path, arch: str) -> tuple[int, int]:
    """The oldest macOS that a Mach-O program runs on."""
    data = path.read_bytes()
    try:
        magic, cpu, _, _, commands = struct.unpack_from("<5I", data)
        if (magic, cpu) != (MACH_O_64, CPU_TYPES[arch]):
            raise Problem(f"`{path}` is no macOS program for {arch}")
        at = 32
        for _ in range(commands):
            command, size, first, second = struct.unpack_from("<4I", data, at)
            if command in (VERSION_MIN_MACOSX, BUILD_VERSION):
                # A build version names its platform first.
                version = second if command == BUILD_VERSION else first
                return version >> 16, version >> 8 & 0xFF
            at += size
    except struct.error:
        raise Problem(f"`{path}` ends within its load commands") from None
    raise Problem(f"`{path}` does not name the oldest macOS that it runs on")


def check_windows(path: Path, arch: str) -> None:
    data = path.read_bytes()
    at = struct.unpack_from("<I", data, 0x3C)[0] if len(data) > 0x40 else 0
    if data[:2] != b"MZ" or data[at : at + 6] != b"PE\0\0" + struct.pack("<H", PE_MACHINES[arch]):
        raise Problem(f"`{path}` is no Windows program for {arch}")
