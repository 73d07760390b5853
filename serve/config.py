"""The settings of a server, from four layers: flags, SOCIETES_* variables, a TOML file, defaults.

The first of these layers that has a setting decides its value.

`Config` declares each setting: its type, default, and the metavariable and help of its flag. The type selects the
reader of the value, unless the setting names a reader. `SETTINGS` is a table of these declarations, from which
`python -m serve` makes its flags. A setting has the same name everywhere: `--base-url`, `SOCIETES_BASE_URL`,
`base_url = "…"`.

An unknown name is an error, and so is a value of another type: a misspelt limit must not leave the service without a
limit. Secrets are in files; settings have only the paths.
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

PREFIX: Final = "SOCIETES_"  # of the environment variables

# The values of `tls` in `[courriel]`.
STARTTLS: Final = "starttls"
TLS: Final = "tls"
PLAIN: Final = "none"

PACK_CREDITS: Final = 1_000  # the credits of a pack, which costs `pack_eur`

T = TypeVar("T")

Network = IPv4Network | IPv6Network

# The origin of a web page: scheme, host and port.
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.:\[\]-]+")


class ConfigError(Exception):
    """A setting is unknown, missing or of the wrong type; the message names it and its source."""


@dataclass(frozen=True, slots=True)
class BurstLimits:
    """Calls per minute before 429 `trop_de_requetes`, and per day for a visitor (contract D7).

    The fields with the name of a plan are its calls per minute.

    Attributes:
        listes: public lists per address.
        pages: pages and forms per address, logged in or not, and unknown paths of the site.
        fichiers: files that are sent unchanged (documents, stylesheets), and the handshakes of MCP.
        simultanes: simultaneous requests without an account, per network and process.
        exports: simultaneous exports of an organisation.
        exports_abandonnes: exports that an organisation can abandon per hour before they are ready; each further one
            counts as an export of the month.
        connexions: log-in attempts per minute, for an address, and for an account from a network; ten times as many
            for an account from all networks.
        inscriptions_jour: sign-ups per day and address; twice as many for a network (/24, /48), fifty times as many
            for the host.
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
        password_file: the file with the password of `user`, read for each mail.
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
        """Check the values. Raises ValueError with the remedy."""
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
    """`[paiement]`: the Stripe account for payments of plans and packs.

    Attributes:
        key_file: the file with the secret key of the account (`sk_…`).
        webhook_file: the file with the secret that signs its events (`whsec_…`).
        pack_eur: the price of PACK_CREDITS credits in euros, excl. VAT; without it no pack is sold.
        api: the address of Stripe's API.
        automatic_tax: whether Stripe Tax adds VAT; it must be set up at Stripe.
    """

    key_file: Path | None = None
    webhook_file: Path | None = None
    pack_eur: int = 0
    api: str = "https://api.stripe.com"
    automatic_tax: bool = False

    def __post_init__(self) -> None:
        """Check the values. Raises ValueError with the remedy."""
        if self.key_file is None or self.webhook_file is None:
            raise ValueError("key_file or webhook_file is missing: give both")


@dataclass(frozen=True, slots=True)
class EditorSettings:
    """`[editeur]`: the operator of the service, for /mentions-legales.

    Attributes:
        courriel: the e-mail address of the operator.
        hebergeur: the name, address and telephone of the hosting company.
        directeur: the person responsible for the publication.
        immatriculation: the number of the operator in a register.
        confidentialite: the privacy policy; blank lines separate its paragraphs.
    """

    nom: str
    adresse: str
    courriel: str
    hebergeur: str
    directeur: str = ""
    immatriculation: str = ""
    confidentialite: str = ""

    def __post_init__(self) -> None:
        """Check the values. Raises ValueError with the remedy."""
        if "@" not in self.courriel:
            raise ValueError(f"courriel = {self.courriel!r}: give an e-mail address")


# The sections of the TOML file, each with the class of its settings.
_SECTIONS: Final[Mapping[str, type]] = {
    "debit": BurstLimits,
    "courriel": MailSettings,
    "editeur": EditorSettings,
    "paiement": PaymentSettings,
}


# The readers turn the value of a flag, a variable or a TOML file into the value of a setting. A reader raises
# ValueError with a description of valid values; `_read_values` adds the name of the setting.


