"""The only place that knows JSON-RPC, and the commands that people type."""
