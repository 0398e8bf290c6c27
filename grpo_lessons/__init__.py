"""grpo-lessons: the library behind a course on reinforcement learning with verifiable rewards."""

__version__ = "0.1.0"
