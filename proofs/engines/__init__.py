"""The engines that decide a goal, each its own way: unbounded, along paths, cut at a loop, unrolled, by closure."""
