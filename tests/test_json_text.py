"""JSON text: values are carried as spelled, compact JSON has one spelling, depth costs nothing."""

from __future__ import annotations

import copy
import datetime
import json
import re
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import compactor
from compactor.formats.raw import json_text
from compactor.formats.raw.native import (
    NESTING_LIMIT,
    REMOVE,
    Edit,
    Opaque,
    Pairs,
    Spelled,
    apply_edits,
    compact_json,
    compact_json_text,
)
from tests.json_sources import NEW_VALUES, SOURCES, read


def test_values_are_ordinary_unless_their_spelling_would_be_lost() -> None:
    root = read(
        '{"a":[1,1.5,"x",true,null,{}],"b":[1E2,-0,4.10,NaN,-Infinity],"c":{"k":1,"k":2}}'
    ).root
    assert [type(item) for item in root["a"]] == [int, float, str, bool, type(None), dict]
    assert {type(item) for item in root["b"]} == {Spelled}
    assert (root["b"][:3], root["c"]) == ([100, 0, 4.1], {"k": 2})
    assert copy.deepcopy(root["b"][0]).text == "1E2"
    assert copy.deepcopy(root["c"]).pairs == [("k", 1), ("k", 2)]
    assert isinstance(root["c"], Pairs)


@given(SOURCES)
def test_compact_json_of_a_value_is_compact_json_of_its_text(source: Any) -> None:
    text = source.render()
    compact = compact_json(read(text).root)
    assert compact_json(read(compact).root) == compact
    if "NaN" not in text and "Infinity" not in text:
        assert compact_json_text(text) == compact


@given(NEW_VALUES)
def test_compact_json_of_python_values_is_what_json_dumps_writes(value: Any) -> None:
    compact = compact_json(value)
    assert json.loads(compact) == value
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert compact == re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", plain)


@pytest.mark.parametrize(
    ("text", "compact"),
    [
        (
            ' { "b" : [ 1.0e5 , -0 , 4.10 ] , "b" : "\\u00e9\\/" } ',
            '{"b":[1.0e5,-0,4.10],"b":"é/"}',
        ),
        (r'"\ud83d\ude00 \ud83d \uDE00"', '"😀 \\ud83d \\ude00"'),
        (
            r'"\u0001\u0008\u000C\u000a\r\t\u001F\u007f\u2028"',
            '"\\u0001\\b\\f\\n\\r\\t\\u001f\x7f\u2028"',
        ),
        ('["\udcff", "raw é"]', '["\\udcff","raw é"]'),
        ("1" * 10_000, "1" * 10_000),
        ("", None),
        (" ", None),
        ("{} {}", None),
        ("\ufeff{}", None),
        ("NaN", None),
        ("[Infinity]", None),
        ('"a\nb"', None),
        ('"\x00"', None),
        ('{"a":1,}', None),
        ("{'a':1}", None),
        ("[" * 100_000, None),
        ("[" * 100_000 + "NaN" + "]" * 100_000, None),
        ("[" * 100_000 + '"\t"' + "]" * 100_000, None),
        ("[ " * 100_000 + "1.0" + " ]" * 100_000, "[" * 100_000 + "1.0" + "]" * 100_000),
        ("[" * 100_000 + "1" + "]" * 99_999 + "}", None),
        ("[" * 100_000 + "]" * 100_000 + " x", None),
    ],
    ids=range(21),
)
def test_compact_json_text_keeps_spelling_and_refuses_what_is_no_json(
    text: str, compact: str | None
) -> None:
    assert compact_json_text(text) == compact


class Level(IntEnum):
    HIGH = 3


def test_compact_json_of_what_is_no_json_names_the_type_and_never_raises() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    shared = {"s": 1}
    value = {
        "t": (1, 2.0, float("nan")),
        "odd": [datetime.date(2024, 1, 1), b"x", {3}, Level.HIGH, object()],
        "loop": loop,
        "twice": [shared, shared],
        1: {None: 0, True: 1, 2.5: 2, (3,): 3},
        "big": 10**5000,
    }
    assert compact_json(value) == (
        '{"t":[1,2.0,NaN],"odd":["date","bytes","set",3,"object"],"loop":[1,"list"],'
        '"twice":[{"s":1},{"s":1}],"1":{"null":0,"true":1,"2.5":2,"tuple":3},'
        f'"big":1{"0" * 5000}}}'
    )


def nested(depth: int) -> str:
    """Alternating lists and objects, `depth` of them around a number."""
    opening = "".join('{"k": ' if level % 2 else "[ " for level in range(depth))
    closing = "".join(" }" if level % 2 else " ]" for level in reversed(range(depth)))
    return f"{opening}1.0{closing}"


