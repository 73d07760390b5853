"""The text of mails: an invitation, a link for another password or to confirm an address, in French and English.

A mail is plain text with one link. The name of the organisation stands in its body alone, because
its members chose it.
"""

from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Final

from quota.ledger import tickets
from quota.ledger.tickets import Ticket

_SUBJECTS: Final = {
    tickets.INVITATION: ("Invitation sur societes", "Invitation to societes"),
    tickets.PASSWORD: ("Votre nouveau mot de passe", "Your new password"),
    tickets.CONFIRMATION: ("Confirmez votre adresse", "Confirm your address"),
}
_BODIES: Final = {
    tickets.INVITATION: (
        "Bonjour,\n\n« {nom} » vous invite à la rejoindre. Choisissez votre mot de passe ici :\n\n"
        "{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'attendiez pas cette "
        "invitation, ne faites rien.\n",
        "Hello,\n\n“{nom}” invites you to join. Choose your password here:\n\n"
        "{lien}\n\nThis link works once, until {fin} UTC. If you did not expect this invitation, "
        "do nothing.\n",
    ),
    tickets.PASSWORD: (
        "Bonjour,\n\nUn nouveau mot de passe a été demandé pour cette adresse. Choisissez-le ici :"
        "\n\n{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'avez rien demandé, ne "
        "faites rien : votre mot de passe reste le même.\n",
        "Hello,\n\nA new password was asked for at this address. Choose it here:"
        "\n\n{lien}\n\nThis link works once, until {fin} UTC. If you did not ask, do nothing: "
        "your password stays as it is.\n",
    ),
    tickets.CONFIRMATION: (
        "Bonjour,\n\nLe compte de « {nom} » utilise cette adresse. Si c'est le vôtre, connectez-vous, puis "
        "confirmez-la ici :\n\n{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'avez pas de compte, "
        "ne faites rien : « mot de passe oublié » vous donne le compte, et le retire à qui s'en est servi.\n",
        "Hello,\n\nThe account of “{nom}” uses this address. If it is yours, log in, then confirm it here:"
        "\n\n{lien}\n\nThis link works once, until {fin} UTC. If you have no account, do nothing: “lost password” "
        "gives you the account, and takes it from whoever used it.\n",
    ),
}
# Below a link for another password, where the address was never confirmed.
_TAKES_OVER: Final = (
    "\nCette adresse n'a jamais été confirmée. Ce mot de passe révoquera donc toutes les clés et adresses de "
    "réconciliation de « {nom} », annulera ses invitations et retirera ses autres membres.\n",
    "\nThis address was never confirmed. This password will therefore revoke all keys and reconciliation "
    "addresses of “{nom}”, withdraw its invitations and remove its other members.\n",
)


def message(
    ticket: Ticket, nom: str, link: str, sender: str, now: datetime, *, takes_over: bool = False
) -> EmailMessage:
    """The mail of a ticket.

    Args:
        nom: the name of the organisation.
        link: the address that uses the ticket.
        takes_over: whether another password takes the account from others.

    Raises:
        ValueError: the address cannot stand in a mail.
    """
    english = ticket.lang == "en"
    end = datetime.fromtimestamp(ticket.expires, UTC)
    mail = EmailMessage()
    mail["From"] = sender
    mail["To"] = _address(ticket.email)
    mail["Subject"] = _SUBJECTS[ticket.kind][english]
    mail["Date"] = format_datetime(now)
    # The same for every attempt, so that a mail that comes twice can be recognized.
    mail["Message-ID"] = f"<{ticket.id}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no replies of absent people
    mail["Content-Language"] = "en" if english else "fr"
    text = _BODIES[ticket.kind][english]
    if takes_over and ticket.kind == tickets.PASSWORD:
        text += _TAKES_OVER[english]
    mail.set_content(text.format(nom=nom, lien=link, fin=f"{end:%Y-%m-%d %H:%M}"))
    return mail


def _address(email: str) -> Address:
    user, _, domain = email.rpartition("@")
    return Address(username=user, domain=domain)
