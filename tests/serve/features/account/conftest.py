"""One server with mail and payment, and the mail server beside it."""

import http.client
import json
import socket
import subprocess
import sys
import time
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
from tests.serve.client import Served, serving

# A program of its own: importing localstripe warns, and warnings are failures here.
collect_ignore = ["stripe_server.py"]

BASE_URL = "http://societes.exemple.fr"


@dataclass
class MailServer:
    """A real mail server on a port of its own, which can be stopped and started again."""

    port: int = field(default_factory=free_port)
    mails: list[Message] = field(default_factory=list)
    # Replies to RCPT TO that are not 250, by the beginning of the address.
    refusals: dict[str, str] = field(default_factory=dict)
    controller: Controller | None = None

    def start(self) -> None:
        self.controller = Controller(_Kept(self), hostname="127.0.0.1", port=self.port)
        self.controller.start()

    def stop(self) -> None:
        if self.controller:
            self.controller.stop()
            self.controller = None

    def to(self, email: str) -> list[Message]:
        """The mails to an address, once there is one."""
        awaited(lambda: any(mail["X-RcptTo"] == email for mail in self.mails))
        return [mail for mail in self.mails if mail["X-RcptTo"] == email]


class _Kept(MessageHandler):
    def __init__(self, server: MailServer) -> None:
        super().__init__()
        self._server = server

    def handle_message(self, message: Message) -> None:
        self._server.mails.append(message)

    async def handle_RCPT(  # noqa: N802 - the name that aiosmtpd calls
        self,
        _server: SMTP,
        _session: SmtpSession,
        envelope: Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        for beginning, reply in self._server.refusals.items():
            if address.startswith(beginning):
                return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"


def awaited(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true, for ten seconds at most."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="session")
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()


@dataclass(frozen=True)
class StripeServer:
    """localstripe in a process of its own, with the secrets of its account."""

    port: int
    folder: Path
    key: str = "sk_test_12345"
    webhook_secret: str = "whsec_test"

    def settings(self) -> PaymentSettings:
        for name, text in (("key", self.key), ("webhook", self.webhook_secret)):
            (self.folder / name).write_text(f"{text}\n", encoding="utf-8")
        api = f"http://127.0.0.1:{self.port}"
        return PaymentSettings(self.folder / "key", self.folder / "webhook", 150, api)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Its JSON for a call of ours, or None."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as link:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            link.request(method, path, None if body is None else json.dumps(body), headers)
            reply = link.getresponse()
            text = reply.read()
        assert reply.status == 200, (path, reply.status, text)
        return json.loads(text) if text else None


@pytest.fixture(scope="session")
def stripe_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeServer]:
    server = StripeServer(free_port(), tmp_path_factory.mktemp("stripe"))
    command = [
        sys.executable,
        "-m",
        "tests.serve.features.account.stripe_server",
        str(server.port),
    ]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        awaited(lambda: _listens(server.port))
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def equipped(
    tmp_path_factory: pytest.TempPathFactory, mail_server: MailServer, stripe_server: StripeServer
) -> Iterator[Served]:
    """A server that sends mail and takes payments."""
    data = tmp_path_factory.mktemp("equipped") / "data"
    data.mkdir()
    world.publish(data)
    mail = MailSettings(
        "127.0.0.1", "ne-pas-repondre@exemple.fr", mail_server.port, PLAIN, timeout=2
    )
    paiement = stripe_server.settings()
    with serving(data, BASE_URL, courriel=mail, paiement=paiement) as server:
        url = f"http://127.0.0.1:{server.port}/paiement/evenements"
        hook = {"url": url, "secret": stripe_server.webhook_secret}
        stripe_server.ask("/_config/webhooks/ours", "POST", hook)
        yield server
