"""Sending one mail over SMTP, by aiosmtplib, and what a failure means.

A mail server that refuses the recipient or the text for good (RFC 5321 §4.2.1, 5yz) ends the attempts.
Everything else may pass: a server that is down, slow or full, a password that is wrong today.
"""

import asyncio
from email.message import EmailMessage
from typing import NamedTuple

from quota.errors import NotAllowedError
from quota.ledger import tickets
from serve.guest_settings import STARTTLS, TLS, MailSettings, secret


class Delivery(NamedTuple):
    """The outcome of an attempt: SENT, REFUSED or WAITING (quota/ledger/tickets.py), and the error."""

    state: str
    error: str = ""


def check(settings: MailSettings) -> None:
    """Check that mails can be tried with these settings.

    Raises:
        NotAllowedError: aiosmtplib, an extra, is not installed.
        OSError: the file of the password cannot be read.
    """
    try:
        import aiosmtplib  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"[courriel] needs aiosmtplib ({error}); pip install 'societes[mail]'"
        ) from error
    if settings.password_file:
        secret(settings.password_file)


async def send(settings: MailSettings, mail: EmailMessage) -> Delivery:
    """Hand a mail to the server; it is sent once the server has accepted all of it."""
    import aiosmtplib
    from aiosmtplib import errors

    try:
        password = secret(settings.password_file) if settings.password_file else None
        # A limit of our own: that of the library is for each step, and a slow server has many.
        async with asyncio.timeout(settings.timeout):
            await aiosmtplib.send(
                mail,
                hostname=settings.host,
                port=settings.port,
                username=settings.user or None,
                password=password,
                use_tls=settings.tls == TLS,
                start_tls=settings.tls == STARTTLS,
            )
    except TimeoutError:
        return Delivery(tickets.WAITING, f"no reply of {settings.host} in {settings.timeout} s")
    except errors.SMTPRecipientsRefused as error:
        refusal = error.recipients[0]
        state = tickets.REFUSED if refusal.code >= 500 else tickets.WAITING
        return Delivery(state, f"{refusal.code} {refusal.message}")
    except errors.SMTPDataError as error:
        state = tickets.REFUSED if error.code >= 500 else tickets.WAITING
        return Delivery(state, f"{error.code} {error.message}")
    except errors.SMTPResponseException as error:
        return Delivery(tickets.WAITING, f"{error.code} {error.message}")
    except (errors.SMTPException, OSError, ValueError) as error:
        return Delivery(tickets.WAITING, str(error) or type(error).__name__)
    return Delivery(tickets.SENT)
