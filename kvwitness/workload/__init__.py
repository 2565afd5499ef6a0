"""Replaying production traces: a serving loop over a port, judged by the same oracles as every other run."""
