"""The generated parts of the documentation, one module a subject (see `tests/regenerate.py`)."""
