"""How much a head takes part in finding a fact again: HeadKV's head importance.

HeadKV gives a head a budget in proportion to a number that is measured offline, once a
model, on needles in haystacks. `head_importance` measures it, `load` reads a measured
one back; a budget rule takes the tensor [L, K].
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch

from kvteach import attention

_STEMS = (
    "The serial number of the old lighthouse is",
    "The code that opens the north gate is",
    "In the ledger the debt of the miller stands at",
    "The telegram from the harbour ended with the figure",
    "The clockmaker stamped into the lid the number",
    "At the last count the orchard had yielded apples numbering",
    "Her library card carried the number",
    "The expedition turned back at an altitude in feet of",
    "The prize of the village lottery went to ticket",
    "The archive keeps the treaty in box",
)


@dataclass(frozen=True)
class Needle:
    """A prompt that hides a fact and asks for it, with the right answer at its end."""

    tokens: torch.Tensor  # [S]
    span: tuple  # first and one past the last token of the hidden fact
    answer: int  # tokens of the answer, the last of the prompt


def needles(tokenizer, haystacks, generator, length=768):
    """One `Needle` a haystack: a numbered fact in its text, and the fact begun again.

    haystacks: [>= length] token ids each, cut to ``length``. The fact's wording goes
    round a list of ten, its five digits and its depth are drawn from the generator. It
    stands on a line of its own; the prompt ends with a line that repeats it.
    """
    made = []
    for index, haystack in enumerate(haystacks):
        digits = torch.randint(10, (5,), generator=generator).tolist()
        stem = _STEMS[index % len(_STEMS)]
        value = " " + "".join(map(str, digits))
        opening, answer, closing, again = (
            torch.tensor(tokenizer.encode(text, add_special_tokens=False))
            for text in ("\n\n" + stem, value, ".\n\n", "\n\n" + stem)
        )
        depth = int(torch.randint(length + 1, (1,), generator=generator))
        parts = (haystack[:depth], opening, answer, closing, haystack[depth:length])
        tokens = torch.cat([*parts, again, answer])
        made.append(
            Needle(tokens, (depth, depth + len(opening) + len(answer)), len(answer))
        )
    return made


def head_importance(model, prompts):
    """Importance of each KV head, [L, K] float32, summing to 1 over the model.

        raw_lh = mean over prompts and answer rows of
                 sum of p_j over keys j of the fact that are among the row's |fact|
                 largest weights, over |fact|

    KV head: mean over its group. Answers are teacher-forced, and a prompt counts if the
    model's own choice is right for each of its tokens, as HeadKV counts those that it
    answers well. prompts: `Needle` each.

    Cost: a prefill a prompt, and 2 H A S D FLOP a layer for A answer rows. Fu et al.
    2024, arXiv 2410.19258, after the authors' code; deviations: five digits for an
    answer, no reasoning chain, and the group's mean. Raises ValueError when the model
    answers none of the prompts, or no head looks at a fact.
    """
    totals, counted = None, 0
    for prompt in prompts:
        shares_lh, right = _shares(model, prompt)
        if right:
            totals = shares_lh if totals is None else totals + shares_lh
            counted += 1
    if not counted:
        raise ValueError(
            f"prompts: the model answers none of the {len(prompts)} correctly"
        )
    if not totals.sum() > 0:
        raise ValueError("prompts: no head looks at the facts; they are out of reach")
    kv_heads = getattr(model.config, "num_key_value_heads", None) or totals.shape[1]
    importance_lk = totals.view(len(totals), kv_heads, -1).mean(-1)
    return (importance_lk / importance_lk.sum()).float()


def _shares(model, prompt):
    """Weight of the answer's rows on the fact, [L, H] float64; was the answer right?"""
    length = len(prompt.tokens)
    rows = torch.arange(length - prompt.answer - 1, length - 1)
    shares = {}

    def attend(module, query, key, value, mask, scaling, **others):
        seen_ns = attention.visible_keys(mask, rows.to(key.device), length)
        shares[module.layer_idx] = _share(
            query[0, :, rows], key[0], seen_ns, scaling, prompt.span
        )
        return attention.sdpa(module, query, key, value, mask, scaling, **others)

    with attention.replaced(model, attend), torch.no_grad():
        tokens = prompt.tokens[None].to(model.device)
        hidden_se = model.base_model(tokens, use_cache=False).last_hidden_state[0]
        best = model.get_output_embeddings()(hidden_se[rows]).argmax(-1).cpu()
    right = torch.equal(best, prompt.tokens[-prompt.answer :])
    return torch.stack([shares[index] for index in sorted(shares)]), right


def _share(query_hnd, key_ksd, seen_ns, scaling, span):
    """Mean over rows of the weights on the fact that are among the largest, [H]."""
    group = len(query_hnd) // len(key_ksd)
    first, last = span
    keys_hsd = key_ksd.double().repeat_interleave(group, 0)
    logits_hns = query_hnd.double() @ keys_hsd.transpose(1, 2) * scaling
    weights_hns = logits_hns.masked_fill(~seen_ns, -torch.inf).softmax(-1)
    top = weights_hns.topk(min(last - first, weights_hns.shape[-1]), -1)
    inside = (top.indices >= first) & (top.indices < last)
    return (top.values * inside).sum(-1).mean(-1).cpu() / (last - first)


# --- on disk ------------------------------------------------------------------


def write(path, importance_lk, about):
    """Write the importance and where it comes from as JSON."""
    rows = [[round(value, 6) for value in row] for row in importance_lk.tolist()]
    Path(path).write_text(
        json.dumps({"about": about, "importance": rows}, indent=1) + "\n"
    )


def load(path=None, shape=None):
    """Importance [L, K] float32 from a file; the bundled model's by default.

    shape: (L, K) of the model it is for, if it is to be checked. Raises ValueError for
    a file that holds something else, or the importance of a model of another shape.
    """
    path = Path(path) if path else Path(__file__).parent / "weights" / _SHIPPED
    try:
        content = json.loads(path.read_text())
        importance_lk = torch.tensor(content["importance"], dtype=torch.float32)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"path: {path} holds no head importance ({error})") from error
    found = tuple(importance_lk.shape)
    if importance_lk.ndim != 2 or not (importance_lk >= 0).all():
        raise ValueError(f"path: {path} holds shape {found}; need [L, K], none below 0")
    if shape is not None and found != tuple(shape):
        model = content.get("about", {}).get("model", "another model")
        raise ValueError(
            f"path: measured on {model} with [L, K] = {list(found)}; need {list(shape)}"
        )
    return importance_lk


_SHIPPED = "heads-smollm2-135m-instruct.json"
