import numpy as np
import pytest
import torch

from grpo_lessons.check.base import Exercise

DOUBLE = Exercise(
    name="99.double",
    todo="multiply by two.",
    right=lambda x: 2 * x,
    inputs=((torch.tensor([[1.0, 2.0], [0.0, 4.0]]),), (torch.tensor([[3.0, 5.0]]),)),
    wrong=((lambda x: x**2, "this is the square."), (lambda x: x + 2, "this adds two.")),
)


def test_prints_the_verdict_and_returns_true(capsys):
    assert DOUBLE(lambda x: x + x)
    assert capsys.readouterr().out == "99.double. Passed.\n"


def test_a_known_mistake_prints_its_hint(capsys):
    assert not DOUBLE(lambda x: x * x)
    assert capsys.readouterr().out == "99.double. Not yet: this is the square.\n"


def test_a_mistake_that_agrees_on_the_first_failure_only_still_gets_the_nearest_hint():
    """[[1, 2], [0, 4]] squared, the second input cubed: nearer to the square than to anything else."""
    assert DOUBLE(lambda x: x**2 if x.numel() == 4 else x**3).message == "this is the square."


def test_an_unknown_mistake_shows_input_expected_and_given():
    message = DOUBLE(lambda x: 7 * x).message
    assert "on the input [[1.0, 2.0], [0.0, 4.0]]" in message
    assert "expected: [[2.0, 4.0], [0.0, 8.0]]" in message
    assert "yours:    [[7.0, 14.0], [0.0, 28.0]]" in message


def test_a_nan_row_is_named():
    message = DOUBLE(lambda x: 2 * x / (x.sum(1, keepdim=True) > 3)).message
    assert "yours:    [[inf, inf], [0.0, 8.0]]" in message
    message = DOUBLE(lambda x: 2 * x * x / x).message
    assert "row 2 holds NaN" in message


def test_a_wrong_shape_is_named():
    assert "the shape is (4,); it must be (2, 2)" in DOUBLE(lambda x: 2 * x.flatten()).message


def test_an_exception_becomes_a_hint():
    assert "your function raised ZeroDivisionError: division by zero" in DOUBLE(lambda x: 1 / 0).message


def test_a_result_in_place_of_the_function_is_named():
    assert "without brackets; it got a Tensor" in DOUBLE(torch.ones(2)).message


def test_not_implemented_counts_as_not_done():
    def stub(x):
        raise NotImplementedError

    assert DOUBLE(stub).status == "todo"


def test_none_on_some_inputs_only_is_wrong_not_unfilled():
    assert DOUBLE(lambda x: 2 * x if x.numel() == 4 else None).status == "wrong"


def test_the_inputs_survive_a_function_that_changes_them():
    DOUBLE(lambda x: x.zero_())
    assert torch.equal(DOUBLE.inputs[0][0], torch.tensor([[1.0, 2.0], [0.0, 4.0]]))


@pytest.mark.parametrize("answer", [lambda x: (2 * x).tolist(), lambda x: (2 * x).numpy(), lambda x: 2 * x.double()])
def test_lists_arrays_and_other_precisions_are_accepted(answer):
    assert DOUBLE(answer)


def of_one_input(value):
    """An exercise whose right answer is `value`."""
    return Exercise(name="99.constant", todo="", right=lambda: value, inputs=((),), wrong=())


@pytest.mark.parametrize("answer", [np.True_, torch.tensor(True), True])
def test_a_bool_of_numpy_or_torch_is_a_bool(answer):
    assert of_one_input(True)(lambda: answer)
    assert not of_one_input(False)(lambda: answer)


def test_a_number_is_no_bool():
    assert not of_one_input(True)(lambda: torch.tensor(1.0))


def test_a_text_of_numpy_is_a_text():
    assert of_one_input("75")(lambda: np.array(["65", "75"])[1])


@pytest.mark.parametrize("answer", [[], np.array([]), torch.zeros(0)])
def test_an_empty_array_is_an_empty_list(answer):
    assert of_one_input([])(lambda: answer)
    assert not of_one_input([1])(lambda: answer)


def test_an_array_in_place_of_a_list_within_a_tuple_is_wrong_and_raises_nothing():
    assert of_one_input(("f(3)", [1, 2]))(lambda: ("f(3)", np.array([1, 2]))).status == "wrong"


def no_sandbox():
    raise RuntimeError("there is no sandbox here")


def test_where_the_right_answer_cannot_run_no_answer_passes():
    exercise = Exercise(name="99.sandboxed", todo="", right=no_sandbox, inputs=((),), wrong=())
    result = exercise(no_sandbox)
    assert (result.status, result.message) == (
        "wrong",
        "this machine cannot judge it: RuntimeError: there is no sandbox here",
    )
    assert exercise(lambda: None).status == "todo"
