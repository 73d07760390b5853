"""The settings of a server: flags, then SOCIETES_* variables, then a TOML file, then defaults.

`Config` declares each of them once: type, default, and the metavariable and help of its flag; its reader is that of
its type, unless another one is named.
`SETTINGS` is the same as a table, from which `python -m serve` makes its flags. Each setting has one
name in all four places: `--base-url`, `SOCIETES_BASE_URL`, `base_url = "…"`.

An unknown name is an error wherever it is found, and so is a value of another type: a misspelt limit
must not leave the service without one. Secrets are in files, never in settings.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeVar, get_origin, get_type_hints

from quota import open_store
from seeds.settings import read_toml, whole_number

PREFIX: Final = "SOCIETES_"

STARTTLS: Final = "starttls"
TLS: Final = "tls"
PLAIN: Final = "none"

PACK_CREDITS: Final = 1_000

T = TypeVar("T")

Network = IPv4Network | IPv6Network

_ORIGIN: Final = re.compile(r"https?://[a-z0-9.:\[\]-]+")


class ConfigError(Exception):
    """A setting is unknown, missing or not of its type; the message says which and where."""


@dataclass(frozen=True, slots=True)
class BurstLimits:
    """Calls per minute before 429 `trop_de_requetes`, and per day for a visitor (contract D7).

    `pages`: pages and forms of one address, whoever is logged in, and addresses where nothing is; `fichiers`: what is
    sent as it is (documents, stylesheets), and the handshakes of MCP. `simultanes`: requests without an account that
    one address has answered at the same time, by each process.
    `exports`: exports that one organisation may run at once. `exports_abandonnes`: those that it may leave in an hour
    before they are made; each further one counts as an export of the month. `connexions`: attempts to log in per
    minute, for one address, and for one account from one network; ten times as many for an account.
    `inscriptions_jour`: sign-ups per day and address; twice as many for a network (/24, /48), fifty
    times as many for the host.
    """

    visiteur: int = 60
    free: int = 60
    data: int = 120
    carte: int = 120
    corporate: int = 300
    marches: int = 300
    integral: int = 600
    listes: int = 300
    pages: int = 300
    fichiers: int = 1_200
    simultanes: int = 2
    visiteur_jour: int = 1_000
    exports: int = 2
    exports_abandonnes: int = 2
    connexions: int = 10
    inscriptions_jour: int = 20


@dataclass(frozen=True, slots=True)
class MailSettings:
    """`[courriel]`: the mail server that sends invitations and links for passwords.

    Attributes:
        tls: `starttls`, `tls` from the first byte, or `none`, for a server on this host.
        password_file: holds the password of `user`, read for each mail.
        sender: the address in From.
        timeout: seconds for one mail.
    """

    host: str
    sender: str
    port: int = 587
    tls: str = STARTTLS
    user: str = ""
    password_file: Path | None = None
    timeout: int = 20

    def __post_init__(self) -> None:
        if self.tls not in (STARTTLS, TLS, PLAIN):
            raise ValueError(f"tls = {self.tls!r}: give {STARTTLS}, {TLS} or {PLAIN}")
        if "@" not in self.sender:
            raise ValueError(f"sender = {self.sender!r}: give an e-mail address")
        if bool(self.user) != bool(self.password_file):
            raise ValueError("user and password_file belong together: give both or neither")
        if self.user and self.tls == PLAIN:
            raise ValueError(f"a password is not sent without TLS: give tls = {STARTTLS}")


@dataclass(frozen=True, slots=True)
class PaymentSettings:
    """`[paiement]`: the account at Stripe by which plans and packs are bought.

    Attributes:
        key_file: holds the secret key of the account (`sk_…`).
        webhook_file: holds the secret that signs its events (`whsec_…`).
        pack_eur: price of PACK_CREDITS credits in euros, excl. VAT; without it no pack is sold.
        api: the address of Stripe's API.
        automatic_tax: whether Stripe Tax adds VAT; it must be set up at Stripe.
    """

    key_file: Path | None = None
    webhook_file: Path | None = None
    pack_eur: int = 0
    api: str = "https://api.stripe.com"
    automatic_tax: bool = False

    def __post_init__(self) -> None:
        if self.key_file is None or self.webhook_file is None:
            raise ValueError("key_file or webhook_file is missing: give both")


@dataclass(frozen=True, slots=True)
class EditorSettings:
    """`[editeur]`: who operates the service, as /mentions-legales names it.

    Attributes:
        courriel: where people write to.
        hebergeur: name, address and telephone of the host of the service.
        directeur, immatriculation: who answers for what is published; the number in a register.
        confidentialite: what is done with personal data; blank lines part its paragraphs.
    """

    nom: str
    adresse: str
    courriel: str
    hebergeur: str
    directeur: str = ""
    immatriculation: str = ""
    confidentialite: str = ""

    def __post_init__(self) -> None:
        if "@" not in self.courriel:
            raise ValueError(f"courriel = {self.courriel!r}: give an e-mail address")


_SECTIONS: Final[Mapping[str, type]] = {
    "debit": BurstLimits,
    "courriel": MailSettings,
    "editeur": EditorSettings,
    "paiement": PaymentSettings,
}


# The readers: the value of a flag, a variable or a TOML file becomes that of a setting. Each raises ValueError with the
# values that it takes; `_read_values` names the setting.


def _read_text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("give a text that is not empty")
    return value


def _read_path(value: object) -> Path:
    """A path, which need not exist."""
    return value if isinstance(value, Path) else Path(_read_text(value))


_positive_number: Final = whole_number(1)  # every limit is a number (§1)
_port: Final = whole_number(0, 65_535)  # of TCP


def _read_truth(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError("give true or false")
    return value == "true"


def _read_store(value: object) -> str:
    """The address of a store of counters."""
    return open_store.check_address(_read_text(value))


def _read_base_url(value: object) -> str:
    """The beginning of links, without a slash at its end."""
    text = value if isinstance(value, str) else ""
    if value != "" and not text.startswith(("http://", "https://")):
        raise ValueError("give an address that begins with http:// or https://")
    return text.rstrip("/")


def _read_networks(value: object) -> tuple[Network, ...]:
    """Networks or addresses: a list in the file, elsewhere one text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError('give a list of networks, such as ["10.0.0.0/8", "::1"]')
    return tuple(_network(str(part).strip()) for part in parts if str(part).strip())


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        try:
            meant = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(f"{text!r} is no network; write one like 10.0.0.0/8 or ::1") from None
        alone = text.partition("/")[0]
        raise ValueError(
            f"{text} is a host in a network; write {meant} for all of it, or {alone} for the host"
        ) from error


