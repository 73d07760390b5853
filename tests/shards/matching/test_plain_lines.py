"""Lines that say a whole name or a number, held to a plain list of companies (X5, X19)."""

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

some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)


def forms(iso2: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(FORMS[iso2]), max_size=1)


@st.composite
def companies(draw: st.DrawFn) -> list[Company]:
    """Companies whose names share words, some of them namesakes and siblings."""
    keys = st.tuples(st.sampled_from(COUNTRIES), st.sampled_from(NUMBERS))
    names = draw(st.lists(some_words, min_size=1, max_size=6))
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
def lists(draw: st.DrawFn) -> tuple[list[Company], Line]:
    """Companies, and a line with the words of one of them in another order and with another form, or with a number."""
    found = draw(companies())
    others = draw(st.lists(st.sampled_from(COUNTRIES), max_size=1))
    if draw(st.booleans()) or not found:
        return found, Line(None, tuple(others), id=draw(st.sampled_from(NUMBERS)))
    meant = draw(st.sampled_from(found))
    words = [word for word in meant["nom"].split() if word not in FORMS[meant["iso2"]]]
    nom = " ".join([*draw(st.permutations(words)), *draw(forms(meant["iso2"]))])
    countries = sorted({meant["iso2"], *others}) if draw(st.booleans()) else ()
    return found, Line(nom.upper() if draw(st.booleans()) else nom, tuple(countries))


# The words of a name tell more in one country than in another; it is the same name.
NAMESAKES: Final = [
    *(company("EE", number, "l'Escale l'Escale") for number in NUMBERS),
    *(company("FR", number, "l'Escale l'Escale") for number in NUMBERS),
]


@given(lists())
@example((NAMESAKES, Line("l'Escale l'Escale")))
def test_whom_a_line_says_in_full_is_a_candidate_and_alone_is_sure(
    case: tuple[list[Company], Line],
) -> None:
    """X5, X19: none is lost, `aucun` is not said of one, `sur` only where the oracle has no doubt"""
    found, line = case
    with OpenShards(found) as world:
        matcher = Matcher(
            world.shards,
            name_tables(),
            match_weights(),
            number_notation(),
            activities=activities.classes,
            coordonnees=True,
        )
        answer = matcher.match(line, 20)

    said = {"nom": line.nom, "id": line.id, "pays": line.pays}
    wanted = {(one["iso2"], one["id"]) for one in oracle.meant_by(found, said)}
    places = [(one.iso2, one.id) for one in answer.candidats]
    assert wanted <= set(places)
    if len(wanted) == 1 and len(line.pays) == 1:  # a form of one country may be one of another
        assert places[0] in wanted
        assert answer.verdict != NONE
    if answer.verdict == SURE:
        assert places[0] in wanted
        assert line.nom is None or oracle.name_says_enough(found, said)
