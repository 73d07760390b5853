"""Fixtures: a server that sends mail and takes payments, its mail server, and localstripe in place of Stripe."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler
from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as SmtpSession

from serve.config import PLAIN, MailSettings, PaymentSettings
from tests import ROOT
from tests.quota.servers import free_port
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.processes import eventually

# Not a test module: importing localstripe raises warnings, which are errors in tests.
collect_ignore = ["stripe_server.py"]

# The public address that links in mails begin with.
BASE_URL = "http://societes.exemple.fr"


@dataclass
class MailServer:
    """A real mail server on a free port, which can be stopped and started again."""

    port: int = field(default_factory=free_port)
    mails: list[Message] = field(default_factory=list)
    # Replies to RCPT TO other than 250, by the beginning of the address.
    refusals: dict[str, str] = field(default_factory=dict)
    controller: Controller | None = None  # the running SMTP server

    def start(self) -> None:
        self.controller = Controller(_Mailbox(self), hostname="127.0.0.1", port=self.port)
        self.controller.start()

    def stop(self) -> None:
        if self.controller:
            self.controller.stop()
            self.controller = None

    def mails_to(self, email: str) -> list[Message]:
        """Wait for a mail to an address; return the mails to it."""
        wait_until(lambda: any(mail["X-RcptTo"] == email for mail in self.mails))
        return [mail for mail in self.mails if mail["X-RcptTo"] == email]


class _Mailbox(MessageHandler):
    """Receives mails for a MailServer: appends them to `mails`, and refuses the addresses that `refusals` names."""

    def __init__(self, server: MailServer) -> None:
        super().__init__()
        self._server = server

    def handle_message(self, message: Message) -> None:
        """Keep a mail that the server has received, for `mails_to`."""
        self._server.mails.append(message)

    async def handle_RCPT(  # noqa: N802 - the name that aiosmtpd calls
        self,
        _server: SMTP,
        _session: SmtpSession,
        envelope: Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        """Refuse an address with one of the beginnings in `refusals`; accept any other address."""
        for beginning, reply in self._server.refusals.items():
            if address.startswith(beginning):
                return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true; fails after two minutes."""
    assert eventually(condition)


@pytest.fixture(scope="session")
def mail_server() -> Iterator[MailServer]:
    """A running mail server, which all tests share."""
    server = MailServer()
    server.start()
    yield server
    server.stop()


@dataclass(frozen=True)
class StripeServer:
    """localstripe in another process, with the secrets of its account."""

    port: int
    folder: Path
    key: str = "sk_test_12345"
    webhook_secret: str = "whsec_test"

    def settings(self) -> PaymentSettings:
        """Write the two secrets to files; return settings that name these files and sell packs for 150 euros."""
        for name, secret in (("key", self.key), ("webhook", self.webhook_secret)):
            (self.folder / name).write_text(f"{secret}\n", encoding="utf-8")
        api = f"http://127.0.0.1:{self.port}"
        return PaymentSettings(self.folder / "key", self.folder / "webhook", 150, api)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Send a request to localstripe and return its JSON; None if the reply is empty."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            content = reply.read()
        assert reply.status == 200, (path, reply.status, content)
        return json.loads(content) if content else None


@pytest.fixture(scope="session")
def stripe_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeServer]:
    """A running localstripe (a test double of Stripe), which all tests share."""
    server = StripeServer(free_port(), tmp_path_factory.mktemp("stripe"))
    command = [
        sys.executable,
        "-m",
        "tests.serve.features.account.stripe_server",
        str(server.port),
    ]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(server.port))
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    """Whether a process accepts connections at this port of the host."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def mail_and_payment_server(
    tmp_path_factory: pytest.TempPathFactory, mail_server: MailServer, stripe_server: StripeServer
) -> Iterator[Server]:
    """A server that sends mail and takes payments."""
    data = tmp_path_factory.mktemp("equipped") / "data"
    data.mkdir()
    world.publish(data)
    mail = MailSettings(
        "127.0.0.1", "ne-pas-repondre@exemple.fr", mail_server.port, PLAIN, timeout=10
    )
    paiement = stripe_server.settings()
    with run_server(data, BASE_URL, courriel=mail, paiement=paiement) as server:
        url = f"http://127.0.0.1:{server.port}/paiement/evenements"
        webhook = {"url": url, "secret": stripe_server.webhook_secret}
        stripe_server.ask("/_config/webhooks/ours", "POST", webhook)
        yield server
