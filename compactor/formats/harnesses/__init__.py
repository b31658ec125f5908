"""Sessions that coding agents record for themselves."""
