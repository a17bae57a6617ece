"""What `tools/generate.py` writes: one module for each form, all from the same JSON Schema, none with I/O."""
