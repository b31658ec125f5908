"""The decisions: entries and records in, records and a view out. Pure; never sees a provider."""
