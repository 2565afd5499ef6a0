"""The real vLLM: where a release's sources are, how they load without a GPU, and its managers as a port."""
