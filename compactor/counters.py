"""Token counters by name: tiktoken over vocabularies that ship in the package, `chars4`, and ctok.

Nothing is downloaded (`tiktoken.get_encoding` would), and tiktoken and a vocabulary are loaded at
the first count, once. A count is a pure function of the text: it never raises on any str, lone
surrogates included; text that looks like a special token is text; huge texts are counted in
segments (`compactor/segments.py`). Counts are remembered by content, bounded in bytes. ctok counts
for Claude and is a package of its own: whoever asks for it without having it is told.
Specification: DESIGN section 3, Tokens; the files: `data/README.md`.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import struct
import sys
import threading
import unicodedata
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from compactor.core.count import Chars4, Counter
from compactor.core.errors import InternalError, PolicyError
from compactor.loop import shipped
from compactor.segments import segments

ENGINE = "unicode16"
"""Unicode tables of the engine's regex. Counts of tiktoken 0.13 and 0.14 are the same; a test
sweeps all code points, so that a release that counts otherwise is seen and gets another tag."""

MEMO_BYTES = 64 * 1024 * 1024
"""Memory that remembered texts may take, over all counters."""

MEMO_TEXT_CHARS = 64 * 1024
"""Texts longer than this are remembered by their sha256 and not kept alive."""

CTOK = "ctok"
"""The package that counts for Claude: an unofficial reconstruction, see docs/recordings.md."""

_ENTRY_BYTES = 250  # key, links and value of a remembered text, beside the text itself


class Vocabulary(NamedTuple):
    """What makes a tiktoken encoding.

    sha256: of the published `.tiktoken` file, which the compact file gives back byte for byte.
    pattern: how text falls into pieces; alternatives in order.
    special: tokens with a meaning of their own; never produced here.
    """

    name: str
    sha256: str
    pattern: tuple[str, ...]
    special: dict[str, int]


_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

O200K = Vocabulary(
    "o200k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ),
    {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
)

CL100K = Vocabulary(
    "cl100k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    (
        r"'(?i:[sdmt]|ll|ve|re)",
        r"[^\r\n\p{L}\p{N}]?+\p{L}++",
        r"\p{N}{1,3}+",
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s",
    ),
    {
        "<|endoftext|>": 100_257,
        "<|fim_prefix|>": 100_258,
        "<|fim_middle|>": 100_259,
        "<|fim_suffix|>": 100_260,
        "<|endofprompt|>": 100_276,
    },
)


class Remembered(Protocol):
    """Counts of texts that were counted in another run. Both may forget what they like."""

    def get(self, counter: str, text: str) -> int | None:
        """The count of a text by a counter's fingerprint; None when it is not known."""
        ...

    def put(self, counter: str, text: str, tokens: int) -> None:
        """Note a count."""
        ...


