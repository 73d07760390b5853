"""Activities by words, compared with the oracle over all texts of `seeds/` (extension X13)."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.contract import activities
from serve.contract.seed_tables import rows
from tests import oracle

CodedTexts = list[tuple[str, str]]  # the code of a class, and a text of it


def successors() -> dict[str, list[str]]:
    """The classes of Rev. 2.1 that replace each class of Rev. 2."""
    classes: dict[str, list[str]] = {}
    for row in rows("nace_crosswalk.csv"):
        classes.setdefault(row["nace_rev2"], []).append(row["nace_rev21"])
    return classes


def with_newer_codes(texts: CodedTexts) -> CodedTexts:
    """Texts of Rev. 2, also with the code of Rev. 2.1 if a single class replaces theirs."""
    newer = successors()
    return [
        *texts,
        *((newer[code][0], text) for code, text in texts if len(newer.get(code, ())) == 1),
    ]


@cache
def labels() -> CodedTexts:
    """The official names of classes: of both revisions, and of the French NAF."""
    columns = ("label_fr", "label_en")
    old = [(row["code"], row[column]) for row in rows("nace_classes.csv") for column in columns]
    new = [
        (row["code"], row[column]) for row in rows("nace_classes_rev21.csv") for column in columns
    ]
    naf = [(row["code_nace"], row["label_fr"]) for row in rows("naf.csv")]
    return with_newer_codes([*old, *naf]) + new


@cache
def terms() -> CodedTexts:
    """Other words for classes, such as names of trades."""
    return with_newer_codes([(row["nace"], row["terme"]) for row in rows("nace_termes.csv")])


@cache
def sample_texts() -> list[str]:
    """Every 40th label and every 300th term, of which queries take words."""
    return [text for _, text in labels()[::40] + terms()[::300]]


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw words of one or two texts in any order: some in capitals, in the plural, or with other words."""
    words = [
        word
        for text in draw(st.lists(st.sampled_from(sample_texts()), min_size=1, max_size=2))
        for word in text.split()
    ]
    drawn = draw(st.lists(st.sampled_from(words), min_size=1, max_size=4))
    changed = [draw(st.sampled_from(["{}", "{}", "{}s", "de {}"])).format(word) for word in drawn]
    if draw(st.booleans()):
        changed[0] = changed[0].upper()
    return " ".join([*changed, *draw(st.sampled_from([[], [], [], ["xyzzy"]]))])


@given(queries())
def test_a_class_has_a_text_with_every_word(text: str) -> None:
    expected = oracle.activities(labels() + terms(), text)

    assert list(activities.classes(text)) == expected


@given(queries() | st.sampled_from(sample_texts()))
def test_the_classes_that_a_text_names_completely_are_those_of_the_oracle(text: str) -> None:
    assert list(activities.activity_classes(text)) == oracle.named_activities(
        labels() + terms(), text
    )


@given(queries(), st.integers(0, 6))
def test_completions_are_those_of_the_oracle(text: str, letters_missing: int) -> None:
    typed = text[: len(text) - letters_missing]

    by_label, by_any_text = activities.completions(typed)

    labelled = {code for code, label in labels() if oracle.completes_activity(label, typed)}
    assert by_label == labelled
    assert by_any_text == labelled | {
        code for code, term in terms() if oracle.completes_activity(term, typed)
    }


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
    """In French and English, singular and plural, with and without capitals and accents"""
    assert code in activities.classes(text)


def test_every_official_label_and_every_common_noun_of_the_terms_names_an_activity() -> None:
    texts = {text for _, text in labels() + terms() if text.islower() or text in dict(labels())}

    assert {text for text in texts if not activities.activity_classes(text)} == set()


@pytest.mark.parametrize(
    "text",
    [
        "steel", "acier", "bakery", "boulangeries", "hairdresser", "coiffure", "courtage",
        "courtage assurance", "plumber", "law firm", "software", "restaurants", "vente en ligne",
        "élevage de chevaux", "Logiciels", "transport", "insurance", "haulage", "publicité", "immobilier",
        "real estate", "wine wholesale", "quarry", "pêche", "poissonnerie", "museum", "windows", "Zoo",
    ],
)  # fmt: skip
def test_words_for_a_trade_name_an_activity(text: str) -> None:
    assert activities.activity_classes(text) == activities.classes(text) != ()


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
def test_a_word_that_texts_have_by_chance_names_no_activity(text: str) -> None:
    """Such words are in names of companies, so a search for a name must not become a search for a trade"""
    assert activities.activity_classes(text) == ()


@pytest.mark.parametrize(
    "text", ["xyzzy", "steel xyzzy", "boulangerie coiffure", "stee", "de la", "…", ""]
)
def test_words_that_no_text_of_an_activity_contains_have_no_class(text: str) -> None:
    assert activities.classes(text) == ()


def test_a_class_of_the_newer_revision_has_the_terms_of_the_class_that_it_replaces() -> None:
    """Only if the older class has a single successor: 62.01 has one, 96.02 has two"""
    assert successors()["62.01"] == ["62.10"]
    assert "62.10" in activities.classes("computer programming")
    assert len(successors()["96.02"]) == 2
    assert activities.classes("beauty parlour") == ("96.02",)


def test_terms_are_unique_and_have_a_class_and_a_source() -> None:
    term_rows = rows("nace_termes.csv")
    codes = {row["code"] for row in rows("nace_classes.csv") + rows("nace_classes_rev21.csv")}

    assert {row["nace"] for row in term_rows} <= codes
    assert {(row["source"], row["lang"]) for row in term_rows} == {
        ("ons", "en"), ("projet", "en"), ("projet", "fr"),
    }  # fmt: skip
    keys = [(row["nace"], row["lang"], row["terme"], row["source"]) for row in term_rows]
    assert keys == sorted(set(keys))
    assert [row for row in term_rows if not activities.content(row["terme"])] == []
