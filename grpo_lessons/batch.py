"""The rows of a rollout in the form that the update needs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Batch:
    """Rows of a rollout as the loss needs them: prompts (B, S), groups and advantages (B,), the rest (B, T).

    groups: rows with the same number answer the same prompt.
    mask leaves out completions without a reward, and truncated ones if the settings say so.
    """

    prompt_ids: Tensor
    prompt_mask: Tensor
    groups: Tensor
    completion_ids: Tensor
    mask: Tensor
    logp_old: Tensor
    advantages: Tensor
    logp_ref: Tensor | None = None

    def __len__(self) -> int:
        return len(self.advantages)

    def take(self, rows: Tensor) -> Batch:
        """These rows, in this order."""
        return Batch(**{key: None if t is None else t[rows] for key, t in vars(self).items()})

    def trimmed(self) -> tuple[Batch, int]:
        """Without the columns in which every row is padding, and the number of completion columns left."""
        skip = int((self.prompt_mask == 0).sum(1).min())
        T = max(1, int(self.lengths.max()))
        prompts = {"prompt_ids": self.prompt_ids[:, skip:], "prompt_mask": self.prompt_mask[:, skip:]}
        rest = {
            key: None if (t := getattr(self, key)) is None else t[:, :T]
            for key in ("completion_ids", "mask", "logp_old", "logp_ref")
        }
        return Batch(**prompts, **rest, groups=self.groups, advantages=self.advantages), T

    @property
    def lengths(self) -> Tensor:
        """Columns up to the last kept token of each row: (B,)."""
        columns = torch.arange(1, self.mask.shape[1] + 1, device=self.mask.device)
        return ((self.mask > 0) * columns).amax(1)