class Memo:
    """Counts by text, least recently used first to go. Thread-safe; O(1) beside the key.

    Args:
        limit_bytes: memory that the remembered texts may take.

    `behind` is asked for what is not in memory; None for nobody.
    """

    def __init__(self, limit_bytes: int = MEMO_BYTES) -> None:
        self.behind: Remembered | None = None
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str | bytes], tuple[int, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get_or(self, counter: str, text: str, count: Callable[[str], int]) -> int:
        """The remembered count of a text, else `count(text)`, remembered.

        Args:
            counter: fingerprint of whose count it is; counters never see each other's.
            text: what is counted.
            count: pure; it may run twice when two threads ask at once.
        """
        long = len(text) > MEMO_TEXT_CHARS
        content = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() if long else text
        key = (counter, content)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known[0]
        tokens = self._counted(counter, text, count)
        self._put(key, tokens, sys.getsizeof(content) + _ENTRY_BYTES)
        return tokens

    def _counted(self, counter: str, text: str, count: Callable[[str], int]) -> int:
        behind = self.behind
        known = behind.get(counter, text) if behind is not None else None
        if known is not None:
            return known
        tokens = count(text)
        if behind is not None:
            behind.put(counter, text, tokens)
        return tokens

    def _put(self, key: tuple[str, str | bytes], tokens: int, size: int) -> None:
        with self._lock:
            if key in self._known:
                return
            self._known[key] = (tokens, size)
            self.size_bytes += size
            while self.size_bytes > self.limit_bytes:
                _, (_, gone) = self._known.popitem(last=False)
                self.size_bytes -= gone


class Tiktoken:
    """Counts with a shipped vocabulary; see `Counter`. Cost: O(characters), some 12 MB/s.

    Args:
        vocabulary: of the encoding; read at the first count (about 0.3 s, 75 MB).
        memo: remembers counts; may be shared by counters.
    """

    def __init__(self, vocabulary: Vocabulary, memo: Memo) -> None:
        self.name = vocabulary.name
        self.fingerprint = f"{vocabulary.name}/{vocabulary.sha256[:16]}/{ENGINE}"
        self._vocabulary = vocabulary
        self._memo = memo
        self._lock = threading.Lock()
        self._encode: Callable[[str], list[int]] | None = None

    def count(self, text: str) -> int:
        """Tokens of any str; 0 for "". Remembered."""
        return self._memo.get_or(self.fingerprint, text, self._count) if text else 0

    def _count(self, text: str) -> int:
        encode = self._encode or self._load()
        return sum(len(encode(piece)) for piece in segments(_scalars(text)))

    def _load(self) -> Callable[[str], list[int]]:
        """The engine; the first caller builds it, the others wait."""
        with self._lock:
            if self._encode is None:
                import tiktoken

                encoding = tiktoken.Encoding(
                    self.name,
                    pat_str="|".join(self._vocabulary.pattern),
                    mergeable_ranks={token: i for i, token in enumerate(read_tokens(self.name))},
                    special_tokens=self._vocabulary.special,
                )
                self._encode = encoding.encode_ordinary
            return self._encode


class Ctok:
    """Counts as Claude does, with the package ctok; see `Counter`. Some 0.3 MB/s.

    Args:
        name: of the counter.
        version: of Claude, as ctok names the tokenizer's generation.
        frame: tokens that ctok adds for the message around a text.
        memo: remembers counts; may be shared by counters.
    """

    def __init__(self, name: str, version: str, frame: int, memo: Memo) -> None:
        self.name = name
        self._version = version
        self._frame = frame
        self._memo = memo
        self._token_count: Callable[[str, str], int] | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Its counts depend on the Unicode tables of Python, too."""
        from importlib.metadata import version  # what only those need who count so

        release = version(CTOK)
        return f"{self.name}/{CTOK}-{release}/unicode-{unicodedata.unidata_version}"

    def count(self, text: str) -> int:
        """Tokens of any str; 0 for "". Remembered."""
        return self._memo.get_or(self.fingerprint, text, self._count) if text else 0

    def _count(self, text: str) -> int:
        if self._token_count is None:
            self._token_count = importlib.import_module(CTOK).token_count
        return self._token_count(text, self._version) - self._frame


def read_tokens(name: str) -> list[bytes]:
    """The tokens of a shipped vocabulary, in the order of their ranks.

    Raises:
        InternalError: `internal.install`: the file is missing or damaged.
    """
    path = shipped(f"{name}.vocab")
    try:
        raw = zlib.decompress(path.read_bytes())
        (number,) = struct.unpack_from("<I", raw)
    except (OSError, zlib.error, struct.error) as error:
        raise InternalError(
            f"the vocabulary cannot be read: {error}",
            code="internal.install",
            path=str(path),
            hint="install the package again",
        ) from error
    ends = accumulate(raw[4 : 4 + number], initial=4 + number)
    return [raw[start:end] for start, end in pairwise(ends)]


def get(name: str) -> Counter:
    """The counter of a name; the same object every time. Loads nothing.

    Raises:
        PolicyError: `policy.range` for a name that is not in `KNOWN`; `policy.not_installed` for
            one that needs a package which is not there.
    """
    counter = _COUNTERS.get(name)
    if isinstance(counter, Ctok) and importlib.util.find_spec(CTOK) is None:
        raise PolicyError(
            f"the counter {name!r} needs the package {CTOK}, which is not installed",
            code="policy.not_installed",
            path="counter",
            hint="pip install 'transcript-compactor[claude]' (Python 3.12 or newer)",
        )
    if counter is None:
        near = difflib.get_close_matches(str(name), KNOWN, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise PolicyError(
            f"unknown counter {name!r}",
            code="policy.range",
            path="counter",
            hint=f"{meant}known: {', '.join(KNOWN)}",
        )
    return counter


@contextmanager
def remembering(behind: Remembered) -> Iterator[None]:
    """Ask and tell a memory of other runs about every text that this process counts."""
    before, _MEMO.behind = _MEMO.behind, behind
    try:
        yield
    finally:
        _MEMO.behind = before


def _scalars(text: str) -> str:
    """The text as the engine sees it: surrogate pairs joined, lone surrogates U+FFFD.

    Done once and before cutting, so that a cut never parts a pair.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


_MEMO = Memo()
_COUNTERS: dict[str, Counter] = {
    "o200k_base": Tiktoken(O200K, _MEMO),
    "cl100k_base": Tiktoken(CL100K, _MEMO),
    "chars4": Chars4(),
    "claude_v3": Ctok("claude_v3", "3.0", 7, _MEMO),
    "claude_v4_7": Ctok("claude_v4_7", "4.8", 6, _MEMO),
}
KNOWN = tuple(_COUNTERS)
NAMES = tuple(name for name, counter in _COUNTERS.items() if not isinstance(counter, Ctok))
"""Those that need no other package."""
