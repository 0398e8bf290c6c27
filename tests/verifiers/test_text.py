import pytest

from grpo_lessons.verifiers import verify_choice, verify_text


def block(answer):
    return f"<answer>{answer}</answer>"


@pytest.mark.parametrize("answer", ["", "o", "not dog", "dog or cat", "dogs", "dog?", "the dog"])
def test_a_part_of_the_answer_or_more_than_it_is_wrong(answer):  # T21
    assert verify_text(block(answer), "dog").reward == 0.0


@pytest.mark.parametrize("answer", ["dog", " Dog\n", "DOG.", "**dog**", '"dog"', "“dog”", r"\text{dog}", "Dog!"])
def test_case_space_marks_and_quotes_do_not_matter(answer):
    assert verify_text(block(answer), "dog").reward == 1.0


def test_accents_matter_but_not_how_they_are_composed():
    assert verify_text(block("cafe\u0301"), "café").reward == 1.0
    assert verify_text(block("cafe"), "café").reward == 0.0
    assert verify_text(block("x2"), "x²").reward == 0.0


def test_one_of_several_expected_texts_is_enough():
    assert verify_text(block("NYC"), ["New York", "nyc"]).reward == 1.0
    assert verify_text(block("New"), ["New York", "nyc"]).reward == 0.0


@pytest.mark.parametrize("expected", ["", " ", [], ["dog", ""]])
def test_an_empty_expected_text_is_refused(expected):
    with pytest.raises(ValueError, match="holds no text"):
        verify_text(block("dog"), expected)


@pytest.mark.parametrize("answer", ["B", "(B)", "[B]", "b)", "B.", "**B**", r"\boxed{B}", "Ｂ"])
def test_a_choice_with_and_without_brackets(answer):
    assert verify_choice(block(answer), "B").reward == 1.0
    assert verify_choice(block(answer), "C").reason == "wrong"


@pytest.mark.parametrize("answer", ["A or B", "AB", "(B", "B) Paris", "not B", "F", "В"])
def test_a_hedge_or_an_explanation_is_no_choice(answer):
    assert verify_choice(block(answer), "B").reason == "unreadable"


def test_the_choices_may_be_others():
    assert verify_choice(block("F"), "F", choices="ABCDEF").reward == 1.0
    with pytest.raises(ValueError, match="'F' is not one letter of 'ABCDE'"):
        verify_choice(block("F"), "F")
