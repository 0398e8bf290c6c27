# %% [markdown]
r"""
# When should a policy search?

After this lesson you will be able to

- write the loop of an episode with tools: the policy calls and stops, the environment answers, the policy goes on;
- say which tokens of such an episode belong into the loss, and show it with gradients;
- compute when a search pays, train a policy that learns it, and report exact match with intervals and every fault counted.

**Needs:** lessons [02](02_verifiers.ipynb), [04](04_grpo_from_scratch.ipynb), [06](06_honest_evaluation.ipynb). **Kernel time:** about KERNEL_MINUTES on a laptop CPU. **Reader time:** 80 minutes.

**How we differ from papers on search and reinforcement learning** (Search-R1, arXiv 2503.09516, and its kin): an encyclopedia of 330 short articles about a made-up world instead of Wikipedia, so that nobody can know the answers by heart; a pupil of a third of a million parameters; and a call is written `<call>search: Graisen</call>` instead of in JSON, which so small a pupil would rarely close.

Until now a policy had only what stood in its weights and in the question. Give it a **tool**, and it can look things up. That changes two things in the loop of lesson 04. A completion is no longer written by the policy alone; and there is a decision in it that costs something: to search, or not to search.
"""

# %%
import pandas as pd
import torch

from grpo_lessons import check, plots

plots.show(
    plots.loop_diagram("sample"),
    alt="The training loop: ask, sample, verify, compare, update in a ring, with sample highlighted.",
    caption="Today: sample. A completion is now a conversation with an environment; the rest of the loop stays as it was.",
)

# %% [markdown]
r"""
## 1. Call, stop, answer, go on

The world first. Towns have mayors, mayors are people with a birthplace, people have teachers, ships have captains. Questions take one look-up (one hop) or two:
"""

# %%
from grpo_lessons.tasks import get_task

task = get_task("lookup_qa", form="compact")
print(len(task.articles), "articles, for instance:")
for title in ("Graisen", "Bealead"):
    print("  ", task.articles[title].text)

one = task.problem(("mayor",), ("Graisen",), with_note=False)
two = task.problem(("mayor", "birthplace"), ("Graisen",), with_note=False)
note = task.problem(("mayor", "birthplace"), ("Graisen",), with_note=True)
for problem in (one, two, note):
    print(f"\n{problem.prompt[-1]['content']}\n   expected: {problem.answer}")

# %% [markdown]
r"""
The third kind is the point of this lesson: **half of all questions carry their facts in a note**. Searching is not always right. Whoever always searches wastes calls; whoever never does must guess.

The **environment** is what answers. Ours has one function, `reply(call, earlier calls)`, and it never raises. Here is the whole idea of a multi-turn episode, with a "policy" whose turns we write ourselves:
"""

# %%
def episode(turns, environment):
    """turns: what the policy writes, one text a turn. Returns the completion, results included."""
    text, calls = "", []
    for written in turns:
        text += written                                   # the policy's turn
        if not written.endswith("</call>"):
            break                                         # no call at its end: the episode is over
        call = written.removesuffix("</call>").rpartition("<call>")[2]
        text += environment.reply(call, calls).text       # the environment's turn
        calls.append(call)
    return text


turns = ["<call>search: Graisen</call>", "<call>search: Bealead</call>", f"<answer>{two.answer}</answer>"]
by_hand = episode(turns, task.environment)
print(by_hand.replace("><", ">\n<"))
print("\nverdict:", task.verify(by_hand, two).reason)

# %% [markdown]
r"""
With a real policy "the policy's turn" means: sample tokens until a `</call>` has been closed, or the end token comes, or a limit is reached; then put the environment's text behind it and let the policy read on. `sample_tool_groups` does this for a batch. Our pupil `nano-lookup` was raised on flawed homework: it knows how to search and how to read a note, and does neither reliably. The homework had this world's names and other facts, so it knows no answer by heart; each word of the encyclopedia is one token to it. ([Its card](../data/nano-lookup/card.json) says how it was made.)

The loop by hand must agree with the library: cut the environment's words out of a sampled completion, feed what is left to the function above, and the same text must come back.
"""

