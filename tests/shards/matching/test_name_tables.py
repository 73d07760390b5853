"""Legal forms and abbreviations of the tables, as they are written in lists."""

import pytest

from serve.contract.seed_tables import name_tables
from shards.codec.folding import fold
from shards.matching.evidence import classes
from shards.matching.legal_forms import Words
from shards.matching.name_tables import NameTables


@pytest.fixture(scope="module")
def tables() -> NameTables:
    """The tables of the project."""
    return name_tables()


def words(text: str) -> Words:
    """The folded words of a text."""
    return tuple(fold(text).split())


@pytest.mark.parametrize(
    ("iso2", "spellings"),
    [
        ("UK", ["Royal Tool Ltd", "ROYAL TOOL LIMITED", "Ltd. Royal Tool", "Royal Tool L.T.D."]),
        ("FR", ["SARL Royal Tool", "Royal Tool S.A.R.L.", "Royal Tool SAS", "S.à r.l. Royal Tool"]),
        ("DE", ["Royal Tool GmbH & Co. KG", "Royal Tool GmbH&Co.KG", "Royal Tool mbH & Co. KG"]),
        ("PL", ["Royal Tool sp. z o.o.", "Royal Tool spółka z ograniczoną odpowiedzialnością"]),
        ("CZ", ["Royal Tool s.r.o.", "Royal Tool, spol. s r.o."]),
        ("EE", ["OÜ Royal Tool", "Royal Tool Osaühing", "aktsiaselts Royal Tool"]),
        ("BG", ["Royal Tool ЕООД", "Royal Tool EOOD"]),
        (
            "UK",
            [
                "Royal Tool Company Ltd",
                "Royal Tool COMPANY LIMITED",
                "Royal Tool CO LTD",
                "Royal Tool Co. Limited",
                "Royal Tool Company",
                "Royal Tool Co.",
            ],
        ),
        (
            "DE",
            [
                "Royal Tool Gesellschaft m.b.H. & Co. KG",
                "Royal Tool GmbH und Co. Kommanditges.",
                "Royal Tool GmbH & Compagnie KG",
                "Royal Tool Ges. m. b. H. & Co. Kommanditgesellschaft",
            ],
        ),
        ("LV", ["OAO Royal Tool", "Royal Tool JSC", "Royal Tool ОАО", "Royal Tool AS"]),
        ("SE", ["Royal Tool GmbH", "Royal Tool Aktiebolag", "Royal Tool A.B."]),
        ("PL", ["Royal Tool spółka z o.o.", "Royal Tool sp. z ograniczoną odpowiedzialnością"]),
        (
            "IT",
            [
                "Royal Tool società a r.l.",
                "Royal Tool S.R.L.",
                "Royal Tool soc. a responsabilità limitata",
            ],
        ),
        ("CZ", ["Royal Tool společnost s r.o.", "Royal Tool spol. s ručením omezeným"]),
        ("FR", ["Royal Tool Société d'exercice libéral par action simplifiée", "Royal Tool"]),
        (
            "FR",
            [
                "SA d'HLM Royal Tool",
                "Royal Tool S.A. d'habitations à loyer modéré",
                "Royal Tool SA HLM",
            ],
        ),
        ("FR", ["ASS ROYAL TOOL", "Association Royal Tool", "Royal Tool (association loi 1901)"]),
    ],
)
def test_a_legal_form_is_removed_in_any_spelling(
    tables: NameTables, iso2: str, spellings: list[str]
) -> None:
    bare_names = {tables.bare_name(words(text), iso2).words for text in spellings}

    assert bare_names == {("royal", "tool")}


def test_a_legal_form_has_a_class(tables: NameTables) -> None:
    def classes_of(text: str) -> frozenset[str]:
        """The classes of the legal forms of a British name."""
        return classes(tables.bare_name(words(text), "UK").forms)

    assert classes_of("Alfa Ltd") == {"limitee"}
    assert classes_of("Alfa PLC") == {"anonyme"}
    assert classes_of("Alfa") == set()


def test_a_short_form_inside_a_name_is_a_word_of_it(tables: NameTables) -> None:
    assert tables.bare_name(words("Alfa AG Beta GmbH"), "DE").words == ("alfa", "ag", "beta")


def test_a_name_that_is_only_a_legal_form_keeps_a_word(tables: NameTables) -> None:
    assert tables.bare_name(words("SA"), "FR").words == ("sa",)
    assert tables.bare_name(words("Limited Company"), "UK").words


def test_initials_are_one_word_and_words_like_and_are_removed(tables: NameTables) -> None:
    assert tables.bare_name(words("A.B.C. Trading & Sons Ltd"), "UK").words == (
        "abc",
        "trading",
        "sons",
    )
    assert tables.bare_name(words("ABC Trading and Sons"), "UK").words == ("abc", "trading", "sons")


def test_an_article_without_its_vowel_is_removed_from_a_french_name(tables: NameTables) -> None:
    for text in ("Maison de l'Escale d'Antony", "Maison Escale Antony"):
        assert tables.bare_name(words(text), "FR").words == ("maison", "escale", "antony")
    assert tables.bare_name(words("Caisse d'assurance de l'Oise"), "BE").words == (
        "caisse",
        "assurance",
        "oise",
    )
    assert tables.bare_name(words("L'Herbier"), "FR").words == ("herbier",)
    assert tables.bare_name(words("D. Leroy"), "FR").words == ("d", "leroy")  # an initial
    assert tables.bare_name(words("L.A. Transports"), "FR").words == ("la", "transports")
    assert tables.bare_name(words("D Harrington"), "UK").words == ("d", "harrington")
    assert tables.bare_name(words("L'"), "FR").words == ("l",)


def test_ste_before_a_preposition_is_societe_instead_of_sainte(tables: NameTables) -> None:
    for text in ("Sté des Colorants", "STE DES COLORANTS"):
        assert tables.bare_name(words(text), "FR").words == ("societe", "colorants")
    assert tables.bare_name(words("Ste d'Exploitation Royal"), "FR").words == (
        "societe",
        "exploitation",
        "royal",
    )
    assert tables.bare_name(words("Pharmacie Ste Marie"), "FR").words == (
        "pharmacie",
        "ste",
        "marie",
    )


def test_company_is_a_legal_form_only_after_a_name(tables: NameTables) -> None:
    assert tables.bare_name(words("Company Doctors Ltd"), "UK").words == ("company", "doctors")


def test_a_form_of_another_country_is_removed_only_at_an_end(tables: NameTables) -> None:
    assert tables.bare_name(words("Corporation Street Ltd"), "UK").words == (
        "corporation",
        "street",
    )
    assert tables.bare_name(words("The Inc Pot Ltd"), "UK").words == ("inc", "pot")


def test_numbers_and_letters_are_compared_by_their_meaning(tables: NameTables) -> None:
    def key(word: str) -> str:
        """The key by which a word is compared."""
        return tables.key(word, umlauts=False)

    assert key("first") == key("1st")
    assert key("four") == key("4") == key("vier")
    assert key("ромашка") == key("romashka")
    assert key("ψυχη") == "psychi"
