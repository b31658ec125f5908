"""What is known of a result since it was inserted: its id, the file it shows, what it stands for.

Facts are the journal's, never read out of a body: a bracket in a result's text decides nothing.
Specification: DESIGN sections 6 and 7, seed 000.
"""

from __future__ import annotations

import hashlib

import msgspec


def insertion_key(call_id: str, body: str) -> str:
    """What an inserted result is known by when it comes back in a request: 32 hex digits.

    Args:
        call_id: "" where the harness did not say it.
        body: the text that the session gave, its bracket included.
    """
    digest = hashlib.sha256(f"{len(call_id)}:{call_id}".encode("utf-8", "surrogatepass"))
    digest.update(body.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hygiene facts of one inserted result.

    number: its number in the session, from 1; shown as an id, `#0012`.
    kind: `result`, `read`, `stub` (an unchanged read again), `same` (the same search again), `edit`
        or `recall`.
    bracket: characters of the bracket that its text begins with.
    path: of the file, as the call gave it; resolved: what identifies the file.
    first, last, total: the lines shown and how many the file has, from 1; all 0 for an empty file.
    sha: of the file's content, SHA-256 in hex.
    target: number of the result that a `stub` or `same` points at.
    same_key: identity of call and text, for what is told only once.
    root, root_seq: number or seq of the original that a `recall` shows.
    failed: the call failed.
    files: what identifies each file that an edit of several changed.
    """

    number: int
    kind: str
    bracket: int
    path: str = ""
    resolved: str = ""
    first: int = 0
    last: int = 0
    total: int = 0
    sha: str = ""
    target: int = 0
    same_key: str = ""
    root: int = 0
    root_seq: int | None = None
    failed: bool = False
    files: tuple[str, ...] = ()

    @property
    def is_stub(self) -> bool:
        return bool(self.target)