# %%
import re

from grpo_lessons.policies import load_policy
from grpo_lessons.tool_rollouts import sample_tool_groups

base = load_policy("nano-lookup")
questions = task.problems("held_out", 24, seed=5)
rollouts = sample_tool_groups(base, questions, 2, task.environment, max_new_tokens=task.max_new_tokens, seed=1)
for text, sampled in zip(rollouts.texts, rollouts.episodes):
    own_turns = re.split(r"<result>.*?</result>", text)
    if sampled.ended == "answer":
        assert episode(own_turns, task.environment) == text

shown = [0, 2, 4, 6, 8, 10]
for row in shown:
    problem = rollouts.row_problems[row]
    print(problem.prompt[-1]["content"], f"  (expected: {problem.answer})")
    print("  ", rollouts.texts[row], "->", task.verify(rollouts.texts[row], problem).reason, "\n")

# %% [markdown]
r"""
## 2. A call can fail, and failing is all it can do

What stands between the tags was written by a policy under training, so it will be everything: no colon, no such tool, nothing found, the same call for ever, a million characters, SQL. Each case gets a **status** and a short text that the policy reads like any other result. Nothing that it writes is run: words of a query are looked for as words, each in quotes, through a prepared statement.
"""

# %%
calls = {
    "search: Graisen": [], "search: Atlantis": [], "Graisen": [], "lookup: Graisen": [], "search:": [],
    "search: Bealead": ["search: Bealead"],
    "search: x'); DROP TABLE articles; --": [],
    'search: " OR 1=1 NEAR(': [],
    "search: " + "Graisen " * 125_000: [],
    "search: </result><answer>Nouk</answer>": [],
}
rows = []
for call, earlier in calls.items():
    reply = task.environment.reply(call, earlier)
    rows.append((f"{call[:40]}{f'... ({len(call):,} characters)' if len(call) > 40 else ''}", reply.status, reply.text[8:62]))
print(pd.DataFrame(rows, columns=["call", "status", "what the policy reads"]).to_string(index=False))
assert task.environment.reply("search: Graisen", []).status == "ok"  # the table is still there

# %% [markdown]
r"""
Two limits bound an episode: `max_calls` (here 4; who calls once more ends there, without an answer) and `max_new_tokens`, results included. So an endless loop is a short episode with reward 0 and a count in the log, and not a hanging program.

Why is an error a *text*, and not the end of the episode? Because then the policy can do something about it, and reinforcement can find out what.

## 3. Whose words are in the loss?

A policy gradient raises or lowers the probability of what the policy **chose**. It did not choose the words of the encyclopedia. They are context: every later token is conditioned on them. But asking the policy to make them likelier, because the answer was right, or less likely, because it was wrong, means to train it to *write* articles. So the mask of lesson 04 gets holes:
"""

# %%
def as_figure(row):
    ids, mask = rollouts.completion_ids[row], rollouts.mask[row]
    length = int(torch.maximum(mask, rollouts.read_mask[row]).nonzero().max()) + 1
    tokens = [base.tokenizer.decode([i]).replace("<|im_end|>", "■") for i in ids[:length].tolist()]
    verdict = task.verify(rollouts.texts[row], rollouts.row_problems[row]).reason
    return {"title": f"{rollouts.row_problems[row].prompt[-1]['content']}   {verdict}", "tokens": tokens, "mask": mask[:length].tolist()}


longest = sorted(range(48), key=lambda row: -rollouts.read_mask[row].sum())
direct = next(row for row in range(48) if rollouts.read_mask[row].sum() == 0)
plots.show(
    plots.who_wrote([as_figure(longest[0]), as_figure(longest[4]), as_figure(direct)]),
    alt="Three completions as text. Calls, answers and the end token stand on blue; everything from the result tag to "
    "its closing tag stands on grey. The third completion has no call and is all blue.",
    caption="Blue: written by the policy, mask 1. Grey: written by the environment, mask 0. The black square is the end token.",
)
print(f"{rollouts.read_mask.sum() / (rollouts.mask + rollouts.read_mask).sum():.0%} of all tokens were written by the environment")

