"""A call of an operation, in the languages of the documentation: curl, Python and JavaScript.

Each text runs as it stands, with nothing to install, once the variable KEY of the environment holds a key: only the
digest of a key is stored, so no page but that of its creation can fill one in. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import orjson

# The parameters of an example, where those that must be sent are not all that is worth showing.
_SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "searchCompanies": ("pays", "q", "limit"),
    "countCompanies": ("par", "pays"),
    "listSectors": ("pays",),
    "listSources": ("pays",),
    "suggest": ("q", "pays"),
    "exportCompanies": ("pays", "q", "limit"),
}
# The company of an example that would show little of the one that the parameters name.
_COMPANIES: Final[Mapping[str, Mapping[str, str]]] = {
    "analyseCompany": {"iso": "FR", "id": "383474814"},
    "findComparables": {"iso": "FR", "id": "383474814"},
    "readGroup": {"iso": "NL", "id": "O1A2ET91OUYOZUUJI538"},
}
_FILES: Final = {
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "societes.xlsx",
    "image/png": "image.png",
}


class CodeText(NamedTuple):
    """A call as a program; `slug` is the name of its language in addresses and identifiers."""

    slug: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class RequestExample:
    """A call.

    Attributes:
        target: path and query, percent-encoded.
        body: what is sent as JSON, or None.
        key: a key is sent.
        file: the file that the answer is kept in, "" for a text; `json`: the answer is JSON.
    """

    method: str
    target: str
    body: Any = None
    key: bool = False
    file: str = ""
    json: bool = True

    def texts(self, origin: str, key: str = "") -> tuple[CodeText, ...]:
        """The call in each language, to the server at `origin`, with `key` in place of the variable KEY."""
        url = origin + self.target
        return (
            CodeText("curl", "curl", _curl(self, url, f"Bearer {key or '$KEY'}")),
            CodeText("python", "Python", _python(self, url, key)),
            CodeText("javascript", "JavaScript", _javascript(self, url, key)),
        )

    def with_query(self, **query: Any) -> "RequestExample":
        """The same call with this query instead."""
        path = self.target.partition("?")[0]
        text = urlencode(query, safe=",:", quote_via=quote)
        return replace(self, target=f"{path}?{text}" if text else path)


def request_example(
    method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]
) -> RequestExample:
    """The example of an operation, from the examples of its parameters and of its body."""
    given = [_target(parameter, components["parameters"]) for parameter in operation["parameters"]]
    shown = _SHOWN.get(operation["operationId"], ())
    company = _COMPANIES.get(operation["operationId"], {})
    query = {}
    for parameter in given:
        example = company.get(parameter["name"]) or _example(parameter)
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(example), safe=""))
        elif parameter["in"] == "query" and (
            parameter.get("required") or parameter["name"] in shown
        ):
            query[parameter["name"]] = example
    ordered = {name: query[name] for name in shown if name in query} | query
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    bodies = [body["value"] for body in content.get("examples", {}).values()]
    success = min(status for status in operation["responses"] if status[0] in "23")
    kinds = operation["responses"][success].get("content", {})
    call = RequestExample(
        method,
        path,
        bodies[0] if bodies else None,
        key=bool(operation["security"]),
        file=next((_FILES[kind] for kind in kinds if kind in _FILES), ""),
        json="application/json" in kinds,
    )
    return call.with_query(**ordered)


def _example(parameter: Mapping[str, Any]) -> Any:
    schema = parameter["schema"]
    listed = (*schema.get("examples", ()), *schema.get("enum", ()), "")
    return parameter.get("example", listed[0])


def _target(node: Mapping[str, Any], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    named: Mapping[str, Any] = (
        parameters[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    )
    return named


def _curl(call: RequestExample, url: str, bearer: str) -> str:
    lines = [f"curl '{url}'"]
    if call.key:
        lines.append(f'-H "Authorization: {bearer}"')
    if call.body is not None:
        lines.append("-H 'Content-Type: application/json'")
        # In quotes of the shell an apostrophe is written '\''.
        lines.append("-d '{}'".format(_json(call.body).replace("'", "'\\''")))
    if call.file:
        lines.append(f"-o {call.file}")
    return " \\\n  ".join(lines)


def _python(call: RequestExample, url: str, key: str) -> str:
    bearer = f'"Bearer {key}"' if key else '"Bearer " + os.environ["KEY"]'
    headers = [f'"Authorization": {bearer}'] if call.key else []
    if call.body is not None:
        headers.append('"Content-Type": "application/json"')
    modules = [*(["json"] if call.json else []), *(["os"] if call.key and not key else [])]
    lines = [f"import {name}" for name in modules]
    if headers:
        lines += ["from urllib.request import Request, urlopen", "", "request = Request("]
        lines.append(f'    "{url}",')
        if call.body is not None:
            # JSON, not a literal of Python: null and true would be other words there.
            lines.append(f'    data=r"""{_json(call.body)}""".encode(),')
        lines += [f"    headers={{{', '.join(headers)}}},", ")", "with urlopen(request) as answer:"]
    else:
        lines += ["from urllib.request import urlopen", "", f'with urlopen("{url}") as answer:']
    if call.file:
        lines += [
            f'    with open("{call.file}", "wb") as file:',
            "        file.write(answer.read())",
        ]
    elif call.json:
        lines.append("    print(json.load(answer))")
    else:
        lines.append("    print(answer.read().decode())")
    return "\n".join(lines)


def _javascript(call: RequestExample, url: str, key: str) -> str:
    bearer = f'"Bearer {key}"' if key else "`Bearer ${process.env.KEY}`"
    headers = [f"Authorization: {bearer}"] if call.key else []
    if call.body is not None:
        headers.append('"Content-Type": "application/json"')
    options = [f'method: "{call.method}",'] if call.method != "GET" else []
    if headers:
        options.append(f"headers: {{ {', '.join(headers)} }},")
    if call.body is not None:
        body = _json(call.body).replace("\n", "\n  ")
        options.append(f"body: JSON.stringify({body}),")
    lines = [f'const answer = await fetch("{url}"']
    if options:
        lines = [f"{lines[0]}, {{", *(f"  {one}" for one in options), "});"]
    else:
        lines[0] += ");"
    if call.file:
        lines.insert(0, 'import { writeFile } from "node:fs/promises";\n')
        lines.append(f'await writeFile("{call.file}", Buffer.from(await answer.arrayBuffer()));')
    else:
        lines.append(f"console.log(await answer.{'json' if call.json else 'text'}());")
    return "\n".join(lines)


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
