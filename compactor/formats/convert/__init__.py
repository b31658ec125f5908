"""Conversion: entries and what is behind them become a conversation that a format takes.

`tell` makes a `Talk` of entries, with what `natives` finds behind media and sealed reasoning and
`tools` behind definitions; `fit` makes of it what the rules of the target (`rules`) allow and says
what it changed; a writer of `formats.write` puts it into words.
"""