def _read_origins(value: object) -> tuple[str, ...]:
    """Origins as browsers send them, or `*`: a list in the file, elsewhere one text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError('give a list of origins, such as ["https://app.example"]')
    origins = tuple(str(part).strip() for part in parts if str(part).strip())
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin!r} is no origin; write one like https://app.example")
    return origins


_READERS: Final[Mapping[Any, Callable[[object], Any]]] = {
    str: _read_text,
    str | None: _read_text,
    int: _positive_number,
    int | None: _positive_number,
    bool: _read_truth,
    Path | None: _read_path,
}


class Setting(NamedTuple):
    """The flag of a setting, and its reader where that of its type will not do.

    `metavar` is empty where the flag takes no value and means `true`.
    """

    metavar: str
    help: str
    reader: Callable[[object], Any] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one server. Without `data` or `state` it can be printed but not started."""

    data: Annotated[Path | None, Setting("DATA", "folder of generations, with its CURRENT")] = None
    state: Annotated[Path | None, Setting("STATE", "folder of counters; made if needed")] = None
    host: Annotated[str, Setting("HOST", "address to listen on")] = "127.0.0.1"
    port: Annotated[int, Setting("PORT", "port to listen on, 0 for a free one", _port)] = 8080
    workers: Annotated[int, Setting("N", "processes that serve on that port")] = 1
    quota: Annotated[
        str,
        Setting(
            "URL",
            "store of the counters: lmdb, a file in STATE, or redis://HOST:PORT/DB",
            _read_store,
        ),
    ] = open_store.LMDB
    quota_strict: Annotated[
        bool,
        Setting("true|false", "refuse a Redis that does not sync each write, do not only warn"),
    ] = False
    new_store: Annotated[
        bool,
        Setting("", "use another Redis store than this STATE remembers, once, from this start on"),
    ] = False
    lease: Annotated[
        bool,
        Setting(
            "true|false",
            "reserve calls in blocks from a remote Redis, to serve on while it cannot be reached",
        ),
    ] = False
    base_url: Annotated[
        str, Setting("URL", "beginning of the links in answers", _read_base_url)
    ] = ""
    trusted_proxies: Annotated[
        tuple[Network, ...],
        Setting(
            "NETWORKS",
            "networks, separated by commas, whose X-Forwarded-For is believed (default none)",
            _read_networks,
        ),
    ] = ()
    mcp_origins: Annotated[
        tuple[str, ...],
        Setting(
            "ORIGINS",
            "origins of web pages, separated by commas, that may use /api/mcp from a browser; "
            "* for all (default none but this server's own)",
            _read_origins,
        ),
    ] = ()
    warm: Annotated[
        bool, Setting("true|false", "read the shards once after the start, if they fit into memory")
    ] = True
    spool: Annotated[
        Path | None, Setting("DIR", "folder of exports that are being made (default STATE/exports)")
    ] = None
    makers: Annotated[
        int | None,
        Setting(
            "N",
            "processes that make exports, per serving process (default 2, or 1 where all together are more than "
            "the processors)",
        ),
    ] = None
    # It changes no answer: a server writes nothing to DATA, its own or a mirror's.
    mirror: Annotated[
        bool,
        Setting("", "declare that `python -m shards sync` maintains DATA: /metrics has its age"),
    ] = False
    contact: Annotated[
        str | None,
        Setting("TEXT", "address of the operator, for pages; in [editeur] it is courriel"),
    ] = None
    debit: BurstLimits = field(default_factory=BurstLimits)
    courriel: MailSettings | None = None
    editeur: EditorSettings | None = None
    paiement: PaymentSettings | None = None

    @property
    def operator_address(self) -> str | None:
        """Where people write to the operator: `courriel` of `[editeur]`, or `contact`."""
        return self.editeur.courriel if self.editeur else self.contact


