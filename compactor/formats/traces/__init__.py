"""Requests that somebody else recorded: proxies, tracing systems and observers."""
