"""What is read from programs. Run by `.ci/packages`."""

import platform
import struct
import tempfile
import unittest
from pathlib import Path

import programs
import wheels
from release import Problem, Target


def mach_o(*commands: bytes, cpu: int = 0x0100000C) -> bytes:
    return struct.pack("<8I", 0xFEEDFACF, cpu, 0, 2, len(commands), sum(map(len, commands)), 0, 0) + b"".join(commands)


# A command that names no version, 10.12 as in old programs, and 11.3 as in new ones.
OTHER = struct.pack("<4I", 0x19, 16, 7, 7)
OLD = struct.pack("<4I", 0x24, 16, 10 << 16 | 12 << 8, 0)
NEW = struct.pack("<6I", 0x32, 24, 1, 11 << 16 | 3 << 8, 0, 0)


def pe(machine: int) -> bytes:
    head = b"MZ" + bytes(0x3A) + struct.pack("<I", 0x80) + bytes(0x40)
    return head + b"PE\0\0" + struct.pack("<H", machine) + bytes(64)


class Programs(unittest.TestCase):
    def tag(self, triple: str, data: bytes) -> str:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "program"
            path.write_bytes(data)
            return wheels.platform(path, Target(triple, ()))

    def test_a_tag_names_the_oldest_system(self):
        for triple, data, expected in [
            ("aarch64-apple-darwin", mach_o(OTHER, NEW), "macosx_11_0_arm64"),
            ("aarch64-apple-darwin", mach_o(OLD), "macosx_10_12_arm64"),
            ("x86_64-apple-darwin", mach_o(OLD, cpu=0x01000007), "macosx_10_12_x86_64"),
            ("x86_64-pc-windows-msvc", pe(0x8664), "win_amd64"),
        ]:
            with self.subTest(triple=triple):
                self.assertEqual(self.tag(triple, data), expected)

    def test_a_program_of_another_kind_is_refused(self):
        for triple, data, problem in [
            ("x86_64-apple-darwin", mach_o(NEW), "no macOS program for x86_64"),
            ("aarch64-apple-darwin", mach_o(OTHER), "does not name the oldest macOS"),
            ("aarch64-apple-darwin", mach_o(OTHER, NEW)[:40], "ends within"),
            ("aarch64-apple-darwin", b"", "ends within"),
            ("x86_64-pc-windows-msvc", pe(0xAA64), "no Windows program"),
            ("x86_64-pc-windows-msvc", b"MZ", "no Windows program"),
            ("x86_64-unknown-linux-gnu", pe(0x8664), "readelf"),
        ]:
            with self.subTest(problem=problem), self.assertRaisesRegex(Problem, problem):
                self.tag(triple, data)

    def test_a_linux_program_says_what_it_needs(self):
        needs = programs.linux(Path("/bin/sh"), platform.machine())
        self.assertIn("libc.so.6", needs.libraries)
        self.assertGreaterEqual(needs.glibc, (2, 17))