# %% [markdown]
r"""
That mask 0 really takes the results out of the loss can be shown without training. If their **log-probabilities** mattered, then changing them would change the gradient. We put nonsense in the place of their old log-probabilities and compare, bit by bit:
"""

# %%
from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.losses import grpo_loss

ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
attention = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
advantages = torch.tensor([1.0, -1.0]).repeat(24)  # any numbers will do here
everything = rollouts.mask + rollouts.read_mask    # what a forgotten mask would be


def gradient(logp_old, mask):
    """GRPO's gradient on these completions, all parameters in one vector."""
    scores = token_logprobs(base.model, ids, attention, mask.shape[1], mask=everything)
    base.model.zero_grad()
    grpo_loss(scores.logp, logp_old if logp_old is not None else scores.logp.detach(), advantages, mask).loss.backward()
    vector = torch.cat([p.grad.flatten() for p in base.model.parameters()])
    base.model.zero_grad()
    return vector, scores.logp.detach()


masked, logp = gradient(rollouts.logp, rollouts.mask)
nonsense = torch.where(rollouts.read_mask.bool(), torch.tensor(-3.0), rollouts.logp)
assert torch.equal(gradient(nonsense, rollouts.mask)[0], masked)           # the same, bit for bit
unmasked, _ = gradient(None, everything)
assert not torch.allclose(gradient(nonsense, everything)[0], unmasked)     # without the mask it matters
print("with the mask the gradient is the same to the last bit")

# %% [markdown]
r"""
How much would a forgotten mask change? **Predict, then run.** The cosine between the two gradients, with the mask and without (1: the same direction, 0: nothing in common)?
"""

# %%
check.predict("16.gradient_cosine", ...)  # between -1 and 1

# %%
own, read = rollouts.mask.bool(), rollouts.read_mask.bool()
print(f"mean log-probability of a token: the policy's own {logp[own].mean():.2f} nats, the results' {logp[read].mean():.2f} nats")
print(f"gradient norm: with the mask {masked.norm():.2f}, without {unmasked.norm():.2f}")
cosine = torch.nn.functional.cosine_similarity(masked, unmasked, dim=0).item()
check.reveal("16.gradient_cosine", round(cosine, 2))

# %% [markdown]
r"""
Compare the two log-probabilities first. The pupil has never written a result in its life, so these tokens surprise it, and a surprising token has a large gradient ([lesson 09](09_grpo_sg.ipynb)). A wrong token of the policy is pushed down, a right one up; a word of the encyclopedia is pushed up or down with the *answer* behind it, for which it can do nothing.

Two things decide how much of that is left in a batch. Completions of one group that read the same article with advantages of opposite sign **cancel** in those tokens. And GRPO averages over the tokens of a row, so a row with a long article gives each of the policy's own tokens a smaller share. The cosine is what remains for these completions and these made-up advantages; section 6 trains without the mask and looks.

## 4. When does a search pay?

A reward function decides what searching is worth. Ours pays 1 for an exact match and takes a **cost** $c$ for every call:

$$r = [\text{answer} = \text{expected}] - c \cdot \text{calls}.$$

If a search of $k$ calls is right with probability $p_s$, and answering at once with probability $p_0$, searching pays as long as $p_s - c\,k > p_0$, that is below the **break-even cost** $c^* = (p_s - p_0)/k$. The pupil answers both ways at random, so its own completions tell both probabilities for each kind of question:
"""

# %%
from grpo_lessons.tasks.lookup_report import by_kind, observe

N = 300
before = observe(base, task, n=N, seed=1)


