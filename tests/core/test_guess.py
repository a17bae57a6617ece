"""The guess against o200k itself: close on every script, and never far below it."""

from __future__ import annotations

import pytest

from pid.adapters.tokenizer import Tokenizer
from pid.core.guess import guess_tokens
from pid.core.tokens import TokenCounter

SAMPLES = {
    "English": "The quick brown fox jumps over the lazy dog, and nobody in the village has seen it since. " * 8,
    "code": "    def find(self, entry_id: str) -> int:\n        return self.rows.get(entry_id, -1)\n\n" * 10,
    "JSON": '{"type":"message","id":"a1b2c3d4","parentId":null,"content":[{"type":"text","text":"hi"}]}\n' * 6,
    "numbers": "2026-01-05 09:15:42,881 INFO 17392 0x7f3a 1048576 99.7%\n" * 10,
    "German": "Die Überprüfung größerer Änderungen dauert länger als ursprünglich gedacht. " * 8,
    "Russian": "Проверка прошла успешно, но файл всё ещё не записан на диск полностью. " * 8,
    "Chinese": "请不要修改配置文件，先运行所有测试，然后再提交代码，并说明原因。" * 8,
    "Japanese": "テストをすべて実行してから、設定ファイルを変更せずにコミットしてください。" * 8,
    "Korean": "설정 파일을 수정하지 말고 모든 테스트를 실행한 다음 커밋해 주세요. " * 8,
    "Arabic": "لا تغير ملف الإعدادات وشغل جميع الاختبارات قبل أن ترسل التغييرات. " * 8,
    "Hindi": "कृपया सेटिंग फ़ाइल न बदलें और सभी परीक्षण चलाने के बाद ही भेजें। " * 8,
}


@pytest.fixture(scope="module")
def count() -> TokenCounter:
    counter = Tokenizer().load()
    assert counter is not None
    return counter


@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_close_to_o200k_in_every_script(name: str, count: TokenCounter) -> None:
    truth = count(SAMPLES[name])
    assert 0.8 * truth <= guess_tokens(SAMPLES[name]) <= 1.5 * truth


@pytest.mark.parametrize("name", ["Chinese", "Japanese", "Korean"])
def test_four_characters_a_token_would_be_far_off(name: str, count: TokenCounter) -> None:
    assert len(SAMPLES[name]) / 4 < 0.55 * count(SAMPLES[name])


def test_only_nothing_is_nothing() -> None:
    assert guess_tokens("") == 0
    assert guess_tokens(" ") == guess_tokens("a") == 1
    assert guess_tokens("\ud800") == 1


def test_runs_of_blanks_cost_next_to_nothing() -> None:
    assert guess_tokens(" " * 100_000) < 100
    assert guess_tokens("\n" * 100_000) < 100


@pytest.mark.parametrize("name", SAMPLES)
def test_a_long_text_is_looked_at_here_and_there(name: str) -> None:
    short = SAMPLES[name]
    assert guess_tokens(short * 500) == pytest.approx(500 * guess_tokens(short), rel=0.05)


def test_what_stands_in_the_middle_of_a_long_text_counts() -> None:
    words, letters = "the words of a text " * 1_000, "7f3a9c" * 10_000
    whole = guess_tokens(words) + guess_tokens(letters) + guess_tokens(words)
    assert guess_tokens(words + letters + words) == pytest.approx(whole, rel=0.1)
