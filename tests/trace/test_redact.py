"""Redaction masks what is secret, leaves what is not, and changes nothing when it is done twice."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.errors import DefinitionError
from remit.trace import DEFAULT, Redactor, Rule
from remit.types.ident import Json
from remit.types.secret import MASK

TEXT = st.text(st.characters() | st.sampled_from("[]\"'\\:= \nabc14"))
SNIPPETS = st.sampled_from(
    [
        "password=hunter2",
        'api_key: "k 1"',
        "Authorization: Bearer abc.def.ghi",
        "postgres://bob:p@ss@db.internal/x",
        "4111 1111 1111 1111",
        "sk-ant-api03-AAAAAAAAAAAAAAAAAAAA",
        "-----BEGIN PRIVATE KEY-----",
        MASK,
        "[redac",
        "ted]",
        " ",
        ",",
        "1",
    ]
)
BUSY = st.lists(SNIPPETS | TEXT, max_size=8).map("".join)
SECRETS = st.lists(st.text(min_size=4, max_size=12) | st.sampled_from(["[redacted]", "redacted", "cted", "ted]"]), max_size=4)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("DB_PASSWORD=hunter2 x", f"DB_PASSWORD={MASK} x"),
        ('{"password": "hun ter2", "user": "bob"}', f'{{"password": "{MASK}", "user": "bob"}}'),
        ("https://shop.test/?access_token=abc&page=1", f"https://shop.test/?access_token={MASK}&page=1"),
        ("Authorization: Basic Zm9vOmJhcg==\nAccept: */*", f"Authorization: {MASK}\nAccept: */*"),
        ('{"authorization": "Digest a, b", "n": 1}', f'{{"authorization": "{MASK}", "n": 1}}'),
        ("Set-Cookie: sid=31d4; Path=/", f"Set-Cookie: {MASK}"),
        ("sent bearer abcdefghijklmnop123 there", f"sent bearer {MASK} there"),
        ("could not connect to postgres://bob:p@ss@db.internal:5432/x now", f"could not connect to postgres://{MASK} now"),
        ("redis://:hunter2@cache/0", f"redis://{MASK}"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end", f"jwt {MASK} end"),
        ("key sk-ant-api03-abcdefghijklmnopqrst.", f"key {MASK}."),
        ("stripe sk_live_abcdefghij", f"stripe {MASK}"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", MASK),
        ("xoxb-123456789012-abcdefghij", MASK),
        ("AKIAIOSFODNN7EXAMPLE is an access key id", f"{MASK} is an access key id"),
        ("AIzaSyA-1234567890abcdefghijklmnopqrstu", MASK),
        ("card 4111 1111 1111 1111, 378282246310005", f"card {MASK}, {MASK}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", f"{MASK}\nrest"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE, cut off here", MASK),
    ],
)
def test_a_secret_shape_is_masked_and_its_surroundings_stay(text: str, masked: str) -> None:
    assert Redactor().text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "order A-12345 of run_0123456789abcdefghjk was refunded",
        "max_tokens=4096, tokens: 12",
        "4111 1111 1111 1112 has a wrong check digit",
        "1767225600000",
        "see http://shop.test:8080/orders",
        "the bearer of good news",
        "",
        "grüße, 你好",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert Redactor().text(text) == text


def test_a_declared_secret_is_found_plain_escaped_and_in_a_url() -> None:
    secret = 'pa"ss w\u00f6rd'
    redactor = Redactor([secret])
    for spelling in (
        secret,
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        "q=pa%22ss%20w%C3%B6rd",
        "q=pa%22ss+w%C3%B6rd",
    ):
        assert MASK in redactor.text(spelling)
        assert "ss" not in redactor.text(spelling)


def test_of_two_declared_secrets_the_longer_is_masked_whole() -> None:
    assert Redactor(["hunter", "hunter-and-prey"]).text("x hunter-and-prey x hunter x") == f"x {MASK} x {MASK} x"


def test_a_declared_secret_with_a_space_is_masked_whole_behind_a_name() -> None:
    assert Redactor(["abc def"]).text("password=abc def.") == f"password={MASK}."


def test_a_declared_secret_of_digits_is_masked_in_a_number() -> None:
    assert Redactor(["271828"]).value({"a": 271828, "b": [3]}) == {"a": MASK, "b": [3]}


def test_a_secret_too_short_to_mask_is_refused() -> None:
    with pytest.raises(DefinitionError, match="at least 4"):
        Redactor(["abc"])


def test_a_value_is_masked_in_strings_keys_and_under_sensitive_names() -> None:
    value: Json = {
        "user": "bob",
        "accessToken": 17,
        "X-Api-Key": {"deep": ["x"]},
        "max_tokens": 5,
        "has_password": True,
        "secret": None,
        "ghp_abcdefghijklmnopqrstuvwxyz": 1,
        "ghp_abcdefghijklmnopqrstuvwxy0": 2,
        "card": 4111111111111111,
        "list": ["password: x"],
    }
    assert Redactor().value(value) == {
        "user": "bob",
        "accessToken": MASK,
        "X-Api-Key": MASK,
        "max_tokens": 5,
        "has_password": True,
        "secret": None,
        MASK: 1,
        f"{MASK} 2": 2,
        "card": MASK,
        "list": [f"password: {MASK}"],
    }


def test_rules_can_be_added_and_left_out() -> None:
    email = Rule("e-mail address", r"[\w.+-]+@[\w-]+\.[\w.]+")
    assert Redactor(rules=(*DEFAULT, email)).text("a@b.test password=x") == f"{MASK} password={MASK}"
    assert Redactor(rules=()).text("password=x") == "password=x"


def test_a_lone_surrogate_does_not_stop_redaction() -> None:
    assert Redactor().text("\ud800 password=hunter2") == f"? password={MASK}"


@given(BUSY, SECRETS)
@example("password=4111 1111 1111 1111", ["1111"])
@example("[redac[redacted]ted]", ["[redacted]"])
def test_redacting_twice_is_redacting_once(text: str, secrets: list[str]) -> None:
    redactor = Redactor(secrets)
    once = redactor.text(text)
    assert redactor.text(once) == once


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | BUSY,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(BUSY | st.sampled_from(["token", "a"]), inner, max_size=3),
        max_leaves=8,
    ),
    SECRETS,
)
def test_redacting_a_value_twice_is_redacting_it_once(value: Json, secrets: list[str]) -> None:
    redactor = Redactor(secrets)
    once = redactor.value(value)
    assert redactor.value(once) == once


@given(
    BUSY,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=12).filter(
        lambda secret: MASK not in secret and secret not in MASK
    ),
    BUSY,
)
def test_a_declared_secret_is_nowhere_in_what_comes_out(before: str, secret: str, after: str) -> None:
    masked = Redactor([secret]).text(f"{before}{secret}{after}")
    assert all(secret not in piece for piece in masked.split(MASK))
