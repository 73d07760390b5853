"""A line of a list to match, and its result (extensions X5)."""

from dataclasses import dataclass
from typing import Final

# The verdicts, from the surest.
SURE: Final = "sur"
LIKELY: Final = "probable"
AMBIGUOUS: Final = "ambigu"
NONE: Final = "aucun"

# Why a value of a line is left out, or has less weight.
UNREADABLE: Final = (
    "id_illisible", "tva_illisible", "lei_illisible", "pays_illisible", "date_illisible",
    "date_ambigue", "propriete_inconnue",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a line, which describe one company. At least one of `nom`, `id`, `tva` and `lei` is set.

    Attributes:
        pays: country codes; the base can have no company of a country. Empty means any country.
        date_creation: YYYY, YYYY-MM or YYYY-MM-DD.
        activite: a NACE code, or words.
        illisibles: codes of UNREADABLE for the values of the line that could not be read.
    """

    nom: str | None = None
    pays: tuple[str, ...] = ()
    id: str | None = None
    tva: str | None = None
    ville: str | None = None
    code_postal: str | None = None
    date_creation: str | None = None
    adresse: str | None = None
    activite: str | None = None
    site_web: str | None = None
    email: str | None = None
    lei: str | None = None
    illisibles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A company that a line may mean; `note` is the probability of a correct match.

    Attributes:
        raisons: codes of the agreements and differences, from `evidence.REASONS`.
    """

    iso2: str
    id: str
    nom: str
    ville: str | None
    code_postal: str | None
    etat: str | None
    note: float
    raisons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a line, best candidate first."""

    verdict: str
    candidats: tuple[Candidate, ...]

    @property
    def likely_candidate(self) -> Candidate | None:
        """The best candidate if the verdict is SURE or LIKELY, else None."""
        return self.candidats[0] if self.verdict in (SURE, LIKELY) else None
