"""Makes a priced pass although a large result is about to become old."""

from faults import serve

from compactor.core import pricing

pricing._later = lambda *_: ()
serve()