SETTINGS: Final[Mapping[str, Setting]] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Config, include_extras=True).items()
    if get_origin(hint) is Annotated
}


def read(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Config:
    """Read the settings of a command line, an environment and the TOML file that one of them names.

    Args:
        flags: values by name, None where a flag was not given. `config` names the TOML file.
        environment: SOCIETES_CONFIG names the file if no flag does; other names are ignored.

    Raises:
        ConfigError: a setting is unknown or not of its type; names it and its layer.
    """
    variables = _from_environment(environment)
    given = {name: value for name, value in flags.items() if value is not None}
    file = given.pop("config", None) or variables.pop("config", None)
    variables.pop("config", None)
    layers = [
        (read_toml(Path(str(file)), ConfigError) if file else {}, str(file)),
        (variables, "the environment"),
        (given, "the command line"),
    ]
    values: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for layer, where in layers:
        for name, value in _read_values(layer, Config, where).items():
            if name in _SECTIONS:
                sections.setdefault(name, {}).update(value)
            else:
                values[name] = value
    _unite_contact(values, sections.get("editeur"))
    made: dict[str, Any] = {
        name: _make_section(name, _SECTIONS[name], it) for name, it in sections.items()
    }
    config = Config(**values, **made)
    for name in ("courriel", "paiement"):
        if getattr(config, name) and not config.base_url:
            raise ConfigError(
                f"[{name}] needs base_url, the beginning of the links that it sends; give it too"
            )
    if config.quota == open_store.LMDB:
        for name in ("lease", "quota_strict", "new_store"):
            if getattr(config, name):
                raise ConfigError(
                    f"{name} = true is for several hosts; give quota = redis://… with it"
                )
    return config


def _unite_contact(values: dict[str, Any], editor: dict[str, Any] | None) -> None:
    """Move `contact` to `courriel` of `[editeur]`, which is the same address.

    Raises:
        ConfigError: both are given, and differ.
    """
    contact = values.get("contact")
    if editor is None or contact is None:
        return
    if editor.setdefault("courriel", contact) != contact:
        raise ConfigError(
            f"contact = {contact!r} and courriel = {editor['courriel']!r} in [editeur] are the same "
            "setting, the address of the operator; give one of them"
        )
    del values["contact"]


def to_toml(config: Config) -> str:
    """`config` as a TOML file that `read` accepts (`--print-config`); a password is masked."""
    known = asdict(config) | {"quota": open_store.mask_password(config.quota)}
    sections = {name: known.pop(name) for name in _SECTIONS}
    lines = [f"{name} = {_toml(value)}" for name, value in known.items() if value is not None]
    lines += [f"# {name} is not set" for name, value in known.items() if value is None]
    for section, settings in sections.items():
        if settings is not None:
            lines += ["", f"[{section}]"]
            lines += [
                f"{name} = {_toml(it)}" for name, it in settings.items() if it not in (None, "")
            ]
    return "\n".join(lines)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """SOCIETES_PORT is `port`, SOCIETES_DEBIT_FREE is `free` of the section `debit`."""
    values: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for variable, value in environment.items():
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).lower()
            section, _, inner = name.partition("_")
            if inner and section in _SECTIONS:
                sections.setdefault(section, {})[inner] = value
            else:
                values[name] = value
    return sections | values  # SOCIETES_DEBIT itself is refused


