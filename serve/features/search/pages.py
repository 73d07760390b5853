"""The pages of a search: the explorer, the front page and /propositions.

The explorer and the front page have their own modules. /propositions is the list of completions that the script shows
under the search field (X4): the answer of /api/v1/suggestions with the visitor's rights. The list does not count as a
call.
"""

from typing import Final, NamedTuple

from serve.access.call import Response
from serve.contract import parameters
from serve.contract.text import Text
from serve.features.search import explorer_page
from serve.features.search.answers import Suggestions
from serve.features.search.suggestions import suggestions
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page
from serve.surfaces.site.search_form import query_string

# The most parameters of an address; many, because a form can send every country and sector as a separate parameter.
_MOST_PAIRS: Final = 512
# The names of the parameters of a search.
_SEARCHED: Final = frozenset(parameters.names(parameters.SEARCH))


class Proposal(NamedTuple):
    """A completion in the list: its label, a note and its link; `etat` is set only for a company."""

    label: str
    note: str
    href: str
    etat: str | None = None


async def proposals(request: PageRequest) -> Response:
    """The list of completions; empty if the text has none.

    Raises:
        ApiError: 400, 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        call = request.ask("/api/v1/suggestions")
        content = (await suggestions(call, generation).run()).content
        assert content is not None  # None only in a 304, which needs If-None-Match
        options = _proposals(request, generation, content)
    return page(request, "suggestions.html", options=options)


def _proposals(
    request: PageRequest, generation: OpenGeneration, result: Suggestions
) -> list[Proposal]:
    """The completions with their links: companies, then sectors, activities, towns and words.

    A company leads to its page, the other completions to a search.
    """
    names = formatting.labels(request, generation.reference)
    formats, translate = formatting.formats_of(request.lang), request.t
    proposals = [
        Proposal(
            company.nom,
            ", ".join(part for part in (company.ville, names[company.iso2]) if part),
            request.context.pages.company_path(company.iso2, company.id),
            company.etat,
        )
        for company in result.societes
    ]
    proposals += [
        Proposal(translate(sector.secteur, sector.secteur_en), translate("secteur", "sector"),
                 f"/?{query_string([('secteur', sector.slug)])}")
        for sector in result.secteurs
    ]  # fmt: skip
    proposals += [
        Proposal(translate(activity.libelle, activity.libelle_en),
                 translate("activité · ", "activity · ") + formats.number(activity.n),
                 f"/?{query_string([('nace', activity.nace)])}")
        for activity in result.activites
    ]  # fmt: skip
    proposals += [
        Proposal(town.ville, translate("ville · ", "town · ") + formats.number(town.n),
                 f"/?{query_string([('ville', town.ville)])}")
        for town in result.villes
    ]  # fmt: skip
    # A completion is a word in place of the last typed word, so the words before it stay.
    *words_before, _ = result.q.split() or [""]
    proposals += [
        Proposal(" ".join([*words_before, word.mot]), translate("mot · ", "word · ") + formats.number(word.n),
                 f"/?{query_string([('q', ' '.join([*words_before, word.mot]))])}")
        for word in result.mots
    ]  # fmt: skip
    return proposals


PAGES: Final = (
    WebRoute(
        "/", "explorateur", explorer_page.explorer, parameters=_SEARCHED, pairs=_MOST_PAIRS,
        menu=Text("Explorer", "Explore"), below="/societes/", place=10,
    ),
    WebRoute(
        "/chiffres", "chiffres", explorer_page.figures, parameters=_SEARCHED, pairs=_MOST_PAIRS, closed=True
    ),
    WebRoute("/propositions", "propositions", proposals, closed=True),
)  # fmt: skip
