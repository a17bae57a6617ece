"""`pid`: coding-agent sessions as trees, served over JSON-RPC.

The parts, from the bottom up: `errors`, `protocol`, `entries` (words), `core` (pure rules), `adapters`
(one foreign thing each), `service` (resident sessions), `shell` (JSON-RPC and commands), `client` (for
programs that spawn the daemon). This module imports none of them, so that `import pid` costs nothing.
"""

__version__ = "0.1.0"
