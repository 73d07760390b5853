"""A visitor without a browser: it keeps cookies, and sends forms with the token of their page."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from urllib.parse import urlencode

from quota.ledger import account_rows, people
from tests.serve.client import PLANS, Reply, Served

PASSWORD = "correct cheval pile agrafe"
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = "application/x-www-form-urlencoded"

_TOKEN = re.compile(r'name="jeton" value="([^"]+)"')


@dataclass(frozen=True)
class Seen:
    """A page as it came; `path` where a form led to it."""

    status: int
    headers: Mapping[str, str]
    html: str
    path: str = ""  # to which a form led

    @property
    def text(self) -> str:
        """What is read, one blank between words."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.html)).split())

    @property
    def figures(self) -> str:
        """The same with each number in one piece, as `12345,6`."""
        return re.sub(r"(?<=\d) (?=\d{3}\b)", "", self.text)

    @property
    def token(self) -> str:
        found = _TOKEN.search(self.html)
        return found[1] if found else ""

    @property
    def key(self) -> str:
        """The API key that the page shows."""
        found = re.search(r"soc_live_[0-9A-Za-z]{38}", self.html)
        assert found, self.text
        return found[0]


@dataclass
class Visitor:
    served: Served
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""

    def get(self, path: str, method: str = "GET", **headers: str) -> Seen:
        return self._seen(self.served.ask(path, method, {**self._headers(), **headers}))

    def send(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Seen:
        """Send a form with the token of the last page, and follow it to a key, an address or a list that it made."""
        return self._followed(self._seen(self.post(path, form or {}, **headers)))

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Reply:
        """Send a form with the token of the last page; the answer may be a file."""
        body = urlencode({"jeton": self.token, **form}).encode()
        sent = {**self._headers(), "Content-Type": FORM, **headers}
        return self.served.ask(path, "POST", sent, body=body)

    def _followed(self, seen: Seen) -> Seen:
        where = seen.headers.get("Location", "")
        if not where.startswith(("/compte?cle=", "/compte?adresse=", "/listes/")):
            return seen
        path = where.partition("#")[0]
        return replace(self.get(path), path=path)

    def upload(self, path: str, file: bytes, form: Mapping[str, str] | None = None) -> Seen:
        """Send a form with a file, and the token of the last page."""
        line = f"----{secrets.token_hex(8)}"
        head = f'--{line}\r\nContent-Disposition: form-data; name="'
        fields = {"jeton": self.token, **(form or {})}
        parts = [f'{head}{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
        parts.append(f'{head}fichier"; filename="liste é.csv"\r\nContent-Type: text/csv\r\n\r\n')
        body = "".join(parts).encode() + file + f"\r\n--{line}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={line}"}
        reply = self.served.ask(path, "POST", {**self._headers(), **kind}, body=body)
        return self._followed(self._seen(reply))

    def log_in(self, email: str, password: str = PASSWORD, suite: str = "") -> Seen:
        self.get("/connexion")
        return self.send("/connexion", {"email": email, "mot_de_passe": password, "suite": suite})

    def sign_up(self, email: str, password: str = PASSWORD, organisation: str = "Żabka") -> Seen:
        self.get("/inscription")
        form = {"organisation": organisation, "email": email, "mot_de_passe": password}
        return self.send("/inscription", form)

    def _headers(self) -> dict[str, str]:
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {**HTML, **({"Cookie": kept} if kept else {}), **self.headers}

    def _seen(self, reply: Reply) -> Seen:
        if cookie := reply.headers.get("Set-Cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in cookie:
                del self.cookies[name]
        seen = Seen(reply.status, reply.headers, reply.body.decode())
        self.token = seen.token or self.token
        return seen


def address() -> str:
    """An e-mail address that nobody has."""
    return f"zoé.{secrets.token_hex(6)}@exemple.fr"


def member(served: Served, plan: str = "free", *, api_tool: bool = False) -> tuple[Visitor, str]:
    """Somebody logged in to a new account of that plan, and the account; the address is confirmed."""
    email = address()
    visitor = Visitor(served)
    visitor.sign_up(email)
    visitor.log_in(email)
    person = served.store.read(people.by_email, email).result()
    assert person
    served.store.submit(people.confirm, person.id).result(10)
    if plan != "free":
        served.store.submit(
            account_rows.set_plan, person.account, plan, PLANS, api_tool=api_tool
        ).result(10)
    return visitor, person.account
