# %% [markdown]
r"""
# Solutions of lesson 16

Try each exercise for ten minutes before you read on. Every cell runs the same check as the lesson.
"""

# %%
from grpo_lessons import check

# %% [markdown]
r"""
**1. The mask.** One number for each token, 1.0 where the policy wrote it. The usual mistake is to stop at the first result: the policy's tokens after it are exactly those that use what was found, so they belong into the loss again.
"""

# %% {"exercise": "16.loss_mask", "tags": ["exercise"]}
def my_loss_mask(spans):
    return [1.0 if who == "policy" else 0.0 for who, length in spans for _ in range(length)]


assert check.lesson16.loss_mask(my_loss_mask)

# %% [markdown]
r"""
**2. The call.** Look at the end first: a call counts when the text ends with it. Then take what stands after the *last* opening tag, since earlier calls have been answered. `partition` splits at the first colon only, so an argument may hold more of them. The usual mistake is an expression with `split(...)[1]`, which raises on the first malformed call; a policy under training writes one within minutes.
"""

# %% {"exercise": "16.read_call", "tags": ["exercise"]}
def my_read_call(text):
    if not text.endswith("</call>") or "<call>" not in text:
        return None
    inside = text.removesuffix("</call>").rpartition("<call>")[2]
    tool, colon, argument = inside.partition(":")
    if not (colon and tool.strip() and argument.strip()):
        return None
    return tool.strip(), argument.strip()


assert check.lesson16.read_call(my_read_call)

# %% [markdown]
r"""
**3. The break-even cost.** From $p_s - c\,k = p_0$ follows $c = (p_s - p_0)/k$. It may be negative, and then says that searching would have to be paid for: with a note that holds everything, a search can only go wrong. The usual mistake is to forget $p_0$: a guess is right sometimes, too.
"""

# %% {"exercise": "16.break_even", "tags": ["exercise"]}
def my_break_even(with_search, without, calls):
    return (with_search - without) / calls


assert check.lesson16.break_even(my_break_even)

# %% [markdown]
r"""
**4. A cost of 0.3.** For the pupil as it is, a search pays where the break-even cost lies above 0.3: for *one hop, no note* only. For two hops without a note a guess is the better business, although a search could find the answer: the price says that the answer is not worth it. But the table moves with the policy. Once it reads as well as it does at the end of section 5, two searches are right nearly always, and $(1 - 0)/2 = 0.5$ is above 0.3 again. So there are two places to come to rest, and which of them a run finds depends on whether it still tries two searches when it has learned to read, which it learns from one hop. The recorded runs at 0.2 show both. After 80 steps look at the entropy: a way that is no longer tried cannot be learned.
"""
