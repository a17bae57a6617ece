"""Skills on disk, by the Agent Skills convention: directories with a `SKILL.md`, found in bounds and read.

A directory that holds a `SKILL.md` is one skill, and nothing beneath it is another. Hidden directories and
`node_modules` are passed over. Links are followed, and no directory is looked into twice. The order is by
depth, then by name, whatever the order on disk. What is wrong is a problem, and no skill's text is kept.
"""

import os
import stat
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from pid.adapters import files, front_matter
from pid.adapters.files import Unusable, problem
from pid.core import skill_rules
from pid.protocol.prompt import ResourceProblem, Skill

SKILL_NAME = "SKILL.md"
PASSED_OVER = frozenset({"node_modules"})

MAX_SKILLS = 256
MAX_DEPTH = 6
"""How far beneath a root a skill's directory may be."""

MAX_LOOKED_AT = 10_000
"""How many directory entries are looked at beneath a root; a directory that passes it counts as empty."""

MAX_TEXT = 16 << 20
"""The most text that is read of all skills together, in characters."""

Identity = tuple[int, int]


def load(roots: Iterable[str], before: Iterable[Skill] = ()) -> tuple[list[Skill], list[ResourceProblem]]:
    """The good skills beneath the roots in their order, one of each name, and the problems of the others.

    The skills `before` have their names already; one that is found again is no problem.
    """
    search = _Search()
    for root in roots:
        search.under(root)
    taken: list[Skill] = []
    places = {skill.name: skill.location for skill in before}
    reader = files.BoundedReader(MAX_TEXT)
    for path in search.found:
        try:
            skill = read_skill(reader.read(path), path)
            if skill.name not in places:
                places[skill.name] = path
                taken.append(skill)
            elif places[skill.name] != path:
                raise Unusable("skillCollision", f"{places[skill.name]} has this name before it")
        except Unusable as error:
            search.problems.append(problem(path, error))
    return taken, search.problems


def read_skill(text: str, path: str) -> Skill:
    """The skill that a `SKILL.md` declares. Raises `Unusable`: `invalidFrontMatter`, `invalidSkill`."""
    try:
        fields = front_matter.scalars(text)
    except front_matter.BadFrontMatter as error:
        raise Unusable("invalidFrontMatter", str(error)) from None
    directory = os.path.dirname(path)
    if faults := skill_rules.faults(fields, *map(os.path.basename, (directory, os.path.realpath(directory)))):
        raise Unusable("invalidSkill", "; ".join(faults))
    return Skill(
        name=str(fields["name"]),
        description=str(fields["description"]).strip(),
        location=path,
        disable_model_invocation=bool(fields.get(skill_rules.HIDDEN)),
    )


class _Place(NamedTuple):
    path: str
    above: tuple[Identity, ...] = ()  # the directories that led here


class _Search:
    """One search through all roots: what it found, and where it has been."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.problems: list[ResourceProblem] = []
        self._seen: set[Identity] = set()
        self._left = 0

    def under(self, root: str) -> None:
        """Looks through a root. An absent root is no problem.

        Breadth first: what is looked into once is then reached by its shortest way, and no link leads to it
        first where the search is too deep to go on.
        """
        pending = deque([_Place(root)])
        self._left = MAX_LOOKED_AT
        while pending:
            place = pending.popleft()
            try:
                pending.extend(self._enter(place))
            except OSError as error:
                self._tell(place.path, files.unusable(error))
            except Unusable as error:
                self._tell(place.path, error)

    def _enter(self, place: _Place) -> list[_Place]:
        """Takes the skill of a directory, or gives the places in it."""
        identity = _identity(place)
        if identity is None or identity in self._seen:
            return []
        self._seen.add(identity)
        if self._take(place):
            return []
        names = self._names(place.path)
        if names and len(place.above) >= MAX_DEPTH:
            raise Unusable("tooDeep", f"nothing deeper than {MAX_DEPTH} directories is looked into")
        above = (*place.above, identity)
        return [_Place(os.path.join(place.path, name), above) for name in sorted(names)]

    def _take(self, place: _Place) -> bool:
        """Whether the directory is a skill, a bad one too."""
        path = os.path.join(place.path, SKILL_NAME)
        try:
            if not files.is_regular(path):
                return False
            if not place.above:
                raise Unusable("invalidSkill", "a skill needs a directory of its own, with its name")
            if len(self.found) >= MAX_SKILLS:
                raise Unusable("tooMany", f"there are more than {MAX_SKILLS} skills")
        except Unusable as error:
            self._tell(path, error)
            return bool(place.above)
        self.found.append(path)
        return True

    def _names(self, directory: str) -> list[str]:
        """The directories in a directory that may hold skills, and the links, whatever they lead to."""
        names: list[str] = []
        with os.scandir(directory) as entries:
            for entry in entries:
                self._left -= 1
                if self._left < 0:
                    raise Unusable("tooMany", f"there are more than {MAX_LOOKED_AT} files beneath the root")
                may_hold = entry.is_symlink() or entry.is_dir(follow_symlinks=False)
                if may_hold and entry.name not in PASSED_OVER and not entry.name.startswith("."):
                    names.append(entry.name)
        return names

    def _tell(self, path: str, error: Unusable) -> None:
        self.problems.append(problem(path, error))


def _identity(place: _Place) -> Identity | None:
    """What a directory is known by; None if none is there. Raises `Unusable`: `brokenLink`, `linkCircle`."""
    try:
        found = os.stat(place.path)
    except FileNotFoundError:
        if os.path.islink(place.path):
            raise Unusable("brokenLink", "the link leads nowhere") from None
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    identity = found.st_dev, found.st_ino
    if identity in place.above:
        raise Unusable("linkCircle", "the link leads back to a directory above it")
    return identity
