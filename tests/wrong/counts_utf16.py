"""Counts UTF-16 units where code points are meant, as some languages do."""

from faults import serve

from compactor.core.count import Chars4

Chars4.count = lambda _, text: (len(text.encode("utf-16-le", "surrogatepass")) // 2 + 3) // 4
serve()
