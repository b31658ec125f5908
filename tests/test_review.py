"""A journal in memory and the same journal through text decide alike, whatever a harness does.

Harnesses cut the tail off, edit old messages, flip flags that no digest covers, store our output
back, hand over an older journal. After each such step three things must hold: both ways give the
same bytes and records, the estimate is what the view has when it is counted anew, and a second call
adds nothing. Each single case below was once found by the property above it.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import CompactorError, Journal, Outcome, Policy
from compactor.core.errors import JournalError
from compactor.core.journal import active, decode_record
from compactor.core.model import Kind
from compactor.core.records import PassRecord, PolicyRecord, RecallOff, Record, RewindRecord
from compactor.testing import Conversation
from tests.harness import (
    as_bytes,
    as_text,
    counted,
    each_format,
    entries_of,
    fates,
    native_of,
    passes,
    send,
)
from tests.strategies import Case, conversations, policies, rarely

STEPS = ("append", "append", "append", "cut", "replace", "edit", "flip", "reasoning", "stay")


def change(data: st.DataObject, talk: Conversation, format_name: str) -> None:
    """What a harness does to its history between two requests."""
    step, facts = data.draw(st.sampled_from(STEPS)), talk.facts
    if step in ("cut", "replace"):
        del facts[data.draw(st.integers(max(1, len(facts) - 6), len(facts))) :]
    if step in ("append", "replace"):
        facts += data.draw(conversations((format_name,))).facts[1:5]
    at = data.draw(st.integers(0, len(facts) - 1))
    if step == "edit":
        facts[at] = facts[at]._replace(text=facts[at].text + "!")
    if step == "flip":
        facts[at] = facts[at]._replace(error=facts[at].kind == "tool" and not facts[at].error)
    if step == "reasoning" and format_name != "entries" and facts[at].kind == "assistant":
        facts[at] = facts[at]._replace(reasoning=data.draw(st.sampled_from(["", "hm " * 80])))


def store_back(talk: Conversation, case: Case, shown: Any) -> None:
    """The harness keeps what we handed back."""
    told = [entry for entry in entries_of(shown, case) if entry.kind is Kind.TOOL]
    places = [at for at, fact in enumerate(talk.facts) if fact.kind == "tool"]
    for at, entry in zip(places, told, strict=True):
        talk.facts[at] = talk.facts[at]._replace(text=entry.body, images=len(entry.parts))


def outcome_of(native: Any, case: Case, journal: Journal | None, **settings: Any) -> Outcome | str:
    """What came of a request, or the code of its refusal."""
    try:
        return send(native, case, journal, **settings).outcome
    except JournalError as error:
        return error.code


@each_format
@given(st.data())
def test_a_journal_in_memory_and_through_text_are_the_same_whatever_a_harness_does(
    format_name: str, data: st.DataObject
) -> None:
    talk = data.draw(conversations((format_name,)))
    case = Case(talk, data.draw(policies()), format_name)
    in_memory: Journal | None = None
    through_text: Journal | None = None
    older: tuple[Journal | None, Journal | None] = (None, None)
    failed: list[str] = []
    for _ in range(data.draw(st.integers(1, 8))):
        change(data, talk, format_name)
        if data.draw(rarely(5)):
            scale = case.policy.counter_scale  # a journal pins it
            policy = msgspec.structs.replace(data.draw(policies()), counter_scale=scale)
            case = case._replace(policy=policy)
        if data.draw(rarely(8)):
            failed += [fact.call_id for fact in talk.facts if fact.kind == "tool"][-1:]
        native = native_of(case)
        settings: dict[str, Any] = {
            "failed": failed,
            "overflowed": data.draw(rarely(8)),
            "recallable": data.draw(st.sampled_from([None, True, False])),
        }
        text = None if through_text is None else as_text(through_text)
        one = outcome_of(native, case, in_memory, **settings)
        two = outcome_of(native, case, text, **settings)
        if isinstance(one, str) or isinstance(two, str):
            assert (one, two) == ("journal.foreign", "journal.foreign")
            in_memory, through_text = None, None
            continue
        assert one.journal == two.journal
        assert as_bytes(one.request) == as_bytes(two.request)
        assert (one.report, one.fates) == (two.report, two.fates)
        assert counted(one.request, case) == one.report.tokens_after
        again = send(native, case, two.journal, **(settings | {"overflowed": False})).outcome
        assert (again.journal, again.fates) == (one.journal, one.fates)
        shown = one.request
        in_memory, through_text = one.journal, two.journal
        if data.draw(rarely(6)):
            in_memory, through_text = older
        elif data.draw(rarely(4)):
            older = in_memory, through_text
        if format_name != "claude-code" and data.draw(rarely(6)):
            store_back(talk, case, shown)


# Single cases


SMALL = Policy(window=1000, counter="chars4", overhead_tokens=0, keep_recent=2)


def case_of(talk: Conversation, **settings: Any) -> Case:
    return Case(talk, msgspec.structs.replace(SMALL, **settings), "anthropic")


def long_talk(turns: int) -> Conversation:
    talk = Conversation().user("go")
    for number in range(turns):
        talk.call("bash", {"n": number}, result="x" * 3000)
    return talk


def both(case: Case, journal: Journal, **settings: Any) -> Outcome:
    """The outcome with the journal in memory, which is the one with the journal through text."""
    native = native_of(case)
    text = send(native, case, as_text(journal), **settings).outcome
    memory = send(native, case, journal, **settings).outcome
    assert memory.journal == text.journal
    assert as_bytes(memory.request) == as_bytes(text.request)
    return memory


def test_after_a_fall_a_pass_at_the_same_request_is_made_again() -> None:
    talk = long_talk(6)
    case = case_of(talk)
    journal = send(native_of(case), case).outcome.journal
    last = passes(send(native_of(case), case).outcome)[-1]
    talk.facts[last.cutoff - 2] = talk.facts[last.cutoff - 2]._replace(text="y" * 3000)
    out = both(case, journal)
    assert [type(record) for record in out.journal.records[-2:]] == [RewindRecord, PassRecord]
    assert out.report.why == "passed"


def test_results_that_a_cut_left_unanswered_are_kept_though_below_the_old_cutoff() -> None:
    """They were answered when the pass came; now a plan with a smaller budget would take them."""
    talk = Conversation().user("go")
    for name in ("bash", "bash", "bash", "grok_sink", "grok_sink"):
        talk.call(name, result=name * 60)
    case = case_of(
        talk.assistant("so").user("u" * 2000), evidence_budget_tokens=300, recent_tokens=2000
    )
    first = send(native_of(case), case).outcome
    assert [record.cutoff for record in passes(first)] == [len(talk.facts) - 2]
    del talk.facts[passes(first)[-1].cutoff :]
    poor = case_of(talk, evidence_budget_tokens=0, evidence_tools=("bash",))
    out = both(poor, first.journal, overflowed=True)
    assert (talk.facts[-1].kind, fates(out)[-1]) == ("tool", "kept:no_gain")


def test_a_pass_whose_cutoff_lies_below_the_departure_stays_whatever_was_set_since() -> None:
    talk = long_talk(4)
    journal = send(native_of(case_of(talk)), case_of(talk)).outcome.journal
    for number in range(3):
        talk.call("bash", {"later": number}, result="x" * 3000)
        case = case_of(talk, overhead_tokens=number + 1)
        journal = send(native_of(case), case, journal).outcome.journal
    made = passes_of(journal)
    departed = made[-2].cutoff
    talk.facts[departed] = talk.facts[departed]._replace(text="changed", calls=())
    out = both(case, journal)
    fell = out.journal.records[: len(journal.records) + 1]
    assert isinstance(fell[-1], RewindRecord)
    assert list(active(fell).passes) == [record for record in made if record.cutoff <= departed]


def test_recall_that_was_turned_off_stays_off_after_a_fall() -> None:
    talk = long_talk(4)
    case = case_of(talk)
    journal = send(native_of(case), case, recallable=True).outcome.journal
    talk.call("bash", {"later": 1}, result="x" * 3000)
    journal = send(native_of(case), case, journal, recallable=False).outcome.journal
    assert any(isinstance(record, RecallOff) for record in journal.records)
    at = passes(send(native_of(case), case, journal).outcome)[-1].cutoff - 1
    talk.facts[at] = talk.facts[at]._replace(text="changed", calls=())
    talk.call("bash", {"later": 2}, result="x" * 3000)
    out = both(case, journal, recallable=True)
    assert isinstance(out.journal.records[len(journal.records)], RewindRecord)
    made = [e for record in passes(out)[len(passes_of(journal)) :] for e in record.elided]
    assert made
    assert all("recall" not in elision.text for elision in made)
    assert "recall_off" in [finding.code for finding in out.report.findings]


def passes_of(journal: Journal) -> list[PassRecord]:
    return [record for record in journal.records if isinstance(record, PassRecord)]


def test_flags_outside_the_digest_are_seen_in_memory_too() -> None:
    case = case_of(long_talk(4), window=4000)
    journal = send(native_of(case), case).outcome.journal
    assert passes_of(journal) == []
    case.talk.call("bash", result="x" * 3000).call("bash", result="x" * 3000)
    sealed = native_of(case)
    sealed["messages"][2]["content"][0]["encrypted_reference"] = "kept"
    sealed["messages"][4]["content"][0]["is_error"] = True
    text = send(sealed, case, as_text(journal)).outcome
    memory = send(sealed, case, journal).outcome
    assert (memory.journal, memory.fates) == (text.journal, text.fates)
    assert [fates(memory)[seq] for seq in (2, 4, 6)] == ["kept:required", "kept:floor", "elided"]


def test_a_message_that_shows_a_fallen_marker_is_made_anew() -> None:
    """The second pass takes the floor of the first, falls, and the third writes it otherwise."""
    talk = Conversation().user("go")
    case = case_of(talk, evidence_budget_tokens=0)
    journal = None
    for sizes in ((2000, 3000, 0), (400, 80, 800)):
        for name, size in zip(("grok_sink", "bash", "bash"), sizes, strict=True):
            talk.call(name, {"size": size}, result="x" * size)
        native = native_of(case)
        journal = send(native, case, journal, recallable=False).outcome.journal
    assert journal is not None
    cut = native["messages"][:11]
    cut[10] = copy.deepcopy(cut[10])
    cut[10]["content"][0]["content"] = "y" * 1600
    changed = native | {"messages": cut}
    text = send(changed, case, as_text(journal), recallable=True).outcome
    memory = send(changed, case, journal, recallable=True).outcome
    assert memory.journal == text.journal
    assert isinstance(text.journal.records[len(journal.records)], RewindRecord)
    assert as_bytes(memory.request) == as_bytes(text.request)
    assert b"recall seq=2]" in as_bytes(text.request)


def test_a_later_policy_with_another_model_changes_nothing_and_is_said() -> None:
    request = long_talk(3).write("anthropic")
    first = compactor.compact(request, Policy(model="claude-sonnet-4-5"))
    later = compactor.compact(request, Policy(model="gpt-4.1"), first.journal)
    assert later.journal == first.journal
    assert later.report.window == first.report.window
    assert "model_changed" in [finding.code for finding in later.report.findings]


def test_copies_of_a_journal_are_its_records_without_the_workings() -> None:
    journal = compactor.compact(long_talk(3).write("anthropic"), SMALL).journal
    copies = [copy.copy(journal), copy.deepcopy(journal), pickle.loads(pickle.dumps(journal))]
    assert copies == [journal] * 3
    assert [each.take_workings() for each in copies] == [None] * 3
    assert journal.take_workings() is not None


@pytest.mark.parametrize("depth", [10, 60, 5000])
def test_a_message_that_shows_changes_may_be_of_any_depth(depth: int) -> None:
    request = long_talk(4).write("anthropic")
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    request["messages"][2]["meta"] = nested
    first = compactor.compact(request, SMALL)
    second = compactor.compact(request, SMALL, first.journal)
    assert second.request["messages"][2]["content"] == first.request["messages"][2]["content"]
    assert second.request["messages"][2]["meta"] is nested


def damaged() -> dict[str, tuple[Record, ...]]:
    """Journals that contradict themselves."""
    records = compactor.compact(long_talk(5).write("anthropic"), SMALL).journal.records
    at = next(i for i, record in enumerate(records) if isinstance(record, PassRecord))
    header, made = records[0], records[at]
    assert isinstance(made, PassRecord)
    change = msgspec.structs.replace
    odd = {
        "a seq below 0": change(made, elided=(change(made.elided[0], seq=-1),)),
        "a seq above the cutoff": change(made, elided=(change(made.elided[0], seq=10**6),)),
        "a cutoff without digests": change(made, cutoff=10**9),
        "digests without a cutoff": change(made, below=()),
        "a request below 0": change(made, n=-3),
    }
    behind: dict[str, Record] = {
        "a rewind to records that are not": RewindRecord(3, 99),
        "a rewind below what it keeps": RewindRecord(0, 1),
        "a rewind that keeps less than nothing": RewindRecord(3, -1),
        "a setting below the cutoff": PolicyRecord(0, records[0].rules, "", 0, False),  # type: ignore[union-attr]
    }
    return {name: (header, record) for name, record in odd.items()} | {
        name: (header, made, record) for name, record in behind.items()
    }


@pytest.mark.parametrize("name", damaged())
def test_a_journal_that_contradicts_itself_is_damaged(name: str) -> None:
    request = long_talk(5).write("anthropic")
    for use in (
        lambda journal: compactor.compact(request, SMALL, journal),
        lambda journal: compactor.render(request, journal),
    ):
        with pytest.raises(CompactorError) as caught:
            use(Journal(damaged()[name]))  # type: ignore[arg-type]
        assert caught.value.code == "journal.damaged"


@pytest.mark.parametrize("text", ["plain", "\\ud800"])
def test_a_record_nested_beyond_all_bounds_is_damaged(text: str) -> None:
    nested = "[" * 100_000 + "]" * 100_000
    line = f'{{"kind":"recall_off","n":1,"x":"{text}","y":{nested}}}'
    with pytest.raises(CompactorError) as caught:
        decode_record(line.encode(), "line")
    assert caught.value.code == "journal.damaged"


@pytest.mark.parametrize("name", ["evidence_tools", "protected_tools"])
@pytest.mark.parametrize("value", ["bash", {"bash"}, (1,)])
def test_names_of_tools_are_a_list_of_texts(name: str, value: Any) -> None:
    with pytest.raises(CompactorError) as caught:
        Policy(window=1000, **{name: value})
    assert caught.value.code == "policy.range"
