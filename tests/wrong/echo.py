"""Gives everything back as it came."""

from compactor import stdio
from faults import serve

BACK = {"entries": "view", "request": "request", "text": "text"}


def echo(op, given):
    return {BACK[key]: value for key, value in given.items() if key in BACK}


stdio.perform = echo
serve()
