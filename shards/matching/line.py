"""A line of a list to match, and what is answered to it (extensions X5)."""

from dataclasses import dataclass
from typing import Final

SURE: Final = "sur"
LIKELY: Final = "probable"
AMBIGUOUS: Final = "ambigu"
NONE: Final = "aucun"

# Why a value of a line was left out, or counts for less than it says.
UNREADABLE: Final = (
    "id_illisible", "tva_illisible", "lei_illisible", "pays_illisible", "date_illisible",
    "date_ambigue", "propriete_inconnue",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """What somebody knows of a company. At least one of `nom`, `id`, `tva` and `lei` is given.

    Attributes:
        pays: codes of countries, of which the base may have none; empty means any.
        date_creation: YYYY, YYYY-MM or YYYY-MM-DD.
        activite: a code of the NACE, or words.
        illisibles: codes of UNREADABLE: what could not be read of the line.
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
    """A company that a line may mean: `note` is the probability that it does.

    Attributes:
        raisons: codes of what agrees and what differs, of `evidence.REASONS`.
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
    """The answer to a line, best candidate first."""

    verdict: str
    candidats: tuple[Candidate, ...]

    @property
    def meant_candidate(self) -> Candidate | None:
        """The company that the line means, surely or in all likelihood."""
        return self.candidats[0] if self.verdict in (SURE, LIKELY) else None
