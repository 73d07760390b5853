"""A visitor without a browser, who stores cookies and sends forms with the token of their page."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from urllib.parse import urlencode

from quota.ledger import account_rows, people
from tests.serve.client import PLANS, Reply, Server

PASSWORD = "correct cheval pile agrafe"
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = "application/x-www-form-urlencoded"

_TOKEN = re.compile(r'name="jeton" value="([^"]+)"')


@dataclass(frozen=True)
class Page:
    """A page as it was received."""

    status: int
    headers: Mapping[str, str]
    html: str
    path: str = ""  # the path of a page to which a form redirected

    @property
    def text(self) -> str:
        """The text without tags, with one space between words."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.html)).split())

    @property
    def figures(self) -> str:
        """The text without spaces within numbers, as `12345,6`."""
        return re.sub(r"(?<=\d) (?=\d{3}\b)", "", self.text)

    @property
    def token(self) -> str:
        """The token of the forms of the page, or an empty text."""
        match = _TOKEN.search(self.html)
        return match[1] if match else ""

    @property
    def key(self) -> str:
        """The API key that the page shows."""
        match = re.search(r"soc_live_[0-9A-Za-z]{38}", self.html)
        assert match, self.text
        return match[0]


@dataclass
class Visitor:
    """A visitor with cookies. `headers` are sent with each request; `token` is that of the last page with a form."""

    server: Server
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""

    def get(self, path: str, method: str = "GET", **headers: str) -> Page:
        """Request a page with the cookies of the visitor."""
        return self._page(self.server.ask(path, method, {**self._headers(), **headers}))

    def send(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Page:
        """Send a form with the token of the last page, and follow a redirect to a new key, address or list."""
        return self._follow(self._page(self.post(path, form or {}, **headers)))

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Reply:
        """Send a form with the token of the last page; the response may be a file."""
        body = urlencode({"jeton": self.token, **form}).encode()
        all_headers = {**self._headers(), "Content-Type": FORM, **headers}
        return self.server.ask(path, "POST", all_headers, body=body)

    def _follow(self, page: Page) -> Page:
        """The page itself, or the page of a new key, address or list to which it redirects."""
        location = page.headers.get("Location", "")
        if not location.startswith(("/compte?cle=", "/compte?adresse=", "/listes/")):
            return page
        path = location.partition("#")[0]
        return replace(self.get(path), path=path)

    def upload(self, path: str, file: bytes, form: Mapping[str, str] | None = None) -> Page:
        """Send a form with a file and the token of the last page; return the page to which the response leads."""
        boundary = f"----{secrets.token_hex(8)}"
        part_head = f'--{boundary}\r\nContent-Disposition: form-data; name="'
        fields = {"jeton": self.token, **(form or {})}
        parts = [f'{part_head}{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
        parts.append(
            f'{part_head}fichier"; filename="liste é.csv"\r\nContent-Type: text/csv\r\n\r\n'
        )
        body = "".join(parts).encode() + file + f"\r\n--{boundary}--\r\n".encode()
        content_type = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        reply = self.server.ask(path, "POST", {**self._headers(), **content_type}, body=body)
        return self._follow(self._page(reply))

    def log_in(self, email: str, password: str = PASSWORD, suite: str = "") -> Page:
        """Log in by the form; `suite` is the path that the page redirects to."""
        self.get("/connexion")
        return self.send("/connexion", {"email": email, "mot_de_passe": password, "suite": suite})

    def sign_up(self, email: str, password: str = PASSWORD, organisation: str = "Żabka") -> Page:
        """Create an account by the form, without logging in."""
        self.get("/inscription")
        form = {"organisation": organisation, "email": email, "mot_de_passe": password}
        return self.send("/inscription", form)

    def _headers(self) -> dict[str, str]:
        """The headers of each request, with the cookies."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {**HTML, **({"Cookie": cookies} if cookies else {}), **self.headers}

    def _page(self, reply: Reply) -> Page:
        """The page of a response; the visitor keeps its cookie and its token of forms, or deletes an expired cookie."""
        if cookie := reply.headers.get("Set-Cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in cookie:
                del self.cookies[name]
        page = Page(reply.status, reply.headers, reply.body.decode())
        self.token = page.token or self.token
        return page


def new_email() -> str:
    """A new e-mail address."""
    return f"zoé.{secrets.token_hex(6)}@exemple.fr"


def sign_up_member(
    server: Server, plan: str = "free", *, api_tool: bool = False
) -> tuple[Visitor, str]:
    """Create an account of this plan; return a visitor who is logged in to it, and the id of the account.

    The e-mail address of the person is confirmed.
    """
    email = new_email()
    visitor = Visitor(server)
    visitor.sign_up(email)
    visitor.log_in(email)
    person = server.store.read(people.find_by_email, email).result()
    assert person
    server.store.submit(people.confirm, person.id).result()
    if plan != "free":
        server.store.submit(
            account_rows.set_plan, person.account, plan, PLANS, api_tool=api_tool
        ).result()
    return visitor, person.account
