"""The pages of an account: the account itself, log-in, members, links in mails, prices and payments.

They use the services that `operations` opens.
"""

from typing import Final

from serve.contract.text import Text
from serve.features.account import account_page, log_in_page, members_page, payment_page
from serve.surfaces.site.page_request import WebRoute

PAGES: Final = (
    WebRoute(
        "/tarifs", "tarifs", payment_page.prices, payment_page.buy, guarded=False, cached=True,
        menu=Text("Tarifs", "Pricing"), place=40,
    ),
    WebRoute("/compte", "compte", account_page.show, personal=True, closed=True),
    WebRoute(
        "/connexion", "connexion", log_in_page.log_in_form, log_in_page.log_in,
        remembers=True, parameters=("suite",), closed=True,
    ),
    WebRoute(
        "/inscription", "inscription", log_in_page.sign_up_form, log_in_page.sign_up, remembers=True, closed=True
    ),
    WebRoute("/deconnexion", "deconnexion", post=log_in_page.log_out, closed=True),
    WebRoute("/compte/cles", "cle", post=account_page.create_key, personal=True),
    WebRoute("/compte/cles/revocation", "revocation", post=account_page.revoke_key, personal=True),
    WebRoute("/compte/adresses", "adresse", post=account_page.create_address, personal=True),
    WebRoute(
        "/compte/adresses/revocation", "adresse-revocation", post=account_page.revoke_address, personal=True
    ),
    WebRoute("/compte/mot-de-passe", "mot-de-passe", post=account_page.change_password, personal=True),
    WebRoute(
        "/compte/confirmation", "envoi-confirmation", post=log_in_page.send_confirmation, personal=True
    ),
    WebRoute("/compte/membres", "membres", members_page.show, members_page.change, personal=True),
    WebRoute("/compte/facturation", "facturation", post=payment_page.invoices, personal=True),
    WebRoute(
        "/paiement/evenements", "evenements", post=payment_page.receive_event,
        guarded=False, signature="Stripe-Signature",
    ),
    WebRoute(
        "/mot-de-passe", "mot-de-passe-perdu", log_in_page.lost_password_form,
        log_in_page.send_password_link, remembers=True,
    ),
    WebRoute(
        "/mot-de-passe/{token}", "lien-mot-de-passe", log_in_page.show_password,
        log_in_page.set_password, remembers=True, secret=True, example="/mot-de-passe/x",
    ),
    WebRoute(
        "/invitation/{token}", "invitation", log_in_page.show_invitation, log_in_page.accept_invitation,
        remembers=True, secret=True, example="/invitation/x",
    ),
    WebRoute(
        "/confirmation/{token}", "confirmation", log_in_page.show_confirmation, log_in_page.confirm_address,
        personal=True, secret=True, example="/confirmation/x",
    ),
)  # fmt: skip
