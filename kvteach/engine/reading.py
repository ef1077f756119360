"""A prompt read once and kept whole, to be compressed in many ways."""

from dataclasses import replace

from kvteach.engine import plan as plans
from kvteach.engine.prefill import Prefill, RowsRead
from kvteach.engine.session import Compressed


class Recorder(Prefill):
    """A prefill that compresses nothing and keeps all that any rule reads."""

    def __init__(self, model, plan):
        super().__init__(model, plan)
        self.recorded = []  # (RowsRead, arguments of _seen) of each layer
        self.final_rows = self.length

    def _collect(self, index, query):
        hidden, rotary = self.inputs.get(index, (None, None))
        self.read[index] = RowsRead(query, [hidden], [rotary] if rotary is not None else [])

    def _seen(self, *seen):
        index = seen[0].layer_idx
        self.recorded.append((self.read.pop(index, None), seen))
        self.layers[index] = None

    def _finished(self):
        return self.recorded


class Reading:
    """One sequence after prefill, uncompressed: `compress` as often as you like.

    For comparisons: the prompt is read once, each score is computed once, whatever the
    number of budgets and stores. Holds queries, keys, values and hidden states of all
    layers, 4 S ((H + 2 K) D + E) bytes a layer in float32. Arguments and conditions as
    in `kvteach.engine.compress`; no batch. A question that comes after the eviction
    ("after") is not read here, so one reading serves any number of them.
    """

    def __init__(self, model, tokens, question=None, condition="visible"):
        plan = plans.make(model, tokens, "full", None, question, condition, None, None)
        if len(plan.tokens_bt) != 1:
            raise ValueError(f"tokens: {len(plan.tokens_bt)} sequences; a reading holds one")
        self.model, self.plan = model, plan
        recorder = Recorder(model, plan)
        self.recorded, self.final = recorder.run(), recorder.final
        self.scores = {}  # (score rule, ranking) -> the rule, its scores of all layers

    def compress(self, method, budget=None, store=None, ranking="as read"):
        """A `Compressed` session, as `kvteach.engine.compress` would give it.

        ranking: how many of the first rows may rank keys instead of what the condition
        says; None for all.
        """
        read = self.plan
        plan = plans.make(
            self.model, read.tokens_bt, method, budget, None, "visible", None, store
        )
        rankings = read.rankings if ranking == "as read" else [self._checked(ranking)]
        plan = replace(plan, pending_bt=read.pending_bt, rankings=rankings)
        plans.require_rows(plan)
        prefill = Prefill(self.model, plan)
        score = plan.method.score
        try:
            hash(score)
            key = (score, rankings[0])
        except TypeError:
            key = (id(score), rankings[0])  # what cannot be compared equals only itself
        # The rule is kept beside its scores, so that no other can get its id.
        _, known = self.scores.setdefault(key, (score, {}))
        prefill.final = self.final
        layers, ledger = prefill.reuse(self.recorded, known)
        return Compressed.start(self.model, layers, plan, ledger)

    def _checked(self, ranking):
        length = self.plan.lengths[0]
        if ranking is None or (isinstance(ranking, int) and 1 <= ranking <= length):
            return ranking
        raise ValueError(f"ranking: {ranking!r}; need None or 1 .. {length} rows")
