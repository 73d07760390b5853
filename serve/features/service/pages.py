"""The pages of the service: its status and its legal notice."""

from typing import Final

from serve.contract.text import Text
from serve.features.service import legal, status
from serve.surfaces.site.routes import WebRoute

PAGES: Final = (
    WebRoute("/statut", "statut", status.status, menu=Text("Statut", "Status"), place=60),
    WebRoute("/mentions-legales", "mentions-legales", legal.legal_notice, kept=True),
    WebRoute("/confidentialite", "confidentialite", legal.privacy),
)
