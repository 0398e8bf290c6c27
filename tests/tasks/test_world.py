import random

from grpo_lessons.tasks.world import SIZES, load_world, make_world, new_names, renamed, words_of


def test_the_file_is_what_the_generator_makes():
    assert load_world() == make_world()


def test_there_are_330_articles_with_different_titles():
    world = load_world()
    assert sum(SIZES.values()) == len({article.title for article in world}) == 330


def test_every_fact_stands_in_the_text():
    for article in load_world():
        assert all(value in article.text for value in article.facts.values())


def test_facts_fit_together():
    world = {article.title: article for article in load_world()}
    people = [article.title for article in world.values() if article.kind == "person"]
    kinds = {"mayor": "person", "captain": "person", "river": "river", "birthplace": "town", "port": "town"}
    for article in world.values():
        for relation, kind in kinds.items():
            if relation in article.facts:
                assert world[article.facts[relation]].kind == kind
        if "teacher" in article.facts:  # people stand from the oldest to the youngest
            assert people.index(article.facts["teacher"]) < people.index(article.title)
    mayors = [article.facts["mayor"] for article in world.values() if article.kind == "town"]
    assert len(set(mayors)) == len(mayors)


def test_another_seed_makes_another_world():
    assert {a.title for a in make_world(8)} != {a.title for a in make_world(7)}


def test_no_name_is_a_word_of_the_templates():
    names = {name.lower() for name in new_names(300, random.Random(1))}
    assert len(names) == 300 and not names & {"river", "mount", "lake", "town", "born", "nobody", "glass"}


def test_renamed_articles_have_the_same_names_and_fit_together_but_say_something_else():
    articles = load_world()
    other = {article.title: article for article in renamed(articles, random.Random(0))}
    same = 0
    for article in articles:
        twin = other[article.title]
        assert twin.kind == article.kind
        assert all(value in twin.text for value in twin.facts.values())
        same += twin.facts == article.facts
    assert same < 5
    towns = [article for article in other.values() if article.kind == "town"]
    assert all(other[town.facts["mayor"]].kind == "person" for town in towns)


def test_words_are_counted_once_and_letters_not_at_all():
    assert words_of(["Merk is a town.", "a Merk, in 657"]) == ("Merk", "in", "is", "town")
