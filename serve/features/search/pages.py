"""The pages of a search: the explorer and the front page, which have modules of their own, and /propositions.

/propositions is what completes the text of the search field, as a list for the script (X4): /suggestions of the API
with the rights of the person, at no call.
"""

from typing import Final, NamedTuple

from serve.access.call import Response
from serve.contract import parameters
from serve.contract.company_answers import Suggestions
from serve.contract.text import Text
from serve.features.search import explorer_page
from serve.features.search.suggestions import suggestions
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page
from serve.surfaces.site.search_form import query_string

# A search by the form may name every country and sector, each by a parameter of its own.
_PAIRS: Final = 512
_SEARCHED: Final = frozenset(parameters.names(parameters.SEARCH))


class Proposal(NamedTuple):
    """One line of the list: where it leads, and what stands beside it; `etat` only for a company."""

    label: str
    note: str
    href: str
    etat: str | None = None


async def proposals(request: PageRequest) -> Response:
    """The list; empty for a text that nothing completes.

    Raises:
        ApiError: 400, 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        asked = request.ask("/api/v1/suggestions")
        content = (await suggestions(asked, generation).run()).content
        assert content is not None  # without If-None-Match there is no 304
        options = _proposals(request, generation, content)
    return page(request, "suggestions.html", options=options)


def _proposals(
    request: PageRequest, generation: OpenGeneration, result: Suggestions
) -> list[Proposal]:
    """Companies, then sectors, activities, towns and words."""
    names = formatting.labels(request, generation.reference)
    shown, t = formatting.formats_of(request.lang), request.t
    proposals = [
        Proposal(
            one.nom,
            ", ".join(part for part in (one.ville, names[one.iso2]) if part),
            request.context.pages.company_path(one.iso2, one.id),
            one.etat,
        )
        for one in result.societes
    ]
    proposals += [
        Proposal(t(one.secteur, one.secteur_en), t("secteur", "sector"),
                 f"/?{query_string([('secteur', one.slug)])}")
        for one in result.secteurs
    ]  # fmt: skip
    proposals += [
        Proposal(t(one.libelle, one.libelle_en), t("activité · ", "activity · ") + shown.number(one.n),
                 f"/?{query_string([('nace', one.nace)])}")
        for one in result.activites
    ]  # fmt: skip
    proposals += [
        Proposal(one.ville, t("ville · ", "town · ") + shown.number(one.n),
                 f"/?{query_string([('ville', one.ville)])}")
        for one in result.villes
    ]  # fmt: skip
    *typed, _ = result.q.split() or [""]
    proposals += [
        Proposal(" ".join([*typed, one.mot]), t("mot · ", "word · ") + shown.number(one.n),
                 f"/?{query_string([('q', ' '.join([*typed, one.mot]))])}")
        for one in result.mots
    ]  # fmt: skip
    return proposals


PAGES: Final = (
    WebRoute(
        "/", "explorateur", explorer_page.explorer, parameters=_SEARCHED, pairs=_PAIRS,
        menu=Text("Explorer", "Explore"), below="/societes/", place=10,
    ),
    WebRoute(
        "/chiffres", "chiffres", explorer_page.figures, parameters=_SEARCHED, pairs=_PAIRS, closed=True
    ),
    WebRoute("/propositions", "propositions", proposals, closed=True),
)  # fmt: skip
