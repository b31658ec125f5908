"""The project's own benchmarks: what a request, a file and a count cost, and how that grows.

`python -m benchmarks` prints one table a benchmark, with the ratio of each row to the first.
Nothing here is asserted: times are for people to read, the work that a call does is held by the
tests (`tests/test_laws.py`, tests of the counters). `--tiny` runs everything on tiny sizes.
"""
