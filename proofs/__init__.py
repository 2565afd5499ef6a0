"""What holds for all runs: terms, lemmas, theorems with their witnesses, and the engines that decide them."""
