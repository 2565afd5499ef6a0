"""The theorems: claim, hypotheses by name, goal, bound, witness, and the wrong variants that must be refuted."""
