"""How nbgrader makes and grades the assignments of this folder; made by `grpo-lessons workshop build`.

Everything is a folder here: no exchange, no server. README.md says what to type.
"""

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "grpo-lessons"
# The stub of the lesson stands above the solution already.
c.ClearSolutions.code_stub = {"python": ""}
# Seconds for one cell; then it is interrupted and counts as failed.
c.Execute.timeout = 30
c.Execute.iopub_timeout = 10  # seconds for the interrupt to be answered; else the kernel is given up
c.Execute.shutdown_kernel = "immediate"
# An endless loop or a dead kernel costs its own exercise only.
c.Autograde.autograde_preprocessors = [
    "grpo_lessons.workshop.execution.ExecuteByExercise",
    "nbgrader.preprocessors.IgnorePattern",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# nbgrader gives no points for a test that writes to stderr. A warning is no failure, so stderr is left out.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = "."
