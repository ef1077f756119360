"""What the last tokens of a prompt cost the model, for budgets that read it.

A budget says by ``reads_loss`` how many tokens it wants; the engine then keeps the final
hidden states of their rows and hands over the nats.
"""

import torch
import torch.nn.functional as F

from kvteach.attention import soft_capped
from kvteach.caches import account


def tokens_read(method):
    """How many of the last tokens' losses the method's budget reads, 0 for none."""
    return getattr(method.budget, "reads_loss", 0) if method.score is not None else 0


def rows_needed(plan):
    """Final hidden states that are kept, counted from the end."""
    count = tokens_read(plan.method) if plan.evicts else 0
    later = [n - r for n, r in zip(plan.lengths, plan.rankings) if r is not None]
    return count and count + 1 + max(later, default=0)


def last_rows(kept, output, count):
    """The last ``count`` final hidden states [B, rows, E] once ``output`` is read too."""
    rows = output.last_hidden_state
    if kept is not None:
        rows = torch.cat([kept, rows], 1)
    return rows[:, -count:].clone()


def of_sequence(model, plan, final, b):
    """Nats of the last tokens of sequence ``b``, None where the budget reads none."""
    count, length = tokens_read(plan.method), plan.lengths[b]
    if not count or final is None:
        return None
    tokens_t, final_te = plan.tokens_bt[b, -length:], final[b, -length:]
    return nats(model, final_te, tokens_t, count, plan.rankings[b])


def nats(model, final_te, tokens_t, count, ranking=None):
    """-ln p of the last ``count`` of the first ``ranking`` tokens, [count] float32.

    final_te: final hidden states of the last rows of the sequence ``tokens_t`` [S].
    ranking: None for all. Fewer where the prompt is shorter; the first token is
    predicted by none. Cost 2 count E V FLOP for a vocabulary of V.
    """
    last = len(tokens_t) if ranking is None else ranking
    count = min(count, last - 1)
    before = len(tokens_t) - len(final_te)  # rows that were not kept
    rows_te = final_te[last - count - 1 - before : last - 1 - before]
    with torch.no_grad():
        logits = model.get_output_embeddings()(rows_te).float()
    config = account.text_config(model.config)
    logits = logits * (getattr(config, "logit_scale", None) or 1)
    logits = logits / (getattr(config, "logits_scaling", None) or 1)
    logits = soft_capped(logits, getattr(config, "final_logit_softcapping", None))
    return F.cross_entropy(logits, tokens_t[last - count : last], reduction="none")
