"""Sessions: hygiene on insertion, decisions before each request, originals on recall, in one store.

`session` is what a harness calls; `kept` is what it knows; `branch` lays requests over what is
stored; `book` is the dedupe table; `turns`, `recalls` and `definitions` are its verbs.
Specification: DESIGN section 7.
"""

from compactor.session.aio import AsyncSession
from compactor.session.session import Session
from compactor.session.state import Mark

__all__ = ["AsyncSession", "Mark", "Session"]
