"""The invariants of the loops of ports, by function: what `engines.cut` cuts them at, and what is claimed of them."""
