"""Reports: verdicts and failures, told to a person or to a machine."""
