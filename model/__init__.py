"""The executable specification: frozen values and pure functions, no I/O, no dependency but attrs."""
