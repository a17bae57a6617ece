"""Images as the Messages API takes them: of four kinds, up to 5 MB and 8000 pixels each, not too many in all.

An image that the API would refuse is replaced by a note in its place. No image is made smaller: that would need
its pixels.
"""

from itertools import accumulate
from typing import Final

from pid.core.agent_message import StoredImage, json_text
from pid.core.anthropic_notes import Notes, SentImage
from pid.core.anthropic_types import ApiBlock, ApiMessage, Image, ImageSource, Text, ToolResult
from pid.core.images import ImageHeader, is_base64, read_header

MEDIA_TYPES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
ALIASES: Final = {"image/jpg": "image/jpeg"}
MAX_BASE64: Final = 5 * 1024 * 1024
MAX_SIDE: Final = 8000
MANY_IMAGES: Final = 20
MAX_SIDE_OF_MANY: Final = 2000
MAX_IMAGES: Final = 100
MAX_ALL_BASE64: Final = 24_000_000
"""All images together, so that the texts find room beside them in the 32 MB of a request."""
STEP: Final = 10
"""So many images go at once: the prompt then stays the same, and cached, for as many more."""


def image_block(stored: StoredImage, notes: Notes) -> ApiBlock:
    """The image, or a note that says why it is not there."""
    data, declared = _plain_base64(stored)
    header = read_header(data) if len(data) <= MAX_BASE64 and is_base64(data) else None
    media_type = header.media_type if header else declared
    if fault := _fault(data, media_type, header):
        notes.tell("imageDropped", f"An image was left out: it {fault}.")
        return _note(f"it {fault}")
    if media_type != declared:
        notes.tell("imageType", f"An image that says it is {declared or '(nothing)'} was sent as {media_type}.")
    image = Image(source=ImageSource(media_type, data))
    notes.images.append(SentImage(image, notes.entry_id, len(data), max(header[1:]) if header else 0))
    return image


def _fault(data: str, media_type: str, header: ImageHeader | None) -> str | None:
    if len(data) > MAX_BASE64:
        return "is larger than 5 MB"
    if header is None and not is_base64(data):
        return "is not valid base64"
    if media_type not in MEDIA_TYPES:
        return f"is of the type {media_type or '(none)'}, which the API does not take"
    if header is not None and max(header.width, header.height) > MAX_SIDE:
        return f"has {header.width} x {header.height} pixels, more than {MAX_SIDE} on a side"
    return None


def _plain_base64(stored: StoredImage) -> tuple[str, str]:
    """The data and its media type, out of a `data:` URL or of wrapped lines if need be."""
    data, media_type = stored.data, stored.mime_type
    if data[:5] == "data:":
        head, _, data = data.partition(",")
        media_type = head[5:].partition(";")[0] or media_type
    if "\n" in data or " " in data or "\r" in data:
        data = "".join(data.split())
    return data, ALIASES.get(media_type, media_type)


def limit_images(messages: list[ApiMessage], notes: Notes) -> None:
    """Replaces the oldest images by notes where there are too many, and too large ones where there are many."""
    surplus = _surplus([image.size for image in notes.images])
    oldest, newest = notes.images[:surplus], notes.images[surplus:]
    large = [image for image in newest if image.side > MAX_SIDE_OF_MANY] if len(newest) > MANY_IMAGES else []
    replaced = _notes_for(oldest, "it is one of the oldest, and the API takes no more", notes)
    replaced |= _notes_for(large, f"it is too large beside more than {MANY_IMAGES} others", notes)
    for message in messages if replaced else ():
        _replace(message.content, replaced)


def _surplus(sizes: list[int]) -> int:
    """How many of the oldest images must go, in steps."""
    newest_first = accumulate(reversed(sizes))
    fitting = sum(1 for total in newest_first if total <= MAX_ALL_BASE64)
    surplus = len(sizes) - min(fitting, MAX_IMAGES)
    return min(len(sizes), -(-surplus // STEP) * STEP)


def _notes_for(images: list[SentImage], why: str, notes: Notes) -> dict[int, Text]:
    for image in images:
        notes.tell_of(image.entry_id, "imageDropped", f"An image was left out: {why}.")
    return {id(image.block): _note(why) for image in images}


def _note(why: str) -> Text:
    return Text(text=json_text(f"[An image was left out: {why}.]"))


def _replace(blocks: list[ApiBlock], replaced: dict[int, Text]) -> None:
    for at, block in enumerate(blocks):
        if isinstance(block, Image):
            blocks[at] = replaced.get(id(block), block)
        elif isinstance(block, ToolResult) and block.content:
            _replace(block.content, replaced)
