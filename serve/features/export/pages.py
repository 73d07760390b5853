"""The form of a page that asks for an export."""

from typing import Final

from serve.features.export import form
from serve.surfaces.site.routes import WebRoute

PAGES: Final = (WebRoute("/export", "export-page", post=form.download, personal=True),)
