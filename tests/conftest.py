"""Hypothesis profiles: the default run is the same on every machine, `deep` looks further.

HYPOTHESIS_PROFILE=deep pytest tests/test_laws.py
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A whole conversation is drawn for each example, and no example is measured by a clock.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    max_examples=25,
    print_blob=False,
    suppress_health_check=SLOW,
)
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=3000,
    database=None,
    print_blob=True,
    suppress_health_check=SLOW,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
