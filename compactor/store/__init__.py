"""The store: every original of every session, kept in full and one recall away.

`SqliteStore` keeps sessions in one SQLite file; `protocol.py` says what a store is, so that another
backend can take its place. Below: `transaction` (writes), `session` (reads), `bodies` (texts, each
once), `index` and `words` (what texts are found by), `query`, `search`, `snippets`, `verify`,
`schema`, `connections`, `failures`. Specification: DESIGN section 7, docs/store.md.
"""

from compactor.core.errors import StoreError
from compactor.store.protocol import (
    Found,
    Hit,
    Line,
    SessionInfo,
    SessionStore,
    StaleError,
    Store,
    Stored,
    StoredEntry,
    StoredResult,
    Transaction,
)
from compactor.store.sqlite import SqliteStore

__all__ = [
    "Found",
    "Hit",
    "Line",
    "SessionInfo",
    "SessionStore",
    "SqliteStore",
    "StaleError",
    "Store",
    "StoreError",
    "Stored",
    "StoredEntry",
    "StoredResult",
    "Transaction",
]