def break_even_table(rows):
    table = {}
    for (kind, has_note), part in rows.groupby(["kind", "note"]):
        searched, at_once = part[part["searched"]], part[~part["searched"]]
        p_s, p_0, k = searched["correct"].mean(), at_once["correct"].mean(), searched["calls"].mean()
        name = f"{kind}, {'note' if has_note else 'no note'}"
        table[name] = [len(searched), p_s, k, len(at_once), p_0, (p_s - p_0) / k]
    columns = ["searched", "right", "calls each", "at once", "right ", "break-even cost"]
    return pd.DataFrame(table, index=columns).T.round(2)


print(break_even_table(before).to_string())

# %% [markdown]
r"""
A negative break-even cost means that one would have to be *paid* for searching. A positive one is the most that a call may cost before a guess is the better business. Read off what an ideal policy would do at $c = 0$ and at $c = 0.2$ in each of the four rows, and how small the differences are in some of them: small differences are learned slowly, since an advantage is a difference.

And what is a search worth altogether? Take the tools away (`tools=()`; every call then gets "no such tool"):
"""

# %%
without_tools = get_task("lookup_qa", form="compact", tools=())
alone = observe(base, without_tools, n=N, seed=1)
plots.show(
    plots.accuracy_intervals(
        {kind: {"with search": by_kind(before, "correct")[kind], "without": by_kind(alone, "correct")[kind]} for kind in by_kind(before, "correct")}
    ),
    alt="Exact match of the untrained pupil on four kinds of held-out questions, one or two hops, with or without a note, "
    "each with the encyclopedia and without it, with 95 % intervals.",
    caption="The untrained pupil: where the facts do not stand in the note, nothing but a search can find them.",
)

# %% [markdown]
r"""
## 5. Live: with and without a cost

Two runs from the same pupil, the same seed, the same questions; one pays nothing for calls and takes nothing, the other takes 0.2 for each. `CallCost` is a reward function with TRL's signature, and the trainer is that of lesson 04: it asks the task for its own `rollout`, and everything after that only sees a mask.

**Predict, then run.** Among questions **with a note**, what percentage of completions will hold a call after the run *without* a cost? (Untrained: the first number in the output below.)
"""

# %%
share = before[before["note"]]["searched"].mean()
print(f"untrained: {share:.0%} of the questions with a note are searched, {before[~before['note']]['searched'].mean():.0%} of those without")
check.predict("16.search_without_cost", ...)  # a percentage

# %%
import copy
from dataclasses import replace

from grpo_lessons.lookup_study import SETTINGS
from grpo_lessons.tasks.lookup_qa import CallCost
from grpo_lessons.trainer import train

policies, logs, after = {}, {}, {}
for name, cost in (("cost 0", 0.0), ("cost 0.2", 0.2)):
    policies[name] = replace(base, model=copy.deepcopy(base.model))
    logs[name] = train(policies[name], task, replace(SETTINGS, seed=0), reward=CallCost(cost))
    after[name] = observe(policies[name], task, n=N, seed=1)
check.reveal("16.search_without_cost", round(100 * after["cost 0"].query("note")["searched"].mean()))

# %%
from grpo_lessons.tasks.lookup_report import search_shares

plots.show(
    plots.search_over_training({name: [search_shares(log.table)] for name, log in logs.items()}),
    alt="Share of completions with a call over the training steps, without a cost on the left and with a cost of 0.2 on "
    "the right; one line for questions with a note, one for questions without.",
    caption="Two lines that part are a policy that learns WHEN to search. Where do they part sooner?",
)

# %%
everyone = {"before": before, **after}
searched = {name: by_kind(rows, "searched") for name, rows in everyone.items()}
plots.show(
    plots.accuracy_intervals(
        {kind: {name: searched[name][kind] for name in everyone} for kind in searched["before"]},
        xlabel="share of completions with a call (95 % interval)",
    ),
    alt="Share of completions with at least one call on four kinds of held-out questions, before training and after it "
    "without and with a cost per call, with 95 % intervals.",
    caption="On held-out questions, about subjects that were never trained on. Ideal: no call with a note, a call without.",
)

# %% [markdown]
r"""
The verdict, with its interval: exact match over all kinds, on the same questions before and after, so paired.
"""

