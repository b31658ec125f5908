"""`python -m compactor` is the command line."""

from compactor.cli import main

main()
