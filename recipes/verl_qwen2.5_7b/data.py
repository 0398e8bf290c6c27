"""train.parquet and dev.parquet for verl: word problems, each row with the address of its problem."""

import pandas as pd

from grpo_lessons.integrations.verl import rows
from grpo_lessons.tasks import get_task

for split, n in (("train", 4096), ("dev", 256)):
    pd.DataFrame(rows(get_task("word_problems"), split, n, seed=0)).to_parquet(f"{split}.parquet")
