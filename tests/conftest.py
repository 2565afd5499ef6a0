"""How Hypothesis runs here: the same examples every time, unless a run asks to explore."""

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
# An option --hypothesis-profile is read after this file, and so wins.
settings.load_profile("ci")
