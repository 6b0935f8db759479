"""A text that is masked while it is written is what the whole text is, masked at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.trace import Redactor, StreamRedactor
from remit.types.secret import MASK

WHOLE = [
    "Authorization: Bearer abcdefghijklmnopqrstuvwx\nand so on",
    "authorization = 'Basic YWxhZGRpbjpvcGVu' is what it sends",
    "Set-Cookie: sid=1; theme = dark\r\nnext",
    "it says bearer   abcdefghijklmnopqrstuvwx, or so",
    "the password = hunter2 and more",
    'the "api_key" :\n "one two three" then',
    'secret := \\"one two\\" end',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE vQIBADAN\nabc def\n-----END RSA PRIVATE KEY-----\nthat was it",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE----- is public",
    "card 4111 1111 1111 1111 0 ok, in 2024 or 4111 1111 1111 1112 not",
    "3782 822463 10005 and 4111-1111-1111-1111.",
    "my opening word is hunter22 hunter33, is it? hunter22 hunter",
    f"it is {MASK} and password: {MASK}",
    "pay at postgres://me:secret@host/db now",
    "你好。密码是 password=秘密 好 hunter22 hunter33你好",
]
SECRETS = ["hunter22 hunter33", "ted]!!", "aXbYaX", "YaXc"]
DECLARED = ["aXbYaXbYaXc aXbY", "[redacted]!! [redac hunter22 [redacted] hunter33", *WHOLE]


def streamed(redactor: Redactor, pieces: list[str]) -> str:
    stream = StreamRedactor(redactor)
    return "".join([*(stream.feed(piece) for piece in pieces), stream.end()])


@pytest.mark.parametrize("text", DECLARED)
@pytest.mark.parametrize("rules", [True, False])
def test_wherever_a_text_is_cut_it_is_masked_as_a_whole(text: str, rules: bool) -> None:
    redactor = Redactor(SECRETS) if rules else Redactor(SECRETS, rules=())
    for at in range(len(text) + 1):
        assert streamed(redactor, [text[:at], text[at:]]) == redactor.text(text)
    assert streamed(redactor, list(text)) == redactor.text(text)


@given(
    st.lists(st.sampled_from([*WHOLE, *SECRETS, " ", "\n", '"', "'", "\\", "4111 ", "Bearer ", "token", "你", "=", ": "])),
    st.data(),
)
def test_however_a_text_is_cut_it_is_masked_as_a_whole(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[begin:end] for begin, end in zip([0, *at], [*at, len(text)], strict=True)]
    for redactor in (Redactor(SECRETS), Redactor(), Redactor(SECRETS, rules=())):
        assert streamed(redactor, pieces) == redactor.text(text)


def test_words_are_shown_as_soon_as_no_secret_can_reach_into_them() -> None:
    stream = StreamRedactor(Redactor(["hunter22"]))
    assert stream.feed("The refund ") == "The refund "
    assert stream.feed("of 50 EUR is do") == "of 50 EUR is "
    assert stream.feed("ne. The password") == "done. The "
    assert stream.feed(" is hidden") == "password is "
    assert stream.end() == "hidden"


def test_a_script_without_spaces_is_shown_as_it_comes() -> None:
    assert StreamRedactor(Redactor()).feed("退款已经完成。谢谢 sk-") == "退款已经完成。谢谢 "


def test_without_secrets_and_shapes_everything_is_shown_at_once() -> None:
    assert StreamRedactor(Redactor(rules=())).feed("as it is\ud800") == "as it is\ud800"


def test_a_declared_secret_alone_holds_back_no_more_than_may_be_one() -> None:
    stream = StreamRedactor(Redactor(["hunter22"], rules=()))
    assert stream.feed("a hunt") == "a "
    assert stream.feed("ress, hunter2") == "huntress, "
    assert stream.feed("2!") == f"{MASK}!"
