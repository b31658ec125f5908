"""What is said of a file when it is read: seed 000 section 1, DESIGN section 7."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compactor.core import hygiene
from compactor.core.errors import InputError
from compactor.core.facts import Facts
from tests.hygiene_kit import ABC, Hand, numbered, sha_of


def test_a_read_names_path_lines_length_and_the_beginning_of_the_hash() -> None:
    content = "import …\n" + numbered(2, 340)
    output = "".join(f"{n}: {line}\n" for n, line in enumerate(content.split("\n")[:200], 1))
    facts = {"first": 1, "last": 200, "total_lines": 340}
    inserted = Hand(0x12).read("src/app.ts", content, output=output, read=facts)
    sha = sha_of(content)
    bracket = f"[#0012 src/app.ts lines 1-200 of 340 sha {sha[:8]}]"
    assert inserted.shown == f"{bracket}\n{output}"
    assert inserted.facts == Facts(
        0x12, "read", len(bracket), "src/app.ts", "/p/src/app.ts", 1, 200, 340, sha
    )


def test_an_empty_file_is_said_to_be_empty() -> None:
    inserted = Hand(0x13).read("notes.txt", "")
    assert inserted.shown == "[#0013 notes.txt empty sha e3b0c442]"
    assert inserted.facts == Facts(
        0x13, "read", len(inserted.body), "notes.txt", "/p/notes.txt", sha=sha_of("")
    )


def test_the_hash_is_over_the_bytes_whatever_they_mean() -> None:
    data = b"caf\xe9\n"
    shown = Hand().read("latin.txt", data).shown
    assert shown == f"[#0001 latin.txt lines 1-1 of 1 sha {sha_of(data)[:8]}]\n1: caf\ufffd"
    escaped = data.decode("utf-8", "surrogateescape")
    assert Hand().read("latin.txt", escaped).shown == shown


def test_the_path_is_the_calls_and_the_file_is_the_resolved_one() -> None:
    hand = Hand()
    hand.read("a.txt", ABC)
    again = hand.read("./x/../a.txt", ABC, read={"resolved": "/p/a.txt"})
    assert again.shown == (
        "[#0002 ./x/../a.txt lines 1-3 of 3 sha 4fdbc441] "
        "Unchanged since #0001, which already shows lines 1-3."
    )
    other = hand.read("a.txt", ABC, read={"resolved": "/q/a.txt"})
    assert other.facts.kind == "read"


# the window, and what the session derives


def test_the_session_renders_the_lines_that_a_read_asks_for() -> None:
    content = numbered(1, 3000)
    whole, part = Hand().read("a", content), Hand().read("a", content, offset=2990, limit=5)
    sha = sha_of(content)[:8]
    assert whole.stored == "\n".join(f"{n}: line {n}" for n in range(1, 2001))
    assert whole.body == f"[#0001 a lines 1-2000 of 3000 sha {sha}]\n{whole.stored}"
    assert part.stored == "\n".join(f"{n}: line {n}" for n in range(2990, 2995))
    assert part.body == f"[#0001 a lines 2990-2994 of 3000 sha {sha}]\n{part.stored}"


def test_what_the_session_renders_is_a_window_whatever_the_facts_say() -> None:
    facts = {"first": 11, "last": 9000, "total_lines": 7}
    read = Hand().read("a", numbered(1, 9000), read=facts).facts
    assert (read.first, read.last, read.total) == (11, 2010, 9000)


def test_lines_end_at_newlines_and_at_nothing_else() -> None:
    shown = Hand().read("a", "a\r\nb\rc\x0b\x0c\x85\u2028d\n\ne").stored
    assert shown == "1: a\n2: b\rc\x0b\x0c\x85\u2028d\n3: \n4: e"


@pytest.mark.parametrize(
    ("tool", "arguments", "lines"),
    [
        ("read", {"path": "a"}, (1, 50)),
        ("read", {"path": "a", "offset": 10}, (10, 50)),
        ("read", {"path": "a", "offset": 10, "limit": 5}, (10, 14)),
        ("read", {"path": "a", "offset": 0, "limit": 5}, (1, 5)),
        ("read", {"path": "a", "limit": 0}, (1, 50)),
        ("read", {"path": "a", "offset": 48, "limit": 500}, (48, 50)),
        ("mcp__fs__read", {"path": "a", "offset": 10, "limit": 5}, (10, 14)),
        ("view", {"path": "a", "view_range": [5, -1]}, (5, 50)),
        ("view", {"path": "a", "view_range": [5, 7]}, (5, 7)),
        ("view", {"file_path": "a", "offset": 10, "limit": 5}, (11, 15)),
        ("read_file", {"path": "a", "start_line": 5, "end_line": 7}, (5, 7)),
        ("Read", {"path": "a", "line_offset": -10}, (41, 50)),
        ("Read", {"path": "a", "line_offset": -10, "n_lines": 4}, (41, 44)),
        ("Read", {"path": "a", "line_offset": -10, "n_lines": 40}, (41, 50)),
        ("Read", {"path": "a", "line_offset": -100}, (1, 50)),
        ("read", {"path": "a", "offset": "10"}, (1, 50)),
        ("view", {"path": "a", "view_range": [7, 5]}, (1, 50)),
        ("view", {"path": "a", "view_range": [7, 7]}, (7, 7)),
        ("view", {"path": "a", "view_range": [-3, 5]}, (1, 50)),
        ("view", {"path": "a", "view_range": "5-7"}, (1, 50)),
        ("editor", {"path": "a", "command": "view", "view_range": [5, 7]}, (5, 7)),
        ("editor", {"path": "a", "command": "create", "view_range": [5, 7]}, (1, 50)),
        ("Read", {"file_path": "a", "offset": 5, "limit": 2, "pages": ""}, (5, 6)),
        ("Read", {"file_path": "a", "offset": 5, "limit": 2, "pages": "3"}, (1, 50)),
        ("no_read_tool", {"path": "a", "offset": 10}, (1, 50)),
        ("read", "no JSON", (1, 50)),
    ],
)
def test_lines_are_derived_from_the_content_and_the_call(
    tool: str, arguments: Any, lines: tuple[int, int]
) -> None:
    facts = Hand().insert(tool, arguments, read={"path": "a", "content": numbered(1, 50)}).facts
    assert (facts.first, facts.last, facts.total) == (*lines, 50)


def test_a_read_claims_no_more_lines_than_its_output_has() -> None:
    facts = Hand().read("a", numbered(1, 500), output=numbered(1, 100)).facts
    assert (facts.first, facts.last, facts.total) == (1, 100, 500)
    facts = Hand().read("a", numbered(1, 5000), output=numbered(1, 5000)).facts
    assert (facts.first, facts.last, facts.total) == (1, 2000, 5000)


def test_a_read_whose_call_does_not_say_the_lines_is_named_without_them() -> None:
    content = numbered(1, 50)
    arguments, read = {"path": "a", "tail": 10}, {"path": "a", "content": content}
    inserted = Hand().insert("read_text_file", arguments, numbered(41, 50), read=read)
    assert inserted.body == f"[#0001 a sha {sha_of(content)[:8]}]\n{numbered(41, 50)}"
    assert (inserted.facts.kind, inserted.facts.total) == ("result", 0)


def test_a_read_that_gives_only_the_hash_says_its_lines() -> None:
    read = {"path": "a", "sha256": sha_of(ABC), "first": 2, "last": 9, "total_lines": 3}
    inserted = Hand().insert("read", {"path": "a"}, "beta\ngamma\n", read=read)
    assert inserted.body == "[#0001 a lines 2-3 of 3 sha 4fdbc441]\nbeta\ngamma\n"
    nothing = Hand().insert("read", {"path": "a"}, "", read=read)
    assert (nothing.body, nothing.facts.kind) == ("[#0001 a sha 4fdbc441]", "result")


def test_a_read_past_the_end_says_how_long_the_file_is() -> None:
    hand = Hand()
    hand.read("a", ABC)
    past = hand.read("a", ABC, offset=4)
    assert past.shown == "[#0002 a sha 4fdbc441] No line 4: the file has 3 lines."
    assert past.facts.kind == "result"


def test_what_is_no_text_is_not_rendered() -> None:
    data = b"\x89PNG\x00\x01"
    inserted = Hand().read("a.png", data)
    assert inserted.shown == f"[#0001 a.png sha {sha_of(data)[:8]}] Binary, 6 bytes."
    assert inserted.facts.kind == "result"
    told = Hand().read("a.png", data, output="An image.", note="Not shown.")
    assert told.shown == f"[#0001 a.png sha {sha_of(data)[:8]}]\nAn image.\nNot shown."


def test_an_image_keeps_its_block_under_path_and_hash() -> None:
    data, image = b"\x89PNG\x00\x01", {"type": "image", "source": {}}
    inserted = Hand().read("a.png", data, output=[image])
    bracket = f"[#0001 a.png sha {sha_of(data)[:8]}]"
    assert inserted.shown == [{"type": "text", "text": bracket}, image]
    assert inserted.body == bracket


def test_a_read_without_facts_has_a_bare_id_and_no_stub() -> None:
    hand = Hand()
    outputs = [hand.insert("read", {"path": "a"}, ABC).shown for _ in range(2)]
    assert outputs == [f"[#0001]\n{ABC}", f"[#0002]\n{ABC}"]


# what is refused


@pytest.mark.parametrize(
    ("read", "path"),
    [
        ({"path": "a"}, "read.content"),
        ({"path": "a", "sha256": "0" * 64}, "read.content"),
        ({"path": "a", "sha256": "0" * 64, "first": 1, "last": 2}, "read.content"),
        ({"path": "a", "sha256": "AB", "content": ""}, "read.sha256"),
        ({"path": 1, "content": ""}, "read.path"),
        ({"path": "a", "content": 1}, "read.content"),
        ({"path": "a", "content": "", "first": -1}, "read.first"),
        ({"path": "a", "content": "", "last": True}, "read.last"),
        ({"path": "a", "content": "", "total_lines": 1.0}, "read.total_lines"),
        ({"path": "a", "content": "", "lines": 1}, "read.lines"),
        ({"content": ""}, "read.path"),
    ],
)
def test_a_read_that_cannot_be_understood_is_refused_by_its_field(read: Any, path: str) -> None:
    with pytest.raises(InputError) as refused:
        Hand().insert(read=read)
    assert (refused.value.code, refused.value.path) == ("input.shape", path)


def test_facts_of_a_read_may_be_an_object_and_leave_out_the_path() -> None:
    class Read:
        content = ABC

    inserted = Hand().insert("read", {"path": "a.txt"}, read=Read())
    assert inserted.body == (
        "[#0001 a.txt lines 1-3 of 3 sha 4fdbc441]\n1: alpha\n2: beta\n3: gamma"
    )


def test_facts_can_be_written_whatever_a_path_holds() -> None:
    facts = Hand().read("a\udce9", ABC, read={"resolved": "/p/a\udce9"}).facts
    assert msgspec.json.decode(msgspec.json.encode(facts), type=Facts) == facts
    assert facts.resolved == hygiene.identity("/p/a\udce9") == "/p/a\\udce9"
