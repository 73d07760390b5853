"""A company as an `Organization` of schema.org, for search engines: public fields alone. Pure."""

from collections.abc import Mapping
from typing import Any

from serve.surfaces.site import formatting


def organization(company: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The known fields in the words of schema.org."""
    address = {
        "streetAddress": company["adresse"],
        "postalCode": company["code_postal"],
        "addressLocality": company["ville"],
        "addressRegion": company["region"],
        "addressCountry": "GB" if company["iso2"] == "UK" else company["iso2"],
    }
    fields = {
        "legalName": company["nom"],
        "identifier": company["id"],
        "vatID": company["tva"],
        "leiCode": company["lei"],
        "foundingDate": company["date_creation"],
        "numberOfEmployees": company["effectif"],
        "sameAs": formatting.web(company["url_registre"]),
    }
    return {
        "@context": "https://schema.org",
        "@type": "Organization",
        "name": company["nom"],
        "url": origin + formatting.record_path(company["iso2"], company["id"]),
        **{name: value for name, value in fields.items() if value is not None},
        "address": {
            "@type": "PostalAddress",
            **{name: value for name, value in address.items() if value is not None},
        },
    }