@pytest.mark.parametrize("depth", [NESTING_LIMIT, NESTING_LIMIT + 1, 600, 100_000])
def test_deep_nesting_is_read_carried_and_given_back(depth: int) -> None:
    text = '{"deep": ' + nested(depth - 1) + ', "a": 1}'
    document = read(text)
    inner, levels = document.root["deep"], 1
    while isinstance(inner, (list, dict)):
        inner, levels = (inner[0] if isinstance(inner, list) else inner["k"]), levels + 1
    assert (type(inner), levels) == (
        Opaque if depth > NESTING_LIMIT else float,
        min(depth, NESTING_LIMIT),
    )
    compact = text.replace(" ", "")
    assert (compact_json(document.root), compact_json_text(text)) == (compact, compact)
    assert document.edited([Edit(("a",), 2)]) == text.replace('"a": 1', '"a": 2').encode()
    assert document.edited([Edit(("deep",), REMOVE)]) == b'{"a": 1}'
    assert document.raw(("deep",)) == nested(depth - 1)


def test_strings_too_deep_to_be_read_are_spelled_like_all_others() -> None:
    inner = '"\t","\\u00e9\\/ \udcff \\ud83d\\ude00"'
    depth = NESTING_LIMIT + 1
    root = read("[" * depth + inner + "]" * depth).root
    assert compact_json(root) == "[" * depth + '"\\t","é/ \\udcff 😀"' + "]" * depth


def test_what_is_read_does_not_depend_on_the_depth_of_the_callers_stack() -> None:
    def below(frames: int, work: Callable[[], Any]) -> Any:
        return below(frames - 1, work) if frames else work()

    for depth in (NESTING_LIMIT - 1, NESTING_LIMIT, NESTING_LIMIT + 1):
        text = f"{nested(depth)}\n{nested(3)}\n"
        shallow = read(text).root
        for frames in range(0, 800, 25):
            assert below(frames, lambda text=text: read(text).root) == shallow


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        "{" * 200_000 + "}" * 200_000,
        '"\\' * 200_000 + '"}',
        "{}" * 100_000 + '{"',
        '\\"' * 200_000 + "}",
    ],
    ids=["lists", "objects", "braces", "quotes", "glued", "escapes"],
)
def test_a_hostile_line_between_records_costs_one_scan_and_is_kept(line: str) -> None:
    data = f'{{"a":1}}\n{line}\n{{"b":2}}\n'
    document = read(data)
    assert (document.root[0], document.root[-1]) == ({"a": 1}, {"b": 2})
    assert document.edited([]) == data.encode()
    rows = enumerate(document.root)
    edits = [Edit((row, "n"), 3) for row, value in rows if isinstance(value, dict)]
    assert read(document.edited(edits)).root == apply_edits(document.root, edits)


def test_long_strings_and_integers_pass_through_and_can_be_replaced() -> None:
    long = 'line \\n \\"é\\" ' * 1_500_000
    digits = "7" * 100_000
    text = f'{{"long": "{long}", "n": {digits}, "a": 1}}'
    document = read(text)
    assert document.edited([Edit(("a",), 2)]) == text.replace('"a": 1', '"a": 2').encode()
    assert compact_json(document.root["n"]) == digits
    assert (
        document.edited([Edit(("long",), ""), Edit(("n",), 0)]) == b'{"long": "", "n": 0, "a": 1}'
    )


@example('[1E5,-0.5e+10,1e-3,0,-7,"\\uAbCd\\"",{"a":[]},{},-Infinity]')
@given(st.text('[]{}:,"\\ue10-.+ tnN\n', max_size=12) | SOURCES.map(lambda source: source.render()))
def test_the_iterative_reader_reads_what_the_c_scanner_reads(text: str) -> None:
    start = json_text.after_space(text, 0)
    try:
        fast = json_text._LENIENT.raw_decode(text, start)
    except ValueError:
        with pytest.raises(json_text.NotJsonError):
            json_text._Reader(text, json_text._LENIENT_TOKEN).read(start)
    else:
        slow = json_text._Reader(text, json_text._LENIENT_TOKEN).read(start)
        assert (compact_json(slow[0]), slow[1]) == (compact_json(fast[0]), fast[1])


def test_every_possessive_group_can_go_back_on_an_old_python():
    """Before 3.11.5 Python stays where an iteration failed; `OR_BACK` says what we do about it."""
    folder = Path(compactor.__file__).parent / "formats"
    for path in sorted(folder.glob("*.py")):
        for line in path.read_text("utf-8").splitlines():
            for end in re.finditer(r"\)[*+?]\+", line):
                assert line[: end.start()].endswith("{OR_BACK}"), (path.name, line)
