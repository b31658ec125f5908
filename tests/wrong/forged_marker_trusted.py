"""Takes a body that looks like a marker for an elided result."""

from faults import serve

from compactor.core.fold import Fold

classify = Fold._classify


def trusting(self, seq):
    if not self.entries[seq].body.startswith("[elided "):
        classify(self, seq)


Fold._classify = trusting
serve()
