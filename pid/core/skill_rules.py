"""What the Agent Skills convention asks of a skill (https://agentskills.io/specification).

Names, lengths and types only: it reads no file and knows no YAML. `disable-model-invocation` is no part of
the convention, but agents agree on it.
"""

import re
from collections.abc import Mapping

Fields = Mapping[str, str | bool | None]
"""The scalars at the top of a skill's front matter."""

LONGEST = {"name": 64, "description": 1024, "compatibility": 500}
"""The longest text of each field, in code points."""

REQUIRED = ("name", "description")
HIDDEN = "disable-model-invocation"

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def faults(fields: Fields, *directory: str) -> list[str]:
    """What is wrong with a skill; nothing: it is good.

    `directory` is what the directory that holds it is called: by a link to it, and in truth.
    """
    found = [fault for field in LONGEST if (fault := _text_fault(field, fields.get(field)))]
    if not any(fault.startswith("name ") for fault in found):
        found += _name_faults(str(fields["name"]), directory)
    if not isinstance(fields.get(HIDDEN), bool | None):
        found.append(f"{HIDDEN} is neither true nor false")
    return found


def _text_fault(field: str, value: str | bool | None) -> str | None:
    if value is None:
        return f"{field} is missing" if field in REQUIRED else None
    if not isinstance(value, str):
        return f"{field} is not text (put it in quotes)"
    if not value.strip():
        return f"{field} is empty"
    if len(value.strip()) > LONGEST[field]:
        return f"{field} is longer than {LONGEST[field]} characters"
    return None


def _name_faults(name: str, directory: tuple[str, ...]) -> list[str]:
    if not _NAME.fullmatch(name):
        return ["name has other characters than a-z, 0-9 and single hyphens between them"]
    return [] if name in directory else [f"name is {name}, but its directory is {directory[0]}"]
