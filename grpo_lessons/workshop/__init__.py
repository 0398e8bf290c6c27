"""The workshop kit: assignments that grade themselves, quizzes, slides and reports made from the lessons."""
