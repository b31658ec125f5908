"""Cites all ids of a marker, however long it gets."""

from compactor.core import marker
from faults import serve


def uncapped(line, ids, texts):
    return line + texts.ids.format(ids=texts.ids_separator.join(ids)) if ids else line


marker._with_ids = uncapped
serve()
