"""An unenforced budget: every head of a layer holds as many keys as the widest one."""

from dataclasses import dataclass
from typing import Any

from kvteach.budgets.topk import top_k


@dataclass(frozen=True)
class Widest:
    """What a rule keeps, and with it what padding to the widest head lets in.

    A tensor [K, M, D] costs every head of its layer the M keys of the widest. If the
    slots are paid for anyway and hold each head's next best keys, the sets are those
    that a method has whose budget nobody enforces. The total is above the budget
    wherever ``inner`` gives heads of a layer different counts.

    inner: the rule. Source: Shi et al., Trust the Mass, section 4, "not enforced".
    """

    inner: Any

    @property
    def scope(self):
        """Whether ``inner`` decides layer by layer."""
        return self.inner.scope

    @property
    def reads_values(self):
        """Whether ``inner`` looks at values."""
        return getattr(self.inner, "reads_values", False)

    def __call__(self, scores, entries, layers, depth, *values):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool."""
        kept = self.inner(scores, entries, layers, depth, *values)
        return [top_k(score, int(k.sum(-1).max())) for score, k in zip(scores, kept)]
