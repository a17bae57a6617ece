"""How fast, and with how much memory: `python -m tests.benchmarks`. It prints figures, and asserts none."""
