"""Which call a Gemini function response answers, with ids and without."""

import copy
import sys

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.model import Kind
from compactor.formats.providers.gemini import Gemini

LENS = Gemini()


def read(*contents):
    return LENS.read({"contents": list(contents)})


def facts(reading):
    return [msgspec.structs.asdict(entry) for entry in reading.entries]


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def said(words):
    return {"text": words}


def use(name="f", call_id=None, **args):
    call = {"name": name, "args": args}
    return {"functionCall": call if call_id is None else {"id": call_id, **call}}


def answer(response, name="f", call_id=None):
    native = {"name": name, "response": response}
    return {"functionResponse": native if call_id is None else {"id": call_id, **native}}


def answered(*contents):
    """The arguments of the call that each response answers, and the findings."""
    reading = read(*contents)
    results = [e for e in reading.entries if e.kind is Kind.TOOL]
    calls = [e.call and e.call.arguments for e in results]
    return calls, [(f.code, f.path) for f in reading.findings]


def test_responses_with_ids_find_their_calls_in_any_order():
    calls = model(use("f", "a", n=1), use("f", "b", n=2))
    results = user(answer({}, "f", "b"), answer({}, "f", "a"))
    assert answered(calls, results) == (['{"n":2}', '{"n":1}'], [])


def test_parallel_calls_of_one_function_without_ids_are_answered_in_order():
    calls = model(use("f", n=1), use("g", n=2), use("f", n=3))
    results = user(answer({}, "f"), answer({}, "f"), answer({}, "g"))
    assert answered(calls, results) == (['{"n":1}', '{"n":3}', '{"n":2}'], [])


def test_the_next_turn_begins_anew():
    turns = [
        (model(use("f", n=i), use("f", n=i + 1)), user(answer({}), answer({}))) for i in (1, 3)
    ]
    calls, findings = answered(*turns[0], *turns[1])
    assert (calls, findings) == (['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}'], [])


def test_responses_over_several_contents_go_on_where_the_last_one_ended():
    calls = model(use("f", n=1), use("f", n=2))
    found = answered(calls, user(answer({})), user(said("wait")), user(answer({})))
    assert found == (['{"n":1}', '{"n":2}'], [])


def test_responses_that_lost_their_ids_are_answered_in_order_and_one_that_kept_it_by_it():
    calls = model(use("f", "a", n=1), use("f", "b", n=2), use("f", "c", n=3))
    results = user(answer({}, "f", "b"), answer({}), answer({}))
    assert answered(calls, results) == (['{"n":2}', '{"n":1}', '{"n":3}'], [])


def test_calls_that_lost_their_ids_are_answered_by_name():
    calls = model(use("f", n=1), use("f", n=2))
    assert answered(calls, user(answer({}, "f", "a"), answer({}, "f", "b"))) == (
        ['{"n":1}', '{"n":2}'],
        [],
    )


def test_a_response_with_the_id_of_no_call_is_an_orphan_and_its_call_unanswered():
    found = answered(model(use("f", "a", n=1)), user(answer({}, "f", "b")))
    paths = [
        ("orphan_result", "$.contents[1].parts[0]"),
        ("unanswered_call", "$.contents[0].parts[0]"),
    ]
    assert found == ([None], paths)


def test_a_response_without_id_and_call_keeps_its_name_and_is_said():
    reading = read(user(answer({"output": "x"}, "gone")))
    assert [(e.name, e.call_id) for e in reading.entries] == [("gone", "")]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("orphan_result", "$.contents[0].parts[0]")
    ]


def test_a_response_more_than_calls_belongs_to_the_last_one():
    found = answered(model(use("f", n=1)), user(answer({}), answer({})))
    assert found == (['{"n":1}', '{"n":1}'], [])


def test_of_parallel_calls_without_ids_the_one_without_a_response_is_said():
    calls = model(use("f", n=1), use("f", n=2))
    found = answered(calls, user(answer({})), model(said("so")))
    assert found == (['{"n":1}'], [("unanswered_call", "$.contents[0].parts[1]")])


CONTENTS = st.one_of(
    st.builds(
        lambda names: model(*(use(n, call_id) for n, call_id in names)),
        st.lists(st.tuples(st.sampled_from("fg"), st.sampled_from([None, "a", "b"])), max_size=3),
    ),
    st.builds(
        lambda names: user(*(answer({}, n, call_id) for n, call_id in names)),
        st.lists(st.tuples(st.sampled_from("fg"), st.sampled_from([None, "a", "b"])), max_size=3),
    ),
    st.builds(lambda: user(said("x"))),
)


@given(st.data())
def test_every_prefix_and_every_turn_back_reads_like_a_fresh_input(data):
    contents = data.draw(st.lists(CONTENTS, max_size=8))
    other = data.draw(st.lists(CONTENTS, max_size=4))
    known = None
    for _ in range(data.draw(st.integers(1, 5))):
        tail = other if data.draw(st.booleans()) else []
        root = contents[: data.draw(st.integers(0, len(contents)))] + tail
        known = LENS.read(root, known)
        fresh = LENS.read(copy.deepcopy(root))
        assert (facts(known), known.findings) == (facts(fresh), fresh.findings)


def test_a_response_that_is_read_again_answers_the_same_call():
    contents = [model(use(n=1), use(n=2), use(n=3)), user(answer({})), user(answer({}))]
    known = LENS.read(contents)
    for _ in range(2):
        known = LENS.read(list(contents), known)
        assert facts(known) == facts(LENS.read(copy.deepcopy(contents)))


def test_many_responses_without_ids_cost_no_search_of_the_turn():
    """Lines of code run, counted: neither a search a response nor a copy of the turn."""

    def cost(n):
        lines = 0

        def count(frame, event, arg):  # noqa: ARG001
            nonlocal lines
            lines += 1
            return count

        root = [model(*(use() for _ in range(n))), *(user(answer({})) for _ in range(n))]
        before = sys.gettrace()
        sys.settrace(count)
        try:
            LENS.read(root)
        finally:
            sys.settrace(before)
        return lines

    assert cost(200) < 2.1 * cost(100)
