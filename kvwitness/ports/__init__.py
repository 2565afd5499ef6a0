"""Ports: what stands between the one loop and an implementation, in this process or in a child process."""
