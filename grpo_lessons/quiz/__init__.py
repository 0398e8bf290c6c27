"""Five questions before a lesson and again after it. `data/quizzes/NN.yaml` holds them; `files` and `rules` say how."""

from grpo_lessons.quiz.files import Misunderstanding, Option, Question, Quiz, lessons, load, read

__all__ = ["Misunderstanding", "Option", "Question", "Quiz", "lessons", "load", "read"]
