"""`grpo-lessons workshop quiz` keeps the keys apart from the forms."""

from grpo_lessons import quiz
from grpo_lessons.commands.workshop import quiz as write_forms


def test_forms_and_keys_lie_in_two_folders_and_only_the_keys_tell(tmp_path):
    write_forms(tmp_path)
    names = [f"{lesson}.md" for lesson in quiz.lessons()]
    assert sorted(path.name for path in (tmp_path / "forms").iterdir()) == names
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == names
    why = quiz.load("04").questions[0].why
    assert why in (tmp_path / "keys/04.md").read_text(encoding="utf-8")
    assert why not in (tmp_path / "forms/04.md").read_text(encoding="utf-8")
