"""What must hold on runs: situations and their generators, the one loop, the oracles, and the conformance levels."""