def _read_text(value: object) -> str:
    """A non-empty text."""
    if not isinstance(value, str) or not value:
        raise ValueError("give a text that is not empty")
    return value


def _read_path(value: object) -> Path:
    """A path, which need not exist."""
    return value if isinstance(value, Path) else Path(_read_text(value))


_positive_number: Final = whole_number(1)  # 0 is refused, so it cannot mean “without a limit” (§1)
_port: Final = whole_number(0, 65_535)  # of TCP; 0 chooses a free port


def _read_boolean(value: object) -> bool:
    """A boolean, or the text `true` or `false`."""
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError("give true or false")
    return value == "true"


def _read_store(value: object) -> str:
    """The address of a store of counters."""
    return open_store.check_address(_read_text(value))


def _read_base_url(value: object) -> str:
    """The beginning of links, without a final slash; an empty text is allowed."""
    text = value if isinstance(value, str) else ""
    if value != "" and not re.match(r"https?://[^/]", text):
        raise ValueError("give an address that begins with http:// or https:// and a host")
    return text.rstrip("/")


def _read_networks(value: object) -> tuple[Network, ...]:
    """Networks or addresses: a list in the file, elsewhere a text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise ValueError('give a list of networks, such as ["10.0.0.0/8", "::1"]')
    return tuple(_network(str(item).strip()) for item in items if str(item).strip())


def _network(text: str) -> Network:
    """A network or an address. Raises ValueError, also for a host address with a prefix length."""
    try:
        return ip_network(text)
    except ValueError as error:
        # Without `strict`, a host address with a prefix length gives its network, which the error can propose.
        try:
            network = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(
                f"{text!r} is not a network; write one like 10.0.0.0/8 or ::1"
            ) from None
        address = text.partition("/")[0]
        raise ValueError(
            f"{text} is a host in a network; write {network} for all of it, or {address} for the host"
        ) from error


def _read_origins(value: object) -> tuple[str, ...]:
    """Origins as browsers send them, or `*`: a list in the file, elsewhere a text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise ValueError('give a list of origins, such as ["https://app.example"]')
    origins = tuple(str(item).strip() for item in items if str(item).strip())
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin!r} is not an origin; write one like https://app.example")
    return origins


# The reader of a setting that names no reader, by the type of the setting.
_READERS: Final[Mapping[Any, Callable[[object], Any]]] = {
    str: _read_text,
    str | None: _read_text,
    int: _positive_number,
    int | None: _positive_number,
    bool: _read_boolean,
    Path | None: _read_path,
}


