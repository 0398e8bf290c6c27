"""Where a number comes from, in one line for the foot of a figure: policy, backend, hardware, date.

A picture travels without its page. With this line a run of nano can never be taken for one of Qwen.
"""

from __future__ import annotations

from dataclasses import dataclass

from .machine import describe_machine

# policy -> how its name begins in running text, in small letters
WORDS = {"nano": "nano", "smollm2": "smollm2", "qwen2.5-1.5b": "qwen"}


@dataclass(frozen=True)
class Origin:
    """policy: its name. backend: the library that ran it. hardware: processor and accelerator. date: of the run."""

    policy: str
    backend: str
    hardware: str
    date: str

    @classmethod
    def of(cls, policy) -> Origin:
        """Of a policy at work on this machine, today."""
        machine = describe_machine()
        return cls(policy.name, policy.backend, machine["hardware"], machine["date"])

    @classmethod
    def of_run(cls, log) -> Origin:
        """Of a run, as its log's header says; the figure may be drawn on another machine, another day."""
        machine = log.header["machine"]
        return cls(log.header["policy"], log.header["backend"], machine["hardware"], machine["date"])

    @classmethod
    def of_study(cls, study) -> Origin:
        """Of a recorded study whose about.json names one policy."""
        machine = study.about["machine"]
        return cls(study.about["policy"]["name"], "transformers", machine["hardware"], f"recorded {machine['date']}")

    def __str__(self) -> str:
        return f"policy {self.policy}, {self.backend}, {self.hardware}, {self.date}"

    def other_policies(self, text: str) -> list[str]:
        """Policies that a text names and that this is not."""
        text = text.lower()
        return [name for name, word in WORDS.items() if word in text and word not in self.policy.lower()]
