"""The pages of an account: the account itself, log-in, members, links of mails, prices and payments.

They use the services that `operations` opens.
"""

from typing import Final

from serve.contract.text import Text
from serve.features.account.pages import account, login, members, one_time_links, payment
from serve.surfaces.site.routes import WebRoute

PAGES: Final = (
    WebRoute(
        "/tarifs", "tarifs", payment.prices, payment.buy, guarded=False, kept=True,
        menu=Text("Tarifs", "Pricing"), place=40,
    ),
    WebRoute("/compte", "compte", account.show, personal=True, closed=True),
    WebRoute(
        "/connexion", "connexion", login.log_in_form, login.log_in,
        remembers=True, parameters=("suite",), closed=True,
    ),
    WebRoute(
        "/inscription", "inscription", login.sign_up_form, login.sign_up, remembers=True, closed=True
    ),
    WebRoute("/deconnexion", "deconnexion", post=login.log_out, closed=True),
    WebRoute("/compte/cles", "cle", post=account.create_key, personal=True),
    WebRoute("/compte/cles/revocation", "revocation", post=account.revoke_key, personal=True),
    WebRoute("/compte/adresses", "adresse", post=account.create_address, personal=True),
    WebRoute(
        "/compte/adresses/revocation", "adresse-revocation", post=account.revoke_address, personal=True
    ),
    WebRoute("/compte/mot-de-passe", "mot-de-passe", post=account.change_password, personal=True),
    WebRoute(
        "/compte/confirmation", "envoi-confirmation", post=one_time_links.send_confirmation, personal=True
    ),
    WebRoute("/compte/membres", "membres", members.show, members.change, personal=True),
    WebRoute("/compte/facturation", "facturation", post=payment.invoices, personal=True),
    WebRoute(
        "/paiement/evenements", "evenements", post=payment.event,
        guarded=False, signature="Stripe-Signature",
    ),
    WebRoute(
        "/mot-de-passe", "mot-de-passe-perdu", one_time_links.lost_form,
        one_time_links.send_password_link, remembers=True,
    ),
    WebRoute(
        "/mot-de-passe/{token}", "lien-mot-de-passe", one_time_links.show_password,
        one_time_links.set_password, remembers=True, secret=True, example="/mot-de-passe/x",
    ),
    WebRoute(
        "/invitation/{token}", "invitation", one_time_links.show_invitation, one_time_links.accept,
        remembers=True, secret=True, example="/invitation/x",
    ),
    WebRoute(
        "/confirmation/{token}", "confirmation", one_time_links.show_confirmation, one_time_links.confirm,
        personal=True, secret=True, example="/confirmation/x",
    ),
)  # fmt: skip
