"""The log of a running server: a line per request, without keys (G11, A5)."""

from tests.serve.client import Server, wait_for_log_lines


def test_a_request_is_a_line_of_the_log(server: Server) -> None:
    """G11"""
    reply = server.ask("/api/v1/societes/?pays=FR&q=Orl%C3%A9ans", headers={"X-Request-Id": "r1"})
    (line,) = wait_for_log_lines(server, lambda line: line["request_id"] == "r1", 1)

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


def test_no_line_of_the_log_has_a_key(server: Server) -> None:
    """G11, A5"""
    key = "soc_live_" + "Zq9" * 12
    for path in (f"?cle={key}", f"?{key}=1", f"?q={key}", f"/FR/{key}", f"/{key}/1", f"/{key}"):
        headers = {"Authorization": f"Bearer {key}", "X-Request-Id": f"mine/{key}"}
        server.ask(f"/api/v1/societes{path}", headers=headers)
    lines = wait_for_log_lines(server, lambda line: str(line["request_id"]).startswith("mine/"), 6)

    assert "Zq9" not in str(lines)
    # The log also has signed links from other tests, which may contain "Zq9" by chance, but not twice in a row.
    assert b"Zq9Zq9" not in b"".join(server.lines)


def test_a_line_has_the_account_and_the_outcome_of_its_call(server: Server) -> None:
    """G11"""
    customer = server.customer("free")
    record = "/api/v1/societes/FR/552100554"
    for path in ("/api/v1/societes", record, record, "/api/v1/compte", f"{record}?x=1"):
        server.ask(path, headers=customer.headers)
    for _ in range(48):  # 47 more calls reach the daily limit of 50, and the last one is refused
        server.ask("/api/v1/societes", headers=customer.headers)
    lines = wait_for_log_lines(server, lambda line: line["account"] == customer.account, 53)

    outcomes = [line["quota"] for line in lines]
    assert outcomes[:5] == ["taken", "charged", "already", "free", None]
    assert outcomes[5:] == ["taken"] * 47 + ["quota_api"]
    assert customer.key[9:] not in str(server.lines)  # the key without its prefix `soc_live_`
