"""Hidden inputs of lesson 07: other log-probabilities, equal policies, and histories of eighths.

Eighths and quarters are exact in floating point, so that "at least `drop`" can be asked at the border.
"""

import torch

NEW = torch.tensor([[-0.2, -4.0], [-1.5, -0.05], [-2.5, -0.9]])
REF = torch.tensor([[-1.1, -2.5], [-1.5, -0.4], [-0.6, -3.1]])
PAIRS = ((NEW, REF), (REF, NEW), (NEW, NEW.clone()), (NEW[:1] - 0.5, REF[:1]))

INPUTS = {
    "07.k3": PAIRS,
    "07.repair_k3": PAIRS,
    "07.alarm": (
        ([0.5, 0.75, 1.0, 1.5], [0.25, 0.75, 0.5, 0.25], 0.25),  # at the border, on the third
        ([0.5, 0.75, 0.75], [0.25, 0.75, 0.25], 0.25),  # the proxy where it was at the best
        ([0.5, 1.0, 0.875, 0.75], [0.5, 1.0, 0.5, 0.25], 0.25),  # both fall: broken, not hacked
        ([0.5, 1.0, 1.25, 1.5, 1.75], [0.0, 0.875, 0.75, 0.625, 0.5], 0.375),  # a slow fall
        ([2.0, 2.5, 3.0], [-0.5, -1.0, -1.5], 0.5),  # from the first evaluation on, negative scores
        ([0.5, 0.625, 0.75], [0.5, 0.75, 0.625], 0.25),  # noise
        ([0.5], [0.5], 0.125),
        ([0.25, 0.75, 0.5, 0.875, 1.0], [0.25, 0.5, 0.125, 0.625, 0.125], 0.25),  # broken first, better, then hacked
    ),
}
