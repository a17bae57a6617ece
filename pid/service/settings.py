"""Which setting wins: layers of updates, the highest first, over the defaults that `protocol.Settings` states."""

from collections.abc import Iterable
from typing import Any

import msgspec

from pid.protocol import Settings, SettingsUpdate


def resolve(layers: Iterable[SettingsUpdate | None]) -> Settings:
    """The settings in effect. In each layer an absent or null field leaves the word to the layers below."""
    values: dict[str, Any] = {}
    for layer in layers:
        for name in SettingsUpdate.__struct_fields__ if layer else ():
            value = getattr(layer, name)
            if value is not None and value is not msgspec.UNSET:
                values.setdefault(name, value)
    return Settings(**values)


def update(layer: SettingsUpdate | None, change: SettingsUpdate) -> SettingsUpdate:
    """One layer with a change on it: null takes a field back to what the layers below say."""
    fields = SettingsUpdate.__struct_fields__
    given = {name: getattr(change, name) for name in fields if getattr(change, name) is not msgspec.UNSET}
    return msgspec.structs.replace(layer or SettingsUpdate(), **given)
