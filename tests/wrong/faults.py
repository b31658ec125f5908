"""What the wrong programs share: serving with the real implementation's own self-checks off.

The checks would turn some faults into errors; the suite must notice the wrong answer itself.
"""

from compactor import stdio
from compactor.core import compact


def serve() -> None:
    """Serve the protocol until standard input ends."""
    compact.check_pass = lambda *_: None
    stdio.main()
