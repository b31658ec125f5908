"""What the model of a fake says, turn by turn: forty turns of an agent at work.

The same script in every provider's words: single and parallel calls, failed ones, reads of files,
replies to the person in between. Deterministic; results are some hundred tokens each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A tool call and what the tool answers."""

    name: str
    arguments: dict[str, Any]
    result: str
    error: bool = False


class Turn(NamedTuple):
    """One answer of the model. Without calls the person speaks next.

    thinking: several texts are several blocks; "" is a redacted one.
    """

    thinking: tuple[str, ...]
    text: str
    calls: tuple[Asked, ...] = ()


TOOLS = ("bash", "read_file", "scan_sinks")
PERSON = "Thanks. Now the next part, please. "
SYSTEM = "You look for defects. Be brief. " * 20


def turns(count: int = 40) -> list[Turn]:
    """The script."""
    return [_turn(number) for number in range(count)]


def _turn(number: int) -> Turn:
    thinking = (f"What do I know after step {number}? " * 6,)
    if number % 5 == 3:
        thinking += (f"Another thought on step {number}. ",)
    if number % 11 == 7:
        thinking += ("",)
    if number % 7 == 6:
        return Turn(thinking, f"Part {number // 7} is done: nothing found so far.")
    count = 3 if number % 6 == 2 else 1
    return Turn(thinking, f"Step {number}." if number % 2 else "", tuple(_calls(number, count)))


def _calls(number: int, count: int) -> Iterator[Asked]:
    for index in range(count):
        name = TOOLS[(number + index) % 3]
        label = f"{number}.{index}"
        line = f"line of result {label} with some words in it\n"
        body = f"finding ev_{number:04x}{index:04x}\n" + line * (12 + 9 * (number % 4))
        arguments = {"file_path": f"src/{label}.py"} if name == "read_file" else {"step": label}
        yield Asked(name, arguments, body, error=number % 9 == 4 and index == 0)
