"""The generated parts of the documentation, one module a subject; `tests/regenerate.py` has them."""