class Setting(NamedTuple):
    """The flag of a setting, and the reader of its values if the type does not select it.

    `metavar` is empty if the flag takes no value and means `true`.
    """

    metavar: str
    help: str
    reader: Callable[[object], Any] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a server. Without `data` or `state` the settings can be printed, but the server cannot start."""

    data: Annotated[Path | None, Setting("DATA", "folder of generations, with its CURRENT")] = None
    state: Annotated[Path | None, Setting("STATE", "folder of counters; created if needed")] = None
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
        Setting("true|false", "refuse a Redis that does not sync each write, instead of warning"),
    ] = False
    new_store: Annotated[
        bool,
        Setting(
            "", "switch to another Redis store than the one this STATE remembers; give it once"
        ),
    ] = False
    lease: Annotated[
        bool,
        Setting(
            "true|false",
            "reserve blocks of calls from a remote Redis, to keep serving while it cannot be reached",
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
        Path | None, Setting("DIR", "folder of unfinished exports (default STATE/exports)")
    ] = None
    makers: Annotated[
        int | None,
        Setting(
            "N",
            "processes that make exports, per serving process (default 2, or 1 if all together would be more than "
            "the processors)",
        ),
    ] = None
    # This setting changes only /metrics, because a server never writes to DATA.
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
        """The address of the operator: `courriel` of `[editeur]`, or `contact`."""
        return self.editeur.courriel if self.editeur else self.contact


# The flag of each setting, by the name of the setting.
SETTINGS: Final[Mapping[str, Setting]] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Config, include_extras=True).items()
    if get_origin(hint) is Annotated
}


def read(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Config:
    """Read the settings from a command line, an environment and a TOML file.

    Args:
        flags: values by name; None for a flag that was not given. `config` is the path of the TOML file.
        environment: SOCIETES_CONFIG is the path of the file if no flag is; variables with other prefixes are ignored.

    Raises:
        ConfigError: a setting is unknown, of the wrong type, or needs another setting; the message names it.
    """
    variables = _read_environment(environment)
    given_flags = {name: value for name, value in flags.items() if value is not None}
    file = given_flags.pop("config", None) or variables.pop("config", None)
    variables.pop("config", None)  # this variable is still there if a flag names the file
    layers = [
        (read_toml(Path(str(file)), ConfigError) if file else {}, str(file)),
        (variables, f"the environment ({PREFIX}…)"),
        (given_flags, "the command line"),
    ]
    values: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for layer, layer_name in layers:
        for name, value in _read_values(layer, Config, layer_name).items():
            if name in _SECTIONS:
                sections.setdefault(name, {}).update(value)
            else:
                values[name] = value
    _unite_contact(values, sections.get("editeur"))
    section_values: dict[str, Any] = {
        name: _make_section(name, _SECTIONS[name], section) for name, section in sections.items()
    }
    config = Config(**values, **section_values)
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
    """Move `contact` to `courriel` of `[editeur]`, which is the same setting.

    Raises:
        ConfigError: both are set, to different addresses.
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
    settings_by_name = asdict(config) | {"quota": open_store.mask_password(config.quota)}
    sections = {name: settings_by_name.pop(name) for name in _SECTIONS}
    lines = [
        f"{name} = {_toml_value(value)}"
        for name, value in settings_by_name.items()
        if value is not None
    ]
    lines += [f"# {name} is not set" for name, value in settings_by_name.items() if value is None]
    for section, settings in sections.items():
        if settings is not None:
            lines += ["", f"[{section}]"]
            lines += [
                f"{name} = {_toml_value(setting)}"
                for name, setting in settings.items()
                if setting not in (None, "")
            ]
    return "\n".join(lines)


def _read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read variables: SOCIETES_PORT is `port`, SOCIETES_DEBIT_FREE is `free` of the section `debit`."""
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
    # A variable named after a section, such as SOCIETES_DEBIT, replaces the section, so `_read_section` refuses it.
    return sections | values


def _read_values(values: Mapping[str, Any], kind: type, where: str) -> dict[str, Any]:
    """Read the values of one layer; an unknown name is an error.

    Args:
        kind: `Config`, or the class of a section.
        where: the layer, as error messages name it.
    """
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
    """The reader of each setting of `kind`, with the arguments of `_read_values`."""
    types = get_type_hints(kind)
    if kind is not Config:
        return {name: _READERS[value_type] for name, value_type in types.items()}
    readers = {name: setting.reader or _READERS[types[name]] for name, setting in SETTINGS.items()}
    return readers | {name: partial(_read_section, name, where) for name in _SECTIONS}


def _read_section(section: str, where: str, values: object) -> dict[str, Any]:
    """Read a section of the layer `where`. Raises ValueError for a value that is not a section."""
    kind = _SECTIONS[section]
    if not isinstance(values, Mapping):
        first = fields(kind)[0].name
        variable = f"{PREFIX}{section}_{first}=…".upper()
        raise ValueError(f"it is a section; write {first} = … under [{section}], or {variable}")
    return _read_values(values, kind, f"[{section}] of {where}")


def _make_section(name: str, section: type[T], values: Mapping[str, Any]) -> T:
    """Make a section from the values of all layers, and check it."""
    try:
        return section(**values)
    except ValueError as error:
        raise ConfigError(f"[{name}]: {error}") from error
    except TypeError as error:  # a setting without a default was not given
        needed = [setting.name for setting in fields(section) if setting.default is MISSING]  # type: ignore[arg-type]
        raise ConfigError(f"[{name}] needs {' and '.join(needed)}; give them there") from error


def _toml_value(value: object) -> str:
    """A value in the notation of TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_toml_value(str(part)) for part in value)}]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def read_secret(path: Path) -> str:
    """The secret in a file, without the line end.

    Raises:
        OSError: the file cannot be read.
    """
    return path.read_text(encoding="utf-8").strip()
