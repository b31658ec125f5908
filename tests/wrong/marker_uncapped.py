"""Cites all ids of a marker, however long it gets."""

from faults import serve

from compactor.core import marker


def uncapped(line, ids, texts):
    return line + texts.ids.format(ids=texts.ids_separator.join(ids)) if ids else line


marker._with_ids = uncapped
serve()
