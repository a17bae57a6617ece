"""Which sentences of a user state a rule: what holds beyond one step, and must outlive every summary.

By their words alone: "always", "never", "do not", "must" and their like in the languages below. A sentence too many
costs a line; one too few costs the user's trust, so doubt is decided for the rule. Code and pasted output state none.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

_WORDS: Final = (
    # English
    r"always|never|must(?!\s+(?:have|be)\s+(?:been|because|the\s+case|due))|mustn['’]?t|shall(?:\s+not)?",
    r"(?:do\s+not|don['’]?t)(?!\s+(?:think|know|understand|see|get\s+(?:it|why|how)|believe|care|mind|worry|recall)\b)",
    r"should(?:n['’]?t|\s+(?:not|never|always|only))|may\s+not|not\s+allowed|forbidden|prohibited",
    r"use\s[^.!?]*?[\s,](?:not|rather\s+than|instead)|make\s+sure|ensure|only\s+(?:ever\s+)?use|use\s+only|avoid|prefer|remember\s+(?:to|that)|no\s+longer|instead\s+of",
    r"from\s+now\s+on|at\s+all\s+times|in\s+all\s+cases|every\s+time|whenever|under\s+no\s+circumstances",
    r"at\s+least|at\s+most|stick\s+to|everywhere|by\s+default|as\s+a\s+rule|each\s+time|keep\s+(?:all|every|to)\b",
    r"rules?|conventions?|requirements?|guidelines?|constraints?",
    # German
    r"immer|stets|nie(?:mals)?|muss|müssen|musst|soll(?:en|st|te)?\s+(?:nicht|nie|immer|nur)|darf(?:st)?|dürfen",
    r"bitte\s+kein\w*|achte\s+darauf|sorge\s+dafür|vermeide\w*|ausschließlich|auf\s+keinen\s+fall|verboten",
    r"(?:verwende\w*|nutze|benutze)\s+(?:nur|kein\w*)",
    # French
    r"toujours|jamais|doi(?:s|t|vent)|devez|il\s+(?:ne\s+)?faut|n(?:e\s+|['’])\w+\s+(?:pas|plus|jamais)|interdit",
    r"évite[rz]?|uniquement",
    # Spanish, Portuguese, Italian
    r"siempre|nunca|jamás|debe[ns]?|tiene[ns]?\s+que|prohibido|evitar?|solamente|asegúrate",
    r"no\s+(?:uses|usar|hagas|toques|cambies|modifiques|borres)",
    r"sempre|deve[ms]?|não\s+(?:use|usar|faça|altere|mude|mexa|apague|pode)|proibido|evite|apenas|certifique-se",
    r"mai|dev[ie]|devono|non\s+(?:usare|modificare|toccare|cambiare|fare|cancellare|deve)|vietato|evitare|soltanto|assicurati",
    # Dutch, Swedish, Danish, Norwegian
    r"altijd|nooit|moet(?:en)?|mag\s+(?:niet|nooit|geen)|gebruik\s+(?:geen|alleen)|vermijd|zorg\s+ervoor",
    r"alltid|aldrig?|måste|må\s+(?:ikke|aldri)|får\s+(?:inte|aldrig)|undvik|altid|skal\s+(?:ikke|altid)",
    r"använd\s+(?:inte|bara)|bruk\s+(?:ikke|bare)",
    # Polish, Czech, Turkish, Vietnamese, Indonesian
    r"zawsze|nigdy|musi\w*|nie\s+(?:wolno|używaj|zmieniaj|ruszaj|usuwaj)|unikaj|tylko|vždy|nikdy|nesmí\w*|nepoužívej|pouze",
    r"her\s+zaman|asla|mutlaka|sakın|yalnızca|luôn|không\s+(?:bao\s+giờ|được)|đừng|phải|selalu|jangan|harus|hanya",
    # Russian, Ukrainian
    r"всегда|никогда|нельзя|долж[а-я]+|обязательно|запрещ[а-я]+|только",
    r"не\s+(?:надо|нужно|смей|трогай|меняй|используй|изменяй|удаляй|делай|забудь)\w*",
    r"завжди|ніколи|не\s+можна|повинн\w+|обов['’]язково|заборонено|тільки|лише",
    # Greek, Hebrew, Arabic, Persian, Hindi
    r"πάντα|ποτέ|πρέπει|μην|תמיד|לעולם\s+לא|אסור|חייב\w*|אל\s+ת\w+",
    r"دائم\w*|أبد\w*|يجب|لا\s+ت\w+|ممنوع|فقط|همیشه|هرگز|باید|نباید",
)
_UNBOUNDED: Final = (  # scripts without spaces, or whose words end in signs that are no letters to `re`
    r"总是|始终|一直|永远|必须|务必|一定要|不要|不得|不能|不可|不准|禁止|切勿|请勿|绝不|只能|只用|避免|確保|确保|總是|始終|必須|務必",
    r"必ず|常に|いつも|絶対|決して|ないで|禁止|べき|しなければ|してはいけ|してはなら|のみ|だけ使|避けて",
    r"항상|반드시|절대|하지\s*마|하지\s*말|말\s*것|금지|해야\s*(?:한|합|해)|만\s*사용",
    r"เสมอ|ห้าม|ต้อง|อย่า|हमेशा|कभी\s+न|ज़रूर|अवश्य|\sमत\s",
)


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern, those in its groups left together."""
    depth = start = 0
    for at, sign in enumerate(pattern):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            yield pattern[start:at]
            start = at + 1
    yield pattern[start:]


