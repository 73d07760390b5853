"""A call of an operation, in the languages of the documentation: curl, Python and JavaScript.

Each program runs unchanged, without installing packages, if the environment variable KEY has a key. A key is known only
when it is made, because only its digest is stored. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import orjson

from serve.surfaces.docs.paths import FORM

# By operation: the parameters that its example shows, although they are optional, in the order of the example.
_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "searchCompanies": ("pays", "q", "limit"),
    "countCompanies": ("par", "pays"),
    "listSectors": ("pays",),
    "listSources": ("pays",),
    "suggest": ("q", "pays"),
    "exportCompanies": ("pays", "q", "limit"),
    "suggestEntities": ("prefix",),
}
# Operations whose example needs another company than the example of the parameters.
_COMPANIES: Final[Mapping[str, Mapping[str, str]]] = {
    "analyseCompany": {"iso": "FR", "id": "383474814"},
    "findComparables": {"iso": "FR", "id": "383474814"},
    "readGroup": {"iso": "NL", "id": "O1A2ET91OUYOZUUJI538"},
}
# The file into which an example writes an answer of a media type.
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
        target: the path and the query string, percent-encoded.
        body: the body, sent as JSON, or None; `is_form`: it is sent as a form, whose fields are texts.
        key: whether a key is sent.
        file: the file for the answer, or "" to print it; `json`: the answer is JSON.
    """

    method: str
    target: str
    body: Any = None
    key: bool = False
    file: str = ""
    json: bool = True
    is_form: bool = False

    def texts(self, origin: str, key: str = "") -> tuple[CodeText, ...]:
        """The call in each language, to the server at `origin`, with `key` in place of the variable KEY."""
        url = origin + self.target
        return (
            CodeText("curl", "curl", _curl(self, url, f"Bearer {key or '$KEY'}")),
            CodeText("python", "Python", _python(self, url, key)),
            CodeText("javascript", "JavaScript", _javascript(self, url, key)),
        )

    def replace_query(self, **query: Any) -> "RequestExample":
        """The call with another query."""
        path = self.target.partition("?")[0]
        text = urlencode(query, safe=",:", quote_via=quote)
        return replace(self, target=f"{path}?{text}" if text else path)


def request_example(
    method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]
) -> RequestExample:
    """The example of an operation, from the examples of its parameters and of its body."""
    parameters = [
        _resolve(parameter, components["parameters"]) for parameter in operation["parameters"]
    ]
    shown_names = _PARAMETERS.get(operation["operationId"], ())
    company = _COMPANIES.get(operation["operationId"], {})
    query = {}
    for parameter in parameters:
        example = company.get(parameter["name"]) or _example(parameter)
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(example), safe=""))
        elif parameter["in"] == "query" and (
            parameter.get("required") or parameter["name"] in shown_names
        ):
            query[parameter["name"]] = example
    # The parameters of `_PARAMETERS` come first, in their order there.
    ordered = {name: query[name] for name in shown_names if name in query} | query
    # A body has one media type: JSON, or that of a form.
    contents = operation.get("requestBody", {}).get("content", {})
    bodies = [
        body["value"]
        for content in contents.values()
        for body in content.get("examples", {}).values()
    ]
    # The lowest status of success: 200, or 303 for an operation that redirects.
    success = min(status for status in operation["responses"] if status[0] in "23")
    media_types = operation["responses"][success].get("content", {})
    call = RequestExample(
        method,
        path,
        bodies[0] if bodies else None,
        key=bool(operation["security"]),
        file=next((_FILES[kind] for kind in media_types if kind in _FILES), ""),
        json="application/json" in media_types,
        is_form=FORM in contents,
    )
    return call.replace_query(**ordered)


def _example(parameter: Mapping[str, Any]) -> Any:
    """The example of a parameter, else the first example or value of its schema."""
    schema = parameter["schema"]
    examples = (*schema.get("examples", ()), *schema.get("enum", ()), "")
    return parameter.get("example", examples[0])


def _resolve(node: Mapping[str, Any], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameter that the reference `node` names, or `node` itself if it is not a reference."""
    parameter: Mapping[str, Any] = (
        parameters[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    )
    return parameter


def _curl(call: RequestExample, url: str, bearer: str) -> str:
    """The call as a command of a shell."""
    lines = [f"curl '{url}'"]
    if call.key:
        lines.append(f'-H "Authorization: {bearer}"')
    if call.is_form:
        lines += [
            f"--data-urlencode '{_escape_quotes(f'{name}={text}')}'"
            for name, text in call.body.items()
        ]
    elif call.body is not None:
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d '{_escape_quotes(indented_json(call.body))}'")
    if call.file:
        lines.append(f"-o {call.file}")
    return " \\\n  ".join(lines)


def _escape_quotes(text: str) -> str:
    """The text within single quotes of a shell, where an apostrophe is written '\\''."""
    return text.replace("'", "'\\''")


def _python(call: RequestExample, url: str, key: str) -> str:
    """The call as a program that needs only the standard library."""
    bearer = f'"Bearer {key}"' if key else '"Bearer " + os.environ["KEY"]'
    headers = [f'"Authorization": {bearer}'] if call.key else []
    if call.body is not None and not call.is_form:
        headers.append('"Content-Type": "application/json"')
    modules = [*(["json"] if call.json else []), *(["os"] if call.key and not key else [])]
    lines = [f"import {name}" for name in modules]
    if call.is_form:
        lines.append("from urllib.parse import urlencode")
    if headers:
        lines += ["from urllib.request import Request, urlopen", "", "request = Request("]
        lines.append(f'    "{url}",')
        if call.is_form:  # its texts are spelt in Python as in JSON
            lines.append(f"    data=urlencode({indented_json(call.body)}).encode(),")
        elif call.body is not None:
            # As JSON, because null and true are spelt differently in Python.
            lines.append(f'    data=r"""{indented_json(call.body)}""".encode(),')
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
    """The call as a module for Node.js."""
    bearer = f'"Bearer {key}"' if key else "`Bearer ${process.env.KEY}`"
    headers = [f"Authorization: {bearer}"] if call.key else []
    if call.body is not None and not call.is_form:
        headers.append('"Content-Type": "application/json"')
    options = [f'method: "{call.method}",'] if call.method != "GET" else []
    if headers:
        options.append(f"headers: {{ {', '.join(headers)} }},")
    if call.body is not None:
        body = indented_json(call.body).replace("\n", "\n  ")
        encode = "new URLSearchParams" if call.is_form else "JSON.stringify"
        options.append(f"body: {encode}({body}),")
    lines = [f'const answer = await fetch("{url}"']
    if options:
        lines = [f"{lines[0]}, {{", *(f"  {option}" for option in options), "});"]
    else:
        lines[0] += ");"
    if call.file:
        lines.insert(0, 'import { writeFile } from "node:fs/promises";\n')
        lines.append(f'await writeFile("{call.file}", Buffer.from(await answer.arrayBuffer()));')
    else:
        lines.append(f"console.log(await answer.{'json' if call.json else 'text'}());")
    return "\n".join(lines)


def indented_json(value: Any) -> str:
    """JSON with line breaks and indentation."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
