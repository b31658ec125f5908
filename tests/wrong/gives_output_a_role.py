"""Takes tool output whose header was removed for what the model says."""

from faults import serve

from compactor.core import mirror_changes

mirror_changes.refuse_lost = lambda *_: None
serve()