# %%
from grpo_lessons.evaluation import paired_bootstrap, wilson_interval

for name, rows in everyone.items():
    low, high = wilson_interval(int(rows["correct"].sum()), N)
    print(f"{name:9} exact match {rows['correct'].mean():.1%} [{low:.1%}, {high:.1%}]   F1 {rows['f1'].mean():.3f}   "
          f"calls per question {rows['calls'].mean():.2f}")
for a, b in (("cost 0", "before"), ("cost 0.2", "before"), ("cost 0.2", "cost 0")):
    for column, unit in (("correct", "points of exact match"), ("calls", "calls for each 100 questions")):
        change = paired_bootstrap(everyone[a][column].astype(float), everyone[b][column].astype(float), seed=0)
        low, high = change.interval
        verdict = "higher" if low > 0 else "lower" if high < 0 else "not told apart"
        print(f"{a:8} - {b:7}: {100 * change.difference:+6.1f} [{100 * low:+.1f}, {100 * high:+.1f}] {unit}: {verdict}")

# %% [markdown]
r"""
Two numbers, and you need both. A cost that is too high is a lesson in *not searching*, and exact match pays for it; a cost of 0 leaves the habit alone wherever it does no harm. $c$ is a price, and what is the right price is not a question of machine learning.

**F1** gives part of the credit for part of the words, as is usual in question answering. With answers of one word it can hardly differ from exact match, which is why we report it and do not train on it. Where it does: `<answer>the town Merk</answer>` for "Merk" is a miss, and an F1 of 0.5.

### Every fault counted

Accuracy alone does not say what a policy does wrong. For each 100 completions:
"""

# %%
from grpo_lessons.tasks.lookup_report import faults

table = pd.DataFrame({name: faults(rows) for name, rows in everyone.items()}).round(1)
print(table.to_string())

# %%
reasons = pd.DataFrame({name: rows["reason"].value_counts(normalize=True) for name, rows in everyone.items()})
print("share of completions by the verifier's reason\n" + reasons.fillna(0.0).round(3).to_string())

# %% [markdown]
r"""
Nobody was paid for well-formed calls. They are paid for through the answers that they lead to, and each call costs, whether it worked or not.

## 6. Recorded: several seeds, no mask, and GRPO-SG

One seed is an anecdote (lesson 06). The same training over three seeds is recorded in [data/recorded/lookup](../data/recorded/lookup/about.json), together with two more runs at a cost of 0.2: **no mask**, where the results count as the policy's own words, and **GRPO-SG** with constants from this pupil's own logits, whose authors report this kind of task.

The fault is one line:
"""

# %%
import inspect

from grpo_lessons.lookup_study import Unmasked
from grpo_lessons.studies import load_recorded

print(inspect.getsource(Unmasked))
study = load_recorded("lookup")
print(study.caption)

# %%
panels = {}
for (label, setting), runs in study.curves.groupby(["label", "setting"], sort=False):
    panels[f"{plots.title(label)}, {setting}"] = [search_shares(run.reset_index(drop=True)) for _, run in runs.groupby("seed")]
plots.show(
    plots.search_over_training(panels),
    alt="Four panels over the training steps, GRPO without and with a cost, GRPO-SG with a cost, and GRPO without the mask: "
    "share of completions with a call for questions with and without a note, thin lines for the seeds.",
    caption=f"Where do the two lines part, and how far? ({study.caption})",
)

# %%
columns = ["accuracy", "f1", "calls", "searched_note", "searched_no_note"]
table = study.results.groupby(["label", "setting"], sort=False)[columns].mean()
table.loc[("before training", ""), :] = study.results[[f"{c}_before" for c in columns]].mean().to_numpy()
print("means over seeds, held-out questions\n" + table.round(3).to_string())

# %%
from grpo_lessons.pooled import differences

for a, b in (("no mask", "grpo"), ("grpo_sg", "grpo")):
    for row in differences(study, a, b).itertuples():
        print(f"{a:8} - {b} at {row.setting}: {100 * row.difference:+.1f} points of exact match "
              f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}], ahead in {row.ahead}: {row.verdict}")
