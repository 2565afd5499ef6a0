"""Seeded defects: small wrong variants of the implementation, each with the clause that must catch it."""
