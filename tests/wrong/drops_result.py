"""Leaves the last tool result out of what it shows."""

from faults import serve

from compactor.conformance import wire

perform = wire.perform


def drop(op, given, sessions):
    result = perform(op, given, sessions)
    view = result.get("view", [])
    tools = [index for index, entry in enumerate(view) if entry["kind"] == "tool"]
    if tools:
        result["view"] = view[: tools[-1]] + view[tools[-1] + 1 :]
    return result


wire.perform = drop
serve()