@cache
def _rule(*, ascii_only: bool) -> re.Pattern[str]:
    """What states a rule; with `ascii_only` all that can match in a text of ASCII alone: five times as fast.

    Compiled at its first use, for it takes longer than importing most of the daemon.
    """
    if ascii_only:
        words = [word for words in _WORDS for word in _alternatives(words) if word.isascii() or "['’]" in word]
        return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    return re.compile(rf"\b(?:{'|'.join(_WORDS)})\b|(?:{'|'.join(_UNBOUNDED)})", re.IGNORECASE)


_BARE_NO: Final = re.compile(
    r"(?:^|,\s*)no\s+(?!(?:problem|idea|need|worries|way|wonder|one|clue)\b)[a-z]", re.IGNORECASE
)
"""English "no console logs!", "use rgb values, no indices"."""
_NO_RULE: Final = re.compile(r"\b(?:never\s*mind|always\s+(?:been|has|had)|must\s+have\s+been)\b", re.IGNORECASE)

_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")
_ITEM: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])")
_LONGEST: Final = 400
_MOST: Final = 20


def rules_in(text: str) -> list[str]:
    """The sentences of a user's message that state a rule, in order; at most 20, each at most 400 characters.

    The items of a list stand for rules too where the line before them states one and ends with a colon.
    """
    found: list[str] = []
    listing = False
    for line in prose_lines(text):
        item = _ITEM.match(line)
        if item and listing:
            found.append(line[item.end() :].strip())
            continue
        stated = [sentence.strip() for sentence in _SENTENCE.split(line) if states_rule(sentence)]
        found += [_ITEM.sub("", sentence) for sentence in stated if not sentence.endswith(":")]
        opens_list = bool(stated) and line.rstrip().endswith((":", "："))
        listing = opens_list or (listing and bool(item))
    return [rule[:_LONGEST] for rule in dict.fromkeys(found) if rule][:_MOST]


def states_rule(sentence: str) -> bool:
    """Whether a sentence states a rule."""
    rule = _rule(ascii_only=sentence.isascii())
    states = rule.search(sentence) or _BARE_NO.search(sentence.strip())
    return states is not None and not _NO_RULE.search(sentence)


def prose_lines(text: str) -> Iterator[str]:
    """The lines that somebody wrote: without fenced code, and without what looks like a terminal's output."""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip() and _is_prose(line):
            yield line


_OUTPUT: Final = re.compile(
    r"^\s*(?:[>+|│┃$#%➜]|at\s+\S+\s+\(|File\s+\"|\d+[:|]|[\w./-]+:\d+(?::\d+)?:?\s|\[\w+\]|Traceback\b|\w*Error:)"
)


def _is_prose(line: str) -> bool:
    if len(line) > 4 * _LONGEST or _OUTPUT.match(line):
        return False
    return sum(map(str.isalpha, line)) * 2 >= len(line.strip())
