"""Trajectories in the Agent Data Protocol's standard form: a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, shown

from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading
from compactor.formats.datasets.adp_standard import AdpStandard
from compactor.formats.raw.native import Rows, apply_edits

LENS = AdpStandard()


def text(words: str, source: str = "environment") -> Json:
    return {"class_": "text_observation", "content": words, "name": None, "source": source}


def code(content: str, description: Any = None) -> Json:
    about = {"class_": "code_action", "language": "bash", "content": content}
    return {**about, "description": description}


def api(function: str, description: Any = None, **kwargs: Any) -> Json:
    about = {"class_": "api_action", "function": function, "kwargs": kwargs}
    return {**about, "description": description}


def said(words: str, description: Any = None) -> Json:
    return {"class_": "message_action", "content": words, "description": description}


def page(**more: Any) -> Json:
    keys = {"html": None, "axtree": None, "url": "u", "image_observation": None}
    return {"class_": "web_observation", **keys, "viewport_size": None, **more}


def image(source: str = "environment") -> Json:
    return {"class_": "image_observation", "content": "a.png", "source": source}


GO = text("go", "user")


def run(*events: Any, key: str = "a") -> Json:
    return {"id": key, "content": [*events], "details": {}}


def read(*events: Any) -> Reading:
    return LENS.read(run(*events))


def test_actions_are_calls_and_what_the_environment_shows_answers_them() -> None:
    root = [run(GO, code("ls", "look"), text("a.py"), api("f", x=1), text("one"), said("done"))]
    reading = LENS.read(root)
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], [""]),
        ("tool", "", "a.py"),
        ("assistant", [], [""]),
        ("tool", "", "one"),
        ("assistant", ["done"], []),
    ]
    calls = [entry.calls[0] for entry in reading.entries if entry.calls]
    assert [(call.name, call.arguments) for call in calls] == [("bash", "ls"), ("f", '{"x":1}')]
    assert (codes(reading), reading.overhead.known) == ([], False)


def test_bodies_and_arguments_are_changed_where_they_are() -> None:
    root = [run(GO, code("ls"), text("a.py"), api("f", x="1"), text("one"))]
    entries = LENS.read(root).entries
    changed = apply_edits(root, LENS.rewrite_body(root, entries[2], "gone"))
    assert changed[0]["content"][2] == text("gone")
    changed = apply_edits(root, LENS.rewrite_argument(root, entries[1], 0, (), "cut"))
    assert changed[0]["content"][1]["content"] == "cut"
    changed = apply_edits(root, LENS.rewrite_argument(root, entries[3], 0, ("x",), "cut"))
    assert changed[0]["content"][3]["kwargs"] == {"x": "cut"}


def test_a_person_who_speaks_behind_an_action_is_no_result() -> None:
    reading = read(GO, code("ls"), text("try again", "user"))
    assert shown(reading)[2] == ("user", ["try again"])
    assert codes(reading) == ["unanswered_call"]


def test_several_actions_are_answered_in_order_or_by_what_comes_last() -> None:
    actions = (code("a"), code("b"))
    both = kit.tools(read(GO, *actions, text("1"), text("2")))
    assert [entry.call.arguments for entry in both if entry.call] == ["a", "b"]
    (one,) = kit.tools(read(GO, *actions, text("2")))
    assert one.call is not None
    assert one.call.arguments == "b"
    more = kit.tools(read(GO, code("a"), text("1"), image()))
    assert [entry.call.arguments for entry in more if entry.call] == ["a", "a"]


def test_of_a_page_the_tree_is_shown_and_its_picture_goes_with_it() -> None:
    root = run(
        page(html="<p>"), api("click"), page(axtree="tree", html="<p>", image_observation=image())
    )
    first, _, result = LENS.read(root).entries
    assert [part.text for part in first.parts] == ["<p>"]
    assert (result.body, [part.kind for part in result.parts]) == ("tree", [PartKind.IMAGE])
    changed = apply_edits(root, LENS.rewrite_body(root, result, "gone"))["content"][2]
    assert (changed["axtree"], changed["html"], changed["image_observation"]) == (
        *("gone", "<p>", None),
    )


def test_a_picture_alone_has_no_place_for_a_text() -> None:
    (entry,) = kit.tools(read(GO, api("click"), image()))
    assert (entry.required, entry.body, len(entry.parts)) == (True, "", 1)
    assert [e.kind for e in read(image("user"), said("x")).entries] == ["user", "assistant"]


def test_trajectories_of_a_file_are_threads() -> None:
    runs = [run(GO), run(text("b", "user"), key="b"), run(GO), {"id": "odd"}]
    for root in (runs, Rows(runs)):
        assert LENS.threads(root) == ["a", "b", "a#2"]
        assert shown(LENS.of_thread("b").read(root)) == [("user", ["b"])]
        assert codes(LENS.read(root)) == ["other_threads"]
    assert LENS.threads(run(GO)) == ["main"]
    with pytest.raises(InputError, match="no thread"):
        LENS.of_thread("c").read(runs)


def test_what_is_no_action_and_no_observation_is_said() -> None:
    (finding,) = read(GO, {"class_": "new"}).findings
    assert (finding.code, finding.path) == ("unknown_line", "$.content[1]")


def test_a_long_trajectory_is_compacted_at_three_windows(tmp_path: Path) -> None:
    steps = [event for n in range(9) for event in (code(f"c{n}"), text("word " * 300))]
    path = tmp_path / "std.json"
    path.write_text(json.dumps([run(GO, *steps)], indent=2), "utf-8")
    kit.check_untouched(path, LENS.name)
    assert kit.check_compacts(path, LENS.name) > 6


def test_what_is_no_trajectory_is_not_read() -> None:
    for root in ([], {}, None, [5], {"content": []}, [{"id": "a", "content": [{"type": "text"}]}]):
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    picture = page(axtree="tree", image_observation=image())
    kit.check_damage(LENS, [run(GO, code("ls", "d"), text("1"), api("f", x="1"), picture)])
