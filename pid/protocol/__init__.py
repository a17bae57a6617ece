"""The wire, once: every type, request, notification and error that `pid` speaks (L0).

From these tables come the reference in `protocol.md`, the JSON Schema and the editors' types
(`tools/generate.py`). The daemon and the client decode and encode with them. Nothing here keeps state, reads
a file or knows a rule of trees.
"""
# ruff: noqa: F403

from pid.protocol.base import *
from pid.protocol.compaction import *
from pid.protocol.context import *
from pid.protocol.decode import decode_params as decode_params
from pid.protocol.decode import decode_value as decode_value
from pid.protocol.lifecycle import *
from pid.protocol.prompt import *
from pid.protocol.records import *
from pid.protocol.sessions import *
from pid.protocol.tables import *
from pid.protocol.tree import *
