"""Whether replay's re-statements of other programs send what those programs send.

`python -m benchmarks.frameworks` lives transcripts again in the frameworks' own loops, with fake
models and tools, and compares the messages of every request with those of `compactor.replay`'s
strategy. The frameworks are the extra `bench`; one that is not installed is left out and said.
"""