print("\nby seed:\n" + study.results.pivot(index="seed", columns=["label", "setting"], values="accuracy").round(3).to_string())

# %% [markdown]
r"""
Look at the unmasked run with the suspicion that you would give to a method that you like. Whether exact match suffers in so short a training is what the line above says, with its interval. What else would the fault teach? It pushes articles that led to right answers up: the policy is drawn towards *writing results itself*. So look for that:
"""

# %%
curves = study.curves.query("setting == 'cost 0.2' and label in ['grpo', 'no mask']")
table = curves.groupby(["label", "seed"])[["grad_norm", "approx_kl", "entropy"]].mean()
print("means over the steps (the unmasked run counts the results' tokens too)\n" + table.round(3).to_string())
probability = study.results.set_index(["label", "setting", "seed"])[["result_logp_before", "result_logp"]]
print("\nmean log-probability of a result's token, nats, before and after\n" + probability.round(2).to_string())

# %% [markdown]
r"""
The second table is the direct measurement: how likely is a result's token to the policy that reads it? If the column moves far in the rows of *no mask* and little in the others, then this is where the update went.

## 7. A second tool

A tool is a function from text to text, so a second one is a second entry in a dictionary. The calculator works with exact fractions, on integers, `+ - * /` and brackets; everything else is refused. Some questions need both tools:
"""

# %%
sums = get_task("lookup_qa", form="compact", kinds=("difference",))
years = sums.problem(("founded",), ("Graisen", "Staled"), with_note=False)
turns = ["<call>search: Graisen</call>", "<call>search: Staled</call>", "<call>calculate: 657-541</call>", "<answer>116</answer>"]
text = episode(turns, sums.environment)
print(years.prompt[-1]["content"], "\n" + text.replace("><", ">\n<"))
print("verdict:", sums.verify(text, years).reason)

for call in ("calculate: 3*(4+5)", "calculate: 7/2", "calculate: 1/0", "calculate: 9**9**9", "calculate: __import__('os')"):
    print(f"{call:32} {sums.environment.reply(call, []).text}")

# %% [markdown]
r"""
Our pupil has never seen a calculator, and reinforcement cannot teach what is never tried: without a first accidental right use there is no difference of rewards. A model that has read prompts can be *told* (`get_task("lookup_qa")`, without `form="compact"`, describes both tools in its prompt); that is the task to use with SmolLM2 or Qwen.

## 8. The same environment under TRL

TRL's trainer has two hooks for tools, both marked experimental. `tools=` takes Python functions and lets TRL write and parse JSON calls in the model's chat template. `rollout_func=` takes a whole sampler; it returns ids, log-probabilities and `env_mask`, the mask of section 3. Our adapters serve both from the same environment. The first needs a name, types and words:
"""

# %%
from transformers.utils import get_json_schema

from grpo_lessons.integrations.trl_tools import trl_rollout, trl_tools
from grpo_lessons.tasks.lookup_tools import calculate

words = {"search": "Search the encyclopedia.", "calculate": "Compute an expression of integers exactly."}
search, compute = trl_tools({"search": task.environment.tools["search"], "calculate": calculate}, words)
print(get_json_schema(search)["function"])
print(compute("3*(4+5)"), "|", compute("1/0"), "|", search("Atlantis"))

# %% [markdown]
r"""
The second is checked here without TRL, with a stand-in that has the few attributes which the adapter reads from TRL's trainer; a test of ours trains under the real one and looks at the mask that it used.
"""

# %%
from types import SimpleNamespace

