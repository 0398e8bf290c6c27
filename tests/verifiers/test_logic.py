import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lessons.verifiers import verify_knights

ROLES = {"Zoey": "knight", "Oliver": "knave"}
NAMES = ("Zoey", "Oliver", "Ana", "José", "Mary Ann", "Mary", "A", "E", "Li")
LAYOUTS = (
    lambda roles: ", ".join(f"{name} is a {role}" for name, role in roles.items()) + ".",
    lambda roles: " and ".join(f"**{name}** is a **{role}**" for name, role in roles.items()),
    lambda roles: "\n".join(f"- {name}: {role.title()}" for name, role in roles.items()),
    lambda roles: "\r\n".join(f"{i}. {name} is the {role}." for i, (name, role) in enumerate(roles.items(), 1)),
    lambda roles: "; ".join(f"{name} ({role})" for name, role in roles.items()),
    lambda roles: "\n".join(
        f"{role}s: " + (", ".join(n for n, r in roles.items() if r == role) or "none") for role in ("knight", "knave")
    ),
)


def reason(answer, roles=ROLES):
    return verify_knights(f"<answer>{answer}</answer>", roles).reason


people = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["knight", "knave"]), min_size=1)


@given(people, st.sampled_from(LAYOUTS), st.data())
def test_every_layout_is_read_and_one_wrong_role_is_seen(roles, layout, data):
    assert reason(layout(roles), roles) == "correct"
    liar = data.draw(st.sampled_from(sorted(roles)))
    flipped = roles | {liar: "knave" if roles[liar] == "knight" else "knight"}
    assert reason(layout(flipped), roles) == "wrong"
    assert reason(layout(roles), {**roles, "Nobody Else": "knight"}) == "missing_person"


@pytest.mark.parametrize(
    "answer",
    [
        "Zoey is not a knave, Oliver is a knave",
        "Zoey isn't a knave, Oliver is a knave",
        "It is false that Zoey is a knight, Oliver is a knave",
        "Zoey is a knight or Oliver is a knave",
        "Zoey is a knight if Oliver is a knave",
        "Zoey is a knight, Oliver is a knave, Carl is a knave",
        "Zoey is a knight and a knave, Oliver is a knave",
        "Zoey is a knight, Oliver is a knave?",
        "Zoey não é um patife, Oliver é um patife",
        "knight knave Zoey Oliver",
    ],
)
def test_a_negation_a_hedge_or_an_unknown_person_is_never_correct(answer):
    assert reason(answer) == "unreadable"


def test_a_contradiction_is_never_correct():
    assert reason("Zoey is a knight. Oliver is a knave. Oliver is a knight.") == "contradiction"
    assert reason("Knights: Zoey, Oliver. Knaves: Oliver.") == "contradiction"


def test_a_person_left_out_is_never_correct():
    assert reason("Zoey is a knight") == "missing_person"


def test_people_may_share_a_role():
    three = {"Ana": "knight", "Bruno": "knave", "Clara": "knave"}
    assert reason("Ana is a knight; Bruno and Clara are knaves.", three) == "correct"
    assert reason("Ana, Bruno and Clara are knaves.", three) == "wrong"


@pytest.mark.parametrize("knave", ["patife", "vagabundo", "knave"])
def test_portuguese_roles_are_the_same_roles(knave):
    assert reason(f"Zoey é um cavaleiro e Oliver é um {knave}") == "correct"
    assert reason("Zoey is a knight, Oliver is a knave", {"Zoey": "cavaleiro", "Oliver": knave}) == "correct"


def test_a_name_that_is_also_a_word_is_told_apart_by_its_case():
    assert reason("A is a knight and E is a knave", {"A": "knight", "E": "knave"}) == "correct"


def test_a_role_of_none_is_a_person_who_is_not_there():
    assert reason("Zoey is a knight", {"Zoey": "knight", "Oliver": None}) == "correct"


@pytest.mark.parametrize("roles", [{}, {"Zoey": None}, {"Zoey": "spy"}, {"Zoey": 1}])
def test_senseless_roles_are_named(roles):
    with pytest.raises(ValueError, match="roles"):
        reason("Zoey is a knight", roles)
