"""The objects of /healthz and /readyz; `texts.csv` has the meaning of each field."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.declaration import AnswerObject, Keywords

StatutVivant = Annotated[str, Keywords(enum=["vivant"])]
StatutPret = Annotated[str, Keywords(enum=["pret"])]


class Vivant(AnswerObject):
    statut: StatutVivant


class Pret(AnswerObject):
    statut: StatutPret
    generation: str
    precedente: str | None
    refusee: str | None
    pays_manquants: Sequence[str]
    pid: int
