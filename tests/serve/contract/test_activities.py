"""Activities by words, compared with the oracle over every text of `seeds/` (extension X13)."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.contract import activities
from serve.contract.seed_tables import rows
from tests import oracle

Texts = list[tuple[str, str]]


def became() -> dict[str, list[str]]:
    """The classes of Rev. 2.1 that each class of Rev. 2 leads to."""
    found: dict[str, list[str]] = {}
    for row in rows("nace_crosswalk.csv"):
        found.setdefault(row["nace_rev2"], []).append(row["nace_rev21"])
    return found


def both_revisions(texts: Texts) -> Texts:
    leads = became()
    return [
        *texts,
        *((leads[code][0], text) for code, text in texts if len(leads.get(code, ())) == 1),
    ]


@cache
def labels() -> Texts:
    named = ("label_fr", "label_en")
    old = [(row["code"], row[name]) for row in rows("nace_classes.csv") for name in named]
    new = [(row["code"], row[name]) for row in rows("nace_classes_rev21.csv") for name in named]
    naf = [(row["code_nace"], row["label_fr"]) for row in rows("naf.csv")]
    return both_revisions([*old, *naf]) + new


@cache
def terms() -> Texts:
    return both_revisions([(row["nace"], row["terme"]) for row in rows("nace_termes.csv")])


@cache
def pieces() -> list[str]:
    """Some texts of every kind, which words are taken from."""
    return [text for _, text in labels()[::40] + terms()[::300]]


@st.composite
def asked(draw: st.DrawFn) -> str:
    """Words of one text or two in any order, some in capitals, in the plural, with others or unknown."""
    words = [
        word
        for text in draw(st.lists(st.sampled_from(pieces()), min_size=1, max_size=2))
        for word in text.split()
    ]
    chosen = draw(st.lists(st.sampled_from(words), min_size=1, max_size=4))
    changed = [draw(st.sampled_from(["{}", "{}", "{}s", "de {}"])).format(one) for one in chosen]
    if draw(st.booleans()):
        changed[0] = changed[0].upper()
    return " ".join([*changed, *draw(st.sampled_from([[], [], [], ["xyzzy"]]))])


@given(asked())
def test_the_classes_are_those_of_which_one_text_holds_every_word(text: str) -> None:
    expected = oracle.activities(labels() + terms(), text)

    assert list(activities.classes(text)) == expected


@given(asked() | st.sampled_from(pieces()))
def test_words_that_are_an_activity_by_themselves_are_those_of_the_oracle(text: str) -> None:
    assert list(activities.named_classes(text)) == oracle.named_activities(labels() + terms(), text)


@given(asked(), st.integers(0, 6))
def test_what_completes_a_text_is_what_the_oracle_finds(text: str, cut: int) -> None:
    q = text[: len(text) - cut]

    named, found = activities.completions(q)

    labelled = {code for code, label in labels() if oracle.completes_activity(label, q)}
    assert named == labelled
    assert found == labelled | {c for c, term in terms() if oracle.completes_activity(term, q)}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("steel", "24.10"), ("bakery", "10.71"), ("bakeries", "10.71"), ("hairdresser", "96.02"),
        ("courtage", "66.12"), ("courtage assurance", "66.22"), ("boulangerie", "10.71"), ("coiffure", "96.02"),
        ("coiffure", "96.21"), ("plumber", "43.22"), ("law firm", "69.10"), ("software", "62.01"),
        ("SOFTWARE", "62.10"), ("pâtisseries", "10.71"), ("patisserie", "10.71"), ("élevage de chevaux", "01.43"),
        ("cheval", "01.43"), ("travaux de plomberie", "43.22"), ("Logiciels", "62.01"), ("the estate agents", "68.31"),
        ("restaurants", "56.10"), ("restaurant", "56.11"), ("vente en ligne", "47.91"), ("acier", "24.10"),
    ],
)  # fmt: skip
def test_words_that_people_use_lead_to_their_class(text: str, code: str) -> None:
    assert code in activities.classes(text)


def test_every_official_label_and_every_name_of_a_term_is_an_activity_by_itself() -> None:
    texts = {text for _, text in labels() + terms() if text.islower() or text in dict(labels())}

    assert {text for text in texts if not activities.named_classes(text)} == set()


@pytest.mark.parametrize(
    "text",
    [
        "steel", "acier", "bakery", "boulangeries", "hairdresser", "coiffure", "courtage",
        "courtage assurance", "plumber", "law firm", "software", "restaurants", "vente en ligne",
        "élevage de chevaux", "Logiciels", "transport", "insurance", "haulage", "publicité", "immobilier",
        "real estate", "wine wholesale", "quarry", "pêche", "poissonnerie", "museum", "windows", "Zoo",
    ],
)  # fmt: skip
def test_words_for_a_trade_are_an_activity_by_themselves(text: str) -> None:
    assert activities.named_classes(text) == activities.classes(text) != ()


@pytest.mark.parametrize(
    "text",
    [
        "Royal", "Lyon", "Paris", "London", "England", "British", "international", "national", "general",
        "générale", "group", "solutions", "house", "home", "maison", "company", "compagnie", "société",
        "club", "centre", "union", "gold", "argent", "blue", "new", "first", "grand", "sea", "river",
        "bridge", "tower", "queen", "lord", "star", "design", "line", "art", "time", "life", "vie", "fils",
        "public", "support", "system", "office", "power", "not", "other", "made", "services", "manufacture",
        "commerce", "Lord Lyon",
    ],
)  # fmt: skip
def test_a_word_that_texts_hold_by_chance_is_no_activity(text: str) -> None:
    assert activities.named_classes(text) == ()


@pytest.mark.parametrize(
    "text", ["xyzzy", "steel xyzzy", "boulangerie coiffure", "stee", "de la", "…", ""]
)
def test_words_of_no_single_text_name_nothing(text: str) -> None:
    assert activities.classes(text) == ()


def test_a_class_of_the_newer_revision_has_the_terms_of_the_one_that_it_was() -> None:
    """Only of a class that led to it alone: 96.02 became two"""
    assert became()["62.01"] == ["62.10"]
    assert "62.10" in activities.classes("computer programming")
    assert len(became()["96.02"]) == 2
    assert activities.classes("beauty parlour") == ("96.02",)


def test_terms_are_of_classes_each_once_and_say_where_they_come_from() -> None:
    found = rows("nace_termes.csv")
    codes = {row["code"] for row in rows("nace_classes.csv") + rows("nace_classes_rev21.csv")}

    assert {row["nace"] for row in found} <= codes
    assert {(row["source"], row["lang"]) for row in found} == {
        ("ons", "en"), ("projet", "en"), ("projet", "fr"),
    }  # fmt: skip
    keys = [(row["nace"], row["lang"], row["terme"], row["source"]) for row in found]
    assert keys == sorted(set(keys))
    assert [row for row in found if not activities.content(row["terme"])] == []
