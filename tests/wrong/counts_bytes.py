"""Counts bytes where code points are meant."""

from compactor.core.count import Chars4
from faults import serve

Chars4.count = lambda self, text: (len(text.encode("utf-8", "surrogatepass")) + 3) // 4
serve()