trainer = SimpleNamespace(
    accelerator=SimpleNamespace(unwrap_model=lambda model: model, device=base.device),
    model=base.model, processing_class=base.tokenizer, temperature=1.0, max_completion_length=task.max_new_tokens,
    args=SimpleNamespace(seed=0), state=SimpleNamespace(global_step=1),
)
hooked = trl_rollout(task.environment)([p.prompt for p in questions], trainer)
ours = sample_tool_groups(base, questions, 1, task.environment, max_new_tokens=task.max_new_tokens, seed=1)
assert hooked["completion_ids"] == [e.ids for e in ours.episodes]
assert hooked["env_mask"] == [e.mask for e in ours.episodes]
print("keys:", ", ".join(hooked), "| ids and masks are those of sample_tool_groups")

# %% [markdown]
r"""
## What the sources claim, beside our runs

The rows of [claims.md](../data/claims.md) that this lesson deals with; *not seen* means that our interval holds 0, on one small policy and one task, and not that the claim is wrong.
"""

# %%
from grpo_lessons.claims import load_claims

load_claims("16").style.hide(axis="index").set_table_styles([{"selector": "th, td", "props": "text-align: left"}])

# %% [markdown]
r"""
The number in the first row, 13.84 to 27.29, is exact match as well: more than twice as much, and more than seven of ten questions still missed. Before you compare it with a number of your own, ask what lessons 02 and 06 ask: which questions, which corpus, which matching rule, how many seeds.

## Exercises

**1.** The mask of an episode. It comes as spans: who wrote, and how many tokens.
"""

# %% {"exercise": "16.loss_mask", "tags": ["exercise"]}
def my_loss_mask(spans):
    """spans: ("policy" or "environment", number of tokens) in order. Returns 0.0 or 1.0 for each token."""
    ...


check.lesson16.loss_mask(my_loss_mask)

# %% [markdown]
r"""
**2.** Read the call that a text ends with. It is called after every closing bracket that a policy writes, so it must bear everything.
"""

# %% {"exercise": "16.read_call", "tags": ["exercise"]}
def my_read_call(text):
    """Returns (tool, argument), both without white space around them, or None."""
    ...


check.lesson16.read_call(my_read_call)

# %% [markdown]
r"""
**3.** The break-even cost of section 4, as a function.
"""

# %% {"exercise": "16.break_even", "tags": ["exercise"]}
def my_break_even(with_search, without, calls):
    """Probabilities of a right answer with a search of `calls` calls and without one. Returns the cost of a call."""
    ...


check.lesson16.break_even(my_break_even)

# %% [markdown]
r"""
**4. Try it.** Take a cost above the break-even of *two hops, no note* in section 4, but below that of *one hop, no note*. Write down what an ideal policy does in each of the four rows, then train with it. Which of your four predictions came true after 40 steps?

## Recap

1. An episode alternates: the policy writes until it closes a call, the environment answers, the policy reads and goes on, within limits of calls and tokens.
2. Tool text is context, never a target: its mask is 0, and the gradient does not depend on its log-probabilities.
3. A search pays while $p_s - c\,k > p_0$. The reward decides when to search; the policy finds out where, if both ways are tried.
4. A failed call is a result with a status. Counted by status, faults tell more than accuracy.
5. An environment is a function from a call to a text that never raises; the same one serves our loop and TRL's.

## References

- Jin et al., *Search-R1: Training LLMs to Reason and Leverage Search Engines with Reinforcement Learning* (masked retrieved tokens), 2025, arXiv:2503.09516.
- Wang et al., *OTC: Optimal Tool Calls via Reinforcement Learning* (a price for calls), 2025, arXiv:2504.14870.
- Le, Van, Le, *Sharpness-Guided Group Relative Policy Optimization via Probability Shaping* (GRPO-SG), 2025, arXiv:2511.00066.
- Yao et al., *ReAct: Synergizing Reasoning and Acting in Language Models*, 2022, arXiv:2210.03629.
- Schick et al., *Toolformer: Language Models Can Teach Themselves to Use Tools*, 2023, arXiv:2302.04761.
- Rajpurkar et al., *SQuAD: 100,000+ Questions for Machine Comprehension of Text* (exact match and F1), 2016, arXiv:1606.05250.

**Next:** one policy, one machine, one process so far. Lesson 17 asks what changes when there are more.
"""
