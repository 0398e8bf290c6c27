from grpo_lessons.tasks.world import SIZES, load_world, make_world, new_names


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
    import random

    names = {name.lower() for name in new_names(300, random.Random(1))}
    assert len(names) == 300 and not names & {"river", "mount", "lake", "town", "born", "nobody", "glass"}
