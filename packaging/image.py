"""A container image that has the static program alone: an OCI image layout in a tar file, for all architectures.

It is written here, since no tool that makes images without an engine writes one index for several architectures. What
it holds is in the image specification of OCI 1.1. `.ci/packages` reads it with skopeo and unpacks it with umoci.
"""

import gzip
import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import programs
from release import NAME, ROOT, Problem, Release, Target

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image"
# Not root, and no user of a host.
USER = 65532


def build(release: Release, out: Path) -> list[Path]:
    targets = release.of("image")
    if not targets:
        return []
    blobs: dict[str, bytes] = {}
    manifests = [manifest(release, target, blobs) for target in targets]
    whole = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": manifests}
    whole["annotations"] = labels(release)
    named = add(blobs, f"{MEDIA}.index.v1+json", encoded(whole))
    named["annotations"] = {"org.opencontainers.image.ref.name": release.version}
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [named]}
    files = {"oci-layout": encoded({"imageLayoutVersion": "1.0.0"}), "index.json": encoded(index)}
    files |= {f"blobs/sha256/{digest}": data for digest, data in sorted(blobs.items())}
    path = out / f"{NAME}-{release.version}.oci.tar"
    entries = [(name, 0o644, data) for name, data in files.items()]
    path.write_bytes(archive(release, [("blobs/", 0o755, b""), ("blobs/sha256/", 0o755, b""), *entries]))
    return [path]


def manifest(release: Release, target: Target, blobs: dict[str, bytes]) -> dict:
    if programs.linux(release.path(target), target.arch).glibc:
        raise Problem(f"`{release.path(target)}` is not static: an image has no libraries")
    files = [
        (NAME, 0o755, release.path(target).read_bytes()),
        ("licenses/", 0o755, b""),
        *((f"licenses/{name}", 0o644, (ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")),
        # For a file system of its own, if the root is read-only.
        ("tmp/", 0o1777, b""),
    ]
    layer = archive(release, files)
    platform = {"architecture": ARCHITECTURES[target.arch], "os": "linux"}
    created = datetime.fromtimestamp(release.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "created": created,
        **platform,
        "config": {"User": f"{USER}:{USER}", "Entrypoint": [f"/{NAME}"], "WorkingDir": "/", "Labels": labels(release)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "comment": "packaging/build"}],
    }
    packed = gzip.compress(layer, mtime=0)
    text = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": add(blobs, f"{MEDIA}.config.v1+json", encoded(config)),
        "layers": [add(blobs, f"{MEDIA}.layer.v1.tar+gzip", packed)],
    }
    return add(blobs, f"{MEDIA}.manifest.v1+json", encoded(text)) | {"platform": platform}


def labels(release: Release) -> dict[str, str]:
    words = {
        "title": NAME,
        "description": release.description,
        "version": release.version,
        "revision": release.commit,
        "licenses": release.licence,
        "source": release.repository,
    }
    return {f"org.opencontainers.image.{word}": value for word, value in words.items()}


def add(blobs: dict[str, bytes], media: str, data: bytes) -> dict:
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}


def encoded(value: dict) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def archive(release: Release, entries: list[tuple[str, int, bytes]]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, mode, data in entries:
            entry = tarfile.TarInfo(name.rstrip("/"))
            entry.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            entry.mode, entry.size, entry.mtime = mode, len(data), release.time
            tar.addfile(entry, io.BytesIO(data))
    return written.getvalue()
