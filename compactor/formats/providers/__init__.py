"""Requests of the providers, as harnesses send them."""
