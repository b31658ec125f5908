"""Conformance: the language-neutral cases, the operations they are about, and their runner.

`ops` is the table of operations that cases and the JSON-lines protocol share, `cases` reads case
files, `compare` finds the first difference, `runner` asks an implementation, `command` is
`compactor conformance`. Specification: DESIGN section 11, `conformance/README.md`.
"""