def _read_values(values: Mapping[str, Any], kind: type, where: str) -> dict[str, Any]:
    """Read the values of `Config` or of a section in one layer; an unknown name is an error."""
    readers = _readers(kind, where)
    if unknown := sorted(values.keys() - readers.keys()):
        raise ConfigError(f"unknown setting {unknown[0]!r} in {where}; known: {', '.join(readers)}")
    read_values = {}
    for name, value in values.items():
        try:
            read_values[name] = readers[name](value)
        except ValueError as error:
            remedy = str(error)
            shown = open_store.mask_password(value) if isinstance(value, str) else value
            raise ConfigError(f"{name} = {shown!r} in {where}: {remedy}") from error
    return read_values


def _readers(kind: type, where: str) -> dict[str, Callable[[object], Any]]:
    """The reader of each setting of `Config` or of a section."""
    types = get_type_hints(kind)
    if kind is not Config:
        return {name: _READERS[of] for name, of in types.items()}
    readers = {name: line.reader or _READERS[types[name]] for name, line in SETTINGS.items()}
    return readers | {name: partial(_read_section, name, where) for name in _SECTIONS}


def _read_section(section: str, where: str, values: object) -> dict[str, Any]:
    kind = _SECTIONS[section]
    if not isinstance(values, Mapping):
        first = fields(kind)[0].name
        variable = f"{PREFIX}{section}_{first}=…".upper()
        raise ValueError(f"it is a section; write {first} = … under [{section}], or {variable}")
    return _read_values(values, kind, f"[{section}] of {where}")


def _make_section(name: str, section: type[T], values: Mapping[str, Any]) -> T:
    """A section of all layers together."""
    try:
        return section(**values)
    except ValueError as error:
        raise ConfigError(f"[{name}]: {error}") from error
    except TypeError as error:  # a setting without a default was not given
        needed = [one.name for one in fields(section) if one.default is MISSING]  # type: ignore[arg-type]
        raise ConfigError(f"[{name}] needs {' and '.join(needed)}; give them there") from error


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(str(part)) for part in value)}]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def secret(path: Path) -> str:
    """The secret in a file, without the line end.

    Raises:
        OSError: it cannot be read.
    """
    return path.read_text(encoding="utf-8").strip()
