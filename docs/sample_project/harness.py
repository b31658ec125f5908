"""A harness in forty lines: an agent loop that compacts before each request.

What it gets right is what its tests watch over: system prompt and tools are the same in each
request, and the history only grows.
"""

import compactor

SYSTEM = "You are a build engineer. Look before you change anything."
TOOLS = [
    {
        "name": name,
        "description": what,
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    }
    for name, what in (("bash", "Runs a command."), ("note", "Keeps a note for later."))
]


class Harness:
    """One conversation.

    Args:
        client: of Anthropic's SDK, or anything with `messages.create`.
        run_tool: takes a tool's name and input, gives its output.
        on_outcome: is told what `compactor.compact` decided, before each request.
    """

    def __init__(self, client, run_tool, policy, on_outcome=lambda _outcome: None):
        self.client, self.run_tool, self.policy = client, run_tool, policy
        self.on_outcome = on_outcome
        self.messages, self.journal = [], None

    def ask(self, question):
        """The model's answer to a question, after as many tool calls as it wants."""
        self.messages.append({"role": "user", "content": question})
        while True:
            answer = self.request()
            self.messages.append({"role": "assistant", "content": answer["content"]})
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            if not calls:
                return answer["content"][0]["text"]
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": self.run_tool(call["name"], call["input"]),
                }
                for call in calls
            ]
            self.messages.append({"role": "user", "content": results})

    def request(self):
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1024,
            "system": SYSTEM,
            "tools": TOOLS,
            "messages": self.messages,
        }
        out = compactor.compact(body, self.policy, self.journal)
        self.journal = out.journal
        self.on_outcome(out)
        return self.client.messages.create(**out.request)
