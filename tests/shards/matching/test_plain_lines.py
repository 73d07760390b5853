"""Lines with a complete name or a number, compared with a plain list of companies (X5, X19)."""

from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from serve.contract import activities
from serve.contract.seed_tables import match_weights, name_tables, number_notation
from shards.matching.line import NONE, SURE, Line
from shards.matching.matcher import Matcher
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.world import COUNTRIES, Company, company

SIBLINGS: Final = ("group", "Holding", "Leeds", "7")
WORDS: Final = (
    "Œuvre", "Straße", "Łódź", "Žižkov", "Ærø", "heron", "Heron", "HÉRON", "lantern", "lanterne", "bakery", "hfm",
    "21", "1e", *SIBLINGS, "&", "l'Escale", "d'Or", "O'Neil", "(Nord)", "n°1", "Виктория", "ψυχή",
    "½", "-", "société", "House of Kilns", "The Kiln", "Four et Fils",
)  # fmt: skip
FORMS: Final = {"EE": ("OÜ", "as"), "FR": ("SARL", "sas"), "UK": ("Ltd", "LIMITED", "plc")}
NUMBERS: Final = ("944111", "00944111", "SC012", "SC12", "327961538", "HRB 7")

name_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)


def forms(iso2: str) -> st.SearchStrategy[list[str]]:
    """No legal form, or one of the country."""
    return st.lists(st.sampled_from(FORMS[iso2]), max_size=1)


@st.composite
def companies(draw: st.DrawFn) -> list[Company]:
    """Companies whose names share words; some are namesakes or siblings."""
    keys = st.tuples(st.sampled_from(COUNTRIES), st.sampled_from(NUMBERS))
    names = draw(st.lists(name_words, min_size=1, max_size=6))
    names.append([*names[0], draw(st.sampled_from(SIBLINGS))])
    former = st.lists(st.sampled_from(names), max_size=1)
    return [
        company(
            iso2,
            identifier,
            " ".join([*draw(st.sampled_from(names)), *draw(forms(iso2))]),
            ville=draw(st.sampled_from((None, "Leeds", "Łódź"))),
            noms_anterieurs=[" ".join(words) for words in draw(former)] or None,
        )
        for iso2, identifier in sorted(draw(st.sets(keys, max_size=10)))
    ]


@st.composite
def companies_and_line(draw: st.DrawFn) -> tuple[list[Company], Line]:
    """Companies, and a line that names one in full (in any order, with any legal form), or that has a number.

    The countries of the line have that of the company, or there are none.
    """
    dataset = draw(companies())
    more_countries = draw(st.lists(st.sampled_from(COUNTRIES), max_size=1))
    if draw(st.booleans()) or not dataset:
        return dataset, Line(None, tuple(more_countries), id=draw(st.sampled_from(NUMBERS)))
    subject = draw(st.sampled_from(dataset))
    words = [word for word in subject["nom"].split() if word not in FORMS[subject["iso2"]]]
    nom = " ".join([*draw(st.permutations(words)), *draw(forms(subject["iso2"]))])
    countries = sorted({subject["iso2"], *more_countries}) if draw(st.booleans()) else ()
    return dataset, Line(nom.upper() if draw(st.booleans()) else nom, tuple(countries))


# The same name; its words are more informative in one country than in the other.
NAMESAKES: Final = [
    *(company("EE", number, "l'Escale l'Escale") for number in NUMBERS),
    *(company("FR", number, "l'Escale l'Escale") for number in NUMBERS),
]


@given(companies_and_line())
@example((NAMESAKES, Line("l'Escale l'Escale")))
def test_companies_that_a_line_names_in_full_are_candidates(
    case: tuple[list[Company], Line],
) -> None:
    """X5, X19: a single company does not get `aucun`; `sur` requires that the oracle has no doubt"""
    dataset, line = case
    with OpenShards(dataset) as world:
        matcher = Matcher(
            world.shards,
            name_tables(),
            match_weights(),
            number_notation(),
            activities=activities.classes,
            coordonnees=True,
        )
        result = matcher.match(line, 20)

    fields = {"nom": line.nom, "id": line.id, "pays": line.pays}
    expected = {(entry["iso2"], entry["id"]) for entry in oracle.meant_companies(dataset, fields)}
    places = [(candidate.iso2, candidate.id) for candidate in result.candidats]
    assert expected <= set(places)
    if len(expected) == 1 and len(line.pays) == 1:  # a word may be a legal form in one country only
        assert places[0] in expected
        assert result.verdict != NONE
    if result.verdict == SURE:
        assert places[0] in expected
        assert line.nom is None or oracle.name_says_enough(dataset, fields)
