"""Resident sessions: one write order each, and what runs beside it. Knows no JSON-RPC."""
