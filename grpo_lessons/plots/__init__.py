"""Every figure of the course: one function each, which returns a matplotlib Figure.

`show(fig, alt=...)` puts a figure on the page with its alt text. Names load on first use, so that importing
this package does not import matplotlib.
"""

from importlib import import_module

_HOMES = {
    "show": "style",
    "show_measured": "origin",
    "new_axes": "style",
    "new_grid": "style",
    "label_lines": "style",
    "colour": "style",
    "title": "style",
    "training_panel": "training",
    "methods_panel": "training",
    "compare_curves": "training",
    "LivePlot": "live",
    "loop_diagram": "loop",
    "token_credit": "credit",
    "credit_weights": "credit",
    "token_weights": "averages",
    "question_push": "averages",
    "dead_groups": "advantages",
    "strategy_shares": "strategies",
    "paid_and_right": "suites",
    "accuracy_intervals": "intervals",
    "training_stages": "stages",
    "accuracy_by_setting": "recorded",
    "accuracy_by_label": "recorded",
    "log_ratio_bands": "recorded_runs",
    "methods_overview": "recorded",
    "recorded_curves": "recorded_runs",
    "gradient_spikes": "recorded_runs",
    "train_and_held_out": "recorded",
    "calibration": "guesses",
    "critic_view": "critic",
    "predicted_dead_groups": "proof",
    "smollm2_study": "proof",
    "vital_signs": "vitals",
    "vital_words": "vitals",
    "captured_by_rank": "lora",
    "accuracy_by_rank": "lora",
    "levels_against_weights": "lora",
    "memory_bars": "lora",
    "class_report": "classes",
    "who_wrote": "tool_use",
    "search_over_training": "tool_use",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"grpo_lessons.plots has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
