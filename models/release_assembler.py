"""Puts releases together from the records of the models topic, whatever their order, and refuses damaged ones."""

import hashlib
from dataclasses import dataclass, field

from pulsetrain.models.release import Release
from pulsetrain.schemas.model_release import (
    CHUNK_BYTES,
    KEPT_VERSIONS,
    MAX_PAYLOAD_BYTES,
    ModelChunk,
    ModelManifest,
)

MAX_CHUNKS = -(-MAX_PAYLOAD_BYTES // CHUNK_BYTES)
MAX_VERSIONS_PER_NAME = KEPT_VERSIONS + 1
"""Those that the pointer names, and the one that is on its way."""

MAX_VERSIONS = 64 * MAX_VERSIONS_PER_NAME
MAX_PENDING_BYTES = 2 * MAX_PAYLOAD_BYTES
"""Chunks that may wait for the rest of their releases. Publishing sends one release after another."""


@dataclass(frozen=True, slots=True)
class RejectedRelease:
    """A version that can't be used, or a record of it that was ignored, and why."""

    name: str
    version: int
    reason: str


@dataclass(slots=True)
class _Version:
    """What has arrived of one version. Once it is complete only the digests of its chunks are kept."""

    manifest: ModelManifest | None = None
    chunks: dict[int, bytes] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    is_complete: bool = False

    @property
    def pending_bytes(self) -> int:
        return sum(map(len, self.chunks.values()))


class ReleaseAssembler:
    """Collects manifests and chunks until a release is whole; of two records with one key the later one holds.

    Memory is bounded: `MAX_PENDING_BYTES` of chunks and `MAX_VERSIONS_PER_NAME` versions of each name. What has to
    give way, the least recently touched release or the lowest version, is reported as rejected if it was incomplete.
    A complete version never changes any more.
    """

    def __init__(self) -> None:
        self._versions: dict[tuple[str, int], _Version] = {}

    def add(self, record: ModelManifest | ModelChunk) -> list[Release | RejectedRelease]:
        """Takes one record; returns the release that it completes, and every version that is refused for it."""
        key = (record.name, record.version)
        if isinstance(record, ModelChunk) and record.index >= MAX_CHUNKS:
            return [RejectedRelease(*key, f"chunk {record.index} is beyond the {MAX_CHUNKS} chunks of a release")]
        version = self._versions.pop(key, None) or _Version()
        self._versions[key] = version
        outcomes: list[Release | RejectedRelease] = []
        if version.is_complete:
            if self._contradicts(version, record):
                outcomes.append(RejectedRelease(*key, f"{record.key} came again with other content, which is ignored"))
        elif self._take(version, record):
            outcomes += self._assembled(version)
        return outcomes + self._make_room()

    def forget(self, name: str, version: int) -> None:
        """Drops what is held of a version, e.g. because its records were deleted."""
        self._versions.pop((name, version), None)

    def missing(self, name: str, version: int) -> str | None:
        """What a version still lacks, as a sentence; None once it is complete."""
        held = self._versions.get((name, version))
        if held is None:
            return "nothing of it has arrived"
        if held.is_complete:
            return None
        if held.manifest is None:
            return f"its manifest has not arrived, {len(held.chunks)} chunks have"
        absent = [index for index in range(held.manifest.chunk_count) if index not in held.chunks]
        if not absent:
            return _damage(held.manifest, held.chunks)
        shown = ", ".join(map(str, absent[:5])) + (" ..." if len(absent) > 5 else "")
        return f"{len(absent)} of its {held.manifest.chunk_count} chunks have not arrived: {shown}"

    @staticmethod
    def _contradicts(version: _Version, record: ModelManifest | ModelChunk) -> bool:
        if isinstance(record, ModelManifest):
            return record != version.manifest
        return version.digests.get(record.index) != hashlib.sha256(record.data).digest()

    @staticmethod
    def _take(version: _Version, record: ModelManifest | ModelChunk) -> bool:
        """Keeps the record; False where it says what is known already."""
        if isinstance(record, ModelManifest):
            is_new = record != version.manifest
            version.manifest = record
            return is_new
        is_new = record.data != version.chunks.get(record.index)
        version.chunks[record.index] = record.data
        return is_new

    @staticmethod
    def _assembled(version: _Version) -> list[Release | RejectedRelease]:
        manifest = version.manifest
        if manifest is None or any(index not in version.chunks for index in range(manifest.chunk_count)):
            return []
        damage = _damage(manifest, version.chunks)
        if damage:
            return [RejectedRelease(manifest.name, manifest.version, damage)]
        payload = b"".join(version.chunks[index] for index in range(manifest.chunk_count))
        version.digests = {index: hashlib.sha256(chunk).digest() for index, chunk in version.chunks.items()}
        version.chunks = {}
        version.is_complete = True
        return [Release(manifest, payload[: manifest.graph_bytes], payload[manifest.graph_bytes :])]

    def _make_room(self) -> list[Release | RejectedRelease]:
        """Drops versions until the bounds hold; the newest arrival stands last and always fits."""
        dropped: list[Release | RejectedRelease] = []
        newest_name = next(reversed(self._versions))[0]
        numbers = sorted(number for name, number in self._versions if name == newest_name)
        for number in numbers[:-MAX_VERSIONS_PER_NAME]:
            dropped += self._drop((newest_name, number), f"only {MAX_VERSIONS_PER_NAME} versions of a model are kept")
        if len(self._versions) > MAX_VERSIONS:
            dropped += self._drop(next(iter(self._versions)), f"only {MAX_VERSIONS} versions are kept")
        pending = sum(version.pending_bytes for version in self._versions.values())
        for key, version in list(self._versions.items()):
            if pending <= MAX_PENDING_BYTES:
                break
            if version.chunks:
                pending -= version.pending_bytes
                dropped += self._drop(key, f"incomplete releases had more than {MAX_PENDING_BYTES} bytes together")
        return dropped

    def _drop(self, key: tuple[str, int], reason: str) -> list[RejectedRelease]:
        version = self._versions.pop(key)
        return [] if version.is_complete else [RejectedRelease(*key, f"dropped before it was complete: {reason}")]


def _damage(manifest: ModelManifest, chunks: dict[int, bytes]) -> str | None:
    """What is wrong with the payload of a manifest whose chunks are all there; None where it is as described."""
    sizes = [len(chunks[index]) for index in range(manifest.chunk_count)]
    payload_bytes = manifest.graph_bytes + manifest.state_bytes
    if sum(sizes) != payload_bytes:
        return f"its chunks have {sum(sizes)} bytes where its manifest says {payload_bytes}"
    digest = hashlib.sha256()
    for index in range(manifest.chunk_count):
        digest.update(chunks[index])
    if digest.hexdigest() != manifest.sha256:
        return f"its payload has sha256 {digest.hexdigest()} where its manifest says {manifest.sha256}"
    return None
