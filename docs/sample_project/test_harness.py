"""What a harness owes its prompt cache, with the plugin of transcript-compactor."""

import pytest
from harness import Harness

import compactor
from compactor.stability.snapshots import RequestStreamExtension

POLICY = compactor.Policy(window=4_000, counter="chars4")


class ScriptedClient:
    """Stands for a provider's client: asks for a tool a few times, then answers."""

    def __init__(self, steps):
        self.messages = self
        self.left = self.steps = steps

    def create(self, **request):
        self.left -= 1
        if self.left < 0:
            self.left = self.steps
            return {"content": [{"type": "text", "text": "The linker flags are wrong."}]}
        number = self.steps - self.left + len(request["messages"])
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash"}
        return {"content": [call | {"input": {"command": f"make step-{number}"}}]}


def run_tool(name, arguments):
    said = "ld: warning: object was built for newer OS\n"
    return f"$ {name}: {arguments['command']}\n" + said * 30


def test_only_passes_break_the_cache(cache_stability):
    client = cache_stability.wrap(ScriptedClient(steps=20))
    harness = Harness(client, run_tool, POLICY, on_outcome=cache_stability.passed)
    harness.ask("Why does the build warn?")
    harness.ask("And how do I fix it?")
    cache_stability.check()
    assert cache_stability.breaks, "the conversation is too short for a pass"


def test_a_short_conversation_never_breaks_it(cache_stability):
    client = cache_stability.wrap(ScriptedClient(steps=3))
    Harness(client, run_tool, POLICY).ask("Why does the build warn?")


@pytest.mark.cache_stability(conversations=2)
def test_a_helper_has_a_cache_of_its_own(cache_stability):
    client = cache_stability.wrap(ScriptedClient(steps=2))
    boss, helper = (Harness(client, run_tool, POLICY) for _ in range(2))
    for question in ("First this.", "Then that."):
        boss.ask(f"{question} You decide.")
        helper.ask(f"{question} You look it up.")


def test_the_requests_as_they_are_sent(cache_stability, snapshot):
    client = cache_stability.wrap(ScriptedClient(steps=2))
    Harness(client, run_tool, POLICY).ask("Why does the build warn?")
    assert cache_stability == snapshot(extension_class=RequestStreamExtension)
