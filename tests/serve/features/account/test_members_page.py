"""/compte/membres, /invitation and /mot-de-passe: the people of an organisation (extension X10)."""

import re

from quota.ledger import people, tickets
from quota.ledger.people import ADMINISTRATOR, MEMBER
from quota.periods import seconds
from tests.serve.client import Served, logged
from tests.serve.surfaces.site.visitor import PASSWORD, Seen, Visitor, address, member


def link(seen: Seen) -> str:
    found = re.search(r"https?://[^<\s]+(/(?:invitation|mot-de-passe)/[A-Za-z0-9_-]+)", seen.html)
    assert found, seen.text
    return found[1]


def invited(admin: Visitor, email: str, role: str = MEMBER) -> str:
    admin.get("/compte/membres")
    form = {"geste": "invitation", "email": email, "role": role}
    return link(admin.send("/compte/membres", form))


def joined(served: Served, path: str) -> Visitor:
    visitor = Visitor(served)
    visitor.get(path)
    assert visitor.send(path, {"mot_de_passe": PASSWORD}).headers["Location"] == "/compte"
    return visitor


def test_somebody_joins_by_a_link_that_works_once(served: Served) -> None:
    admin, account = member(served)
    email = address()

    path = invited(admin, email)
    assert path not in admin.get("/compte/membres").html
    seen = [Visitor(served).get(path).status for _ in range(2)]  # a scanner of mails opens it too
    visitor = joined(served, path)

    assert seen == [200, 200]
    assert email in visitor.get("/compte").text
    roles = {one.email: one.role for one in served.store.read(people.people_of, account).result()}
    assert roles[email] == MEMBER
    used = Visitor(served).get(path)
    assert (used.status, "Ce lien ne sert plus" in used.text) == (404, True)
    assert Visitor(served).log_in(email).headers["Location"] == "/compte"
    for line in logged(served, lambda one: "/invitation/" in one.get("path", ""), 3):
        assert line["path"] == "/invitation/soc_lien_…"


def test_a_member_decides_nothing_about_others_but_may_leave(served: Served) -> None:
    admin, account = member(served)
    visitor = joined(served, invited(admin, address()))
    members = {one.role: one for one in served.store.read(people.people_of, account).result()}
    page = visitor.get("/compte/membres")

    refused = [
        visitor.send("/compte/membres", form).status
        for form in (
            {"geste": "invitation", "email": address(), "role": MEMBER},
            {"geste": "role", "personne": members[MEMBER].id, "role": ADMINISTRATOR},
            {"geste": "retrait", "personne": members[ADMINISTRATOR].id},
            {"geste": "lien", "personne": members[ADMINISTRATOR].id},
        )
    ]
    left = visitor.send("/compte/membres", {"geste": "retrait", "personne": members[MEMBER].id})

    assert "Inviter" not in page.text
    assert refused == [403] * 4
    assert left.headers["Location"] == "/"
    assert visitor.get("/compte").status == 303
    assert len(served.store.read(people.people_of, account).result()) == 1


def test_the_last_administrator_stays_until_there_is_another(served: Served) -> None:
    admin, account = member(served)
    (me,) = served.store.read(people.people_of, account).result()
    admin.get("/compte/membres")

    alone = [
        admin.send("/compte/membres", {"geste": "retrait", "personne": me.id}),
        admin.send("/compte/membres", {"geste": "role", "personne": me.id, "role": MEMBER}),
    ]
    joined(served, invited(admin, address(), ADMINISTRATOR))
    admin.get("/compte/membres")
    together = admin.send("/compte/membres", {"geste": "role", "personne": me.id, "role": MEMBER})

    assert [seen.status for seen in alone] == [409, 409]
    assert "dernier administrateur" in alone[0].text
    assert together.status == 303
    assert served.store.read(people.by_email, me.email).result().role == MEMBER  # type: ignore[union-attr]


def test_an_administrator_hands_over_another_password(served: Served) -> None:
    admin, account = member(served)
    other = joined(served, invited(admin, address()))
    person = next(
        one for one in served.store.read(people.people_of, account).result() if one.role == MEMBER
    )
    admin.get("/compte/membres")

    path = link(admin.send("/compte/membres", {"geste": "lien", "personne": person.id}))
    visitor = Visitor(served)
    visitor.get(path)
    short = visitor.send(path, {"mot_de_passe": "court"})
    changed = visitor.send(path, {"mot_de_passe": "un nouveau mot de passe"})

    assert (short.status, changed.status) == (422, 303)
    assert other.get("/compte").status == 303  # its session has ended
    assert visitor.get("/compte").status == 200
    assert Visitor(served).log_in(person.email).status == 403
    assert Visitor(served).get(path).status == 404


def test_people_of_another_organisation_are_out_of_reach(served: Served) -> None:
    admin, _ = member(served)
    _, theirs = member(served)
    (person,) = served.store.read(people.people_of, theirs).result()
    admin.get("/compte/membres")

    for form in (
        {"geste": "role", "personne": person.id, "role": MEMBER},
        {"geste": "retrait", "personne": person.id},
        {"geste": "lien", "personne": person.id},
    ):
        assert admin.send("/compte/membres", form).status == 404
    assert admin.send("/compte/membres", {"geste": "tout"}).status == 400
    assert served.store.read(people.people_of, theirs).result() == [person]


def test_an_invited_address_that_has_an_account_is_told_so(served: Served) -> None:
    admin, account = member(served)
    _, theirs = member(served)
    (person,) = served.store.read(people.people_of, theirs).result()
    path = invited(admin, person.email)
    visitor = Visitor(served)
    visitor.get(path)

    seen = visitor.send(path, {"mot_de_passe": PASSWORD})

    assert seen.status == 409
    assert "dans une autre organisation" in seen.text
    assert len(served.store.read(people.people_of, account).result()) == 1


def test_an_invitation_can_be_withdrawn(served: Served) -> None:
    admin, account = member(served)
    path = invited(admin, address())
    (ticket,) = served.store.read(
        tickets.of_account, account, seconds(served.context.now())
    ).result()
    admin.get("/compte/membres")

    assert admin.send("/compte/membres", {"geste": "annulation", "billet": ticket.id}).status == 303
    assert Visitor(served).get(path).status == 404


def test_without_mail_a_lost_password_is_sent_to_an_administrator(served: Served) -> None:
    text = Visitor(served).get("/mot-de-passe").text

    assert "Un administrateur de votre organisation peut vous remettre un lien" in text
