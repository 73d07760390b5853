"""The log of a running server: one line per request, without a key (G11, A5)."""

from tests.serve.client import Served, logged


def test_a_request_is_one_line_of_the_log(served: Served) -> None:
    """G11"""
    reply = served.ask("/api/v1/societes/?pays=FR&q=Orl%C3%A9ans", headers={"X-Request-Id": "r1"})
    (line,) = logged(served, lambda line: line["request_id"] == "r1", 1)

    assert line.pop("ms") >= 0
    assert line.pop("time").endswith("+00:00")
    assert line.pop("bytes") > len(reply.body)
    assert line == {
        "level": "info",
        "event": "request",
        "method": "GET",
        "path": "/api/v1/societes/",
        "route": "societes",
        "query": {"pays": ["FR"], "q": ["Orléans"]},
        "status": 200,
        "request_id": "r1",
        "plan": "visiteur",
        "account": None,
        "quota": None,
        "generation": reply.headers["X-Donnees-Version"],
        "ip": "127.0.0.0/24",
    }


def test_no_line_of_the_log_holds_a_key(served: Served) -> None:
    """G11, A5"""
    key = "soc_live_" + "Zq9" * 12
    for path in (f"?cle={key}", f"?{key}=1", f"?q={key}", f"/FR/{key}", f"/{key}/1", f"/{key}"):
        headers = {"Authorization": f"Bearer {key}", "X-Request-Id": f"mine/{key}"}
        served.ask(f"/api/v1/societes{path}", headers=headers)
    lines = logged(served, lambda line: str(line["request_id"]).startswith("mine/"), 6)

    assert "Zq9" not in str(lines)
    # Three letters alone stand by chance in the signed links that other tests of this server ask for.
    assert b"Zq9Zq9" not in b"".join(served.lines)


def test_a_line_says_whose_call_it_was_and_what_became_of_it(served: Served) -> None:
    """G11"""
    customer = served.customer("free")
    record = "/api/v1/societes/FR/552100554"
    for path in ("/api/v1/societes", record, record, "/api/v1/compte", f"{record}?x=1"):
        served.ask(path, headers=customer.headers)
    for _ in range(48):
        served.ask("/api/v1/societes", headers=customer.headers)
    lines = logged(served, lambda line: line["account"] == customer.account, 53)

    outcomes = [line["quota"] for line in lines]
    assert outcomes[:5] == ["taken", "charged", "already", "free", None]
    assert outcomes[5:] == ["taken"] * 47 + ["quota_api"]
    assert customer.key[9:] not in str(served.lines)
