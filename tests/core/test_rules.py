"""Which sentences of a user state a rule, in many languages, and what states none."""

from __future__ import annotations

import pytest

from pid.core.rules import rules_in

RULES = [
    "Always run the tests before you commit.",
    "NEVER push to main",
    "please do not touch the lock file",
    "Don't add dependencies",
    "don’t use any",
    "The API must stay compatible.",
    "You should never log secrets.",
    "make sure the docs are up to date",
    "use tabs, not spaces",
    "Use only the standard library.",
    "no console logs!",
    "from now on answer briefly",
    "Stick to the style of the file",
    "Bitte niemals die Tests löschen",
    "Kommentare müssen auf Deutsch sein",
    "Verwende keine Makros",
    "Il ne faut jamais supprimer les tests",
    "N'utilise pas cette bibliothèque",
    "Siempre escribe en inglés",
    "No modifiques este archivo",
    "Sempre rode os testes",
    "Non modificare questo file",
    "Gebruik geen globale variabelen",
    "Nigdy nie usuwaj plików",
    "Her zaman testleri çalıştır",
    "Đừng sửa tệp này",
    "Всегда запускай тесты",
    "Не трогай базу данных",
    "Завжди пиши тести",
    "يجب تشغيل الاختبارات",
    "हमेशा टेस्ट चलाएँ",
    "请不要修改配置文件",
    "必须先运行测试",
    "テストは必ず実行してください",
    "設定を変更しないでください",
    "항상 테스트를 실행해 주세요",
    "절대 삭제하지 마",
    "ห้ามลบไฟล์",
]


@pytest.mark.parametrize("sentence", RULES)
def test_a_rule_in_any_of_these_languages(sentence: str) -> None:
    assert rules_in(sentence) == [sentence]
    assert sentence in rules_in(f"Fix the parser. {sentence}\nThanks")[0]


NO_RULES = [
    "fix the parser",
    "i don't think that is it",
    "never mind, go on",
    "no problem",
    "no, the other one",
    "why is it red?",
    "ok",
    "",
    "it must have been the cache",
    "这个文件在哪里",
    "テストを実行して",
]


@pytest.mark.parametrize("text", NO_RULES)
def test_what_states_no_rule(text: str) -> None:
    assert rules_in(text) == []


def test_a_list_under_a_rule_stands_for_rules() -> None:
    text = "These rules always apply:\n- British spelling\n- short lines\n\nFix the parser:\n- first this\n- then that"
    assert rules_in(text) == ["British spelling", "short lines"]


def test_code_and_pasted_output_state_none() -> None:
    text = """\
it fails:
```
# you must never call this
```
Error: value must be a number
    at must (/a/b.js:3:1)
src/a.py:17: error: you should not do this
> always quoted
[info] never seen
"""
    assert rules_in(text) == []


def test_there_is_an_end_to_it() -> None:
    assert len(rules_in("\n".join(f"never do {n}" for n in range(500)))) == 20
    assert len(rules_in("never " + "x " * 700)[0]) == 400
    assert rules_in("never " + "x " * 50_000) == []


def test_the_same_rule_twice_is_one() -> None:
    assert rules_in("Never do it.\nNever do it.") == ["Never do it."]
