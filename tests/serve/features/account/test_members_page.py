"""/compte/membres, /invitation and /mot-de-passe: the people of an organisation (extension X10)."""

import re

from quota.ledger import people, tickets
from quota.ledger.people import ADMINISTRATOR, MEMBER
from quota.periods import seconds
from tests.serve.client import Server, wait_for_log_lines
from tests.serve.surfaces.site.visitor import PASSWORD, Page, Visitor, new_email, sign_up_member


def link_on_page(page: Page) -> str:
    """The path of the invitation or password link that a page shows."""
    match = re.search(r"https?://[^<\s]+(/(?:invitation|mot-de-passe)/[A-Za-z0-9_-]+)", page.html)
    assert match, page.text
    return match[1]


def invite_by_link(admin: Visitor, email: str, role: str = MEMBER) -> str:
    """Invite an address on a server without mail; return the path of the link that the page shows."""
    admin.get("/compte/membres")
    form = {"geste": "invitation", "email": email, "role": role}
    return link_on_page(admin.send("/compte/membres", form))


def join_by_link(server: Server, path: str) -> Visitor:
    """Choose a password on the page of an invitation; return the new person, who is logged in."""
    visitor = Visitor(server)
    visitor.get(path)
    assert visitor.send(path, {"mot_de_passe": PASSWORD}).headers["Location"] == "/compte"
    return visitor


def test_a_person_joins_with_a_link_that_works_once(server: Server) -> None:
    admin, account = sign_up_member(server)
    email = new_email()

    path = invite_by_link(admin, email)
    assert path not in admin.get("/compte/membres").html
    # Opening a link does not use it, because mail scanners open links, too.
    statuses_before_use = [Visitor(server).get(path).status for _ in range(2)]
    visitor = join_by_link(server, path)

    assert statuses_before_use == [200, 200]
    assert email in visitor.get("/compte").text
    roles = {
        person.email: person.role
        for person in server.store.read(people.people_of, account).result()
    }
    assert roles[email] == MEMBER
    page_after_use = Visitor(server).get(path)
    assert (page_after_use.status, "Ce lien n'est plus valable" in page_after_use.text) == (
        404,
        True,
    )
    assert Visitor(server).log_in(email).headers["Location"] == "/compte"
    for line in wait_for_log_lines(
        server, lambda entry: "/invitation/" in entry.get("path", ""), 3
    ):
        assert line["path"] == "/invitation/soc_lien_…"


def test_a_member_cannot_manage_others_but_may_leave(server: Server) -> None:
    admin, account = sign_up_member(server)
    visitor = join_by_link(server, invite_by_link(admin, new_email()))
    members = {
        person.role: person for person in server.store.read(people.people_of, account).result()
    }
    page = visitor.get("/compte/membres")

    refused = [
        visitor.send("/compte/membres", form).status
        for form in (
            {"geste": "invitation", "email": new_email(), "role": MEMBER},
            {"geste": "role", "personne": members[MEMBER].id, "role": ADMINISTRATOR},
            {"geste": "retrait", "personne": members[ADMINISTRATOR].id},
            {"geste": "lien", "personne": members[ADMINISTRATOR].id},
        )
    ]
    own_removal = visitor.send(
        "/compte/membres", {"geste": "retrait", "personne": members[MEMBER].id}
    )

    assert "Inviter" not in page.text
    assert refused == [403] * 4
    assert own_removal.headers["Location"] == "/"
    assert visitor.get("/compte").status == 303
    assert len(server.store.read(people.people_of, account).result()) == 1


def test_the_last_administrator_stays_until_there_is_another(server: Server) -> None:
    admin, account = sign_up_member(server)
    (administrator,) = server.store.read(people.people_of, account).result()
    admin.get("/compte/membres")

    pages_while_alone = [
        admin.send("/compte/membres", {"geste": "retrait", "personne": administrator.id}),
        admin.send(
            "/compte/membres", {"geste": "role", "personne": administrator.id, "role": MEMBER}
        ),
    ]
    join_by_link(server, invite_by_link(admin, new_email(), ADMINISTRATOR))
    admin.get("/compte/membres")
    redirect = admin.send(
        "/compte/membres", {"geste": "role", "personne": administrator.id, "role": MEMBER}
    )

    assert [page.status for page in pages_while_alone] == [409, 409]
    assert "dernier administrateur" in pages_while_alone[0].text
    assert redirect.status == 303
    assert server.store.read(people.find_by_email, administrator.email).result().role == MEMBER  # type: ignore[union-attr]


def test_an_administrator_gives_a_member_a_link_for_a_new_password(server: Server) -> None:
    admin, account = sign_up_member(server)
    member_visitor = join_by_link(server, invite_by_link(admin, new_email()))
    person = next(
        candidate
        for candidate in server.store.read(people.people_of, account).result()
        if candidate.role == MEMBER
    )
    admin.get("/compte/membres")

    path = link_on_page(admin.send("/compte/membres", {"geste": "lien", "personne": person.id}))
    visitor = Visitor(server)
    visitor.get(path)
    too_short = visitor.send(path, {"mot_de_passe": "court"})
    changed = visitor.send(path, {"mot_de_passe": "un nouveau mot de passe"})

    assert (too_short.status, changed.status) == (422, 303)
    assert member_visitor.get("/compte").status == 303  # its session has ended
    assert visitor.get("/compte").status == 200
    assert Visitor(server).log_in(person.email).status == 403
    assert Visitor(server).get(path).status == 404


def test_people_of_another_organisation_cannot_be_changed(server: Server) -> None:
    """They are answered like people who do not exist"""
    admin, _ = sign_up_member(server)
    _, other_account = sign_up_member(server)
    (person,) = server.store.read(people.people_of, other_account).result()
    admin.get("/compte/membres")

    for form in (
        {"geste": "role", "personne": person.id, "role": MEMBER},
        {"geste": "retrait", "personne": person.id},
        {"geste": "lien", "personne": person.id},
    ):
        assert admin.send("/compte/membres", form).status == 404
    assert admin.send("/compte/membres", {"geste": "tout"}).status == 400
    assert server.store.read(people.people_of, other_account).result() == [person]


def test_an_invited_address_with_an_account_is_409(server: Server) -> None:
    admin, account = sign_up_member(server)
    _, other_account = sign_up_member(server)
    (person,) = server.store.read(people.people_of, other_account).result()
    path = invite_by_link(admin, person.email)
    visitor = Visitor(server)
    visitor.get(path)

    page = visitor.send(path, {"mot_de_passe": PASSWORD})

    assert page.status == 409
    assert "dans une autre organisation" in page.text
    assert len(server.store.read(people.people_of, account).result()) == 1


def test_an_invitation_can_be_withdrawn(server: Server) -> None:
    admin, account = sign_up_member(server)
    path = invite_by_link(admin, new_email())
    (ticket,) = server.store.read(
        tickets.valid_tickets, account, seconds(server.context.now())
    ).result()
    admin.get("/compte/membres")

    assert admin.send("/compte/membres", {"geste": "annulation", "billet": ticket.id}).status == 303
    assert Visitor(server).get(path).status == 404


def test_without_mail_the_lost_password_page_refers_to_an_administrator(server: Server) -> None:
    text = Visitor(server).get("/mot-de-passe").text

    assert "Un administrateur de votre organisation peut vous remettre un lien" in text
