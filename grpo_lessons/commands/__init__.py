"""The commands of `grpo-lessons`, one file each; `grpo_lessons.cli` puts them together."""
