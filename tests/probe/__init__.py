"""The border between grader and kernel."""
