"""Real attention rows out of a running model.

`rows` runs a model once over a document and records, for chosen layers and
positions, the queries, keys and values that its attention really used (after
rotary embedding) and the output that it really produced. Weights are computed
from them on demand, in float64, so no T x T matrix ever exists: 4,096 tokens
through all 30 layers of the bundled model stay below 2 GiB.

Query head h reads key-value head h // R. Every capture is checked against the
model's own output before it is returned.
"""

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from kvteach import attention
from kvteach.models import Loaded

OUTPUT_TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.float16: 2**-10,
    torch.bfloat16: 2**-7,
}
"""Largest allowed ||p v - model output||, relative to the longest visible value.

Our weights are float64; the model's are not. In float32 a logit of size 50 is
off by about 50 * 2**-24 = 3e-6, and so is each weight, relatively. In half
precision the model rounds weights and output to 2**-11 (float16) or 2**-8
(bfloat16) of their size, and two such roundings meet. The bundled model stays
5 to 20 times below each limit.
"""


class Row(NamedTuple):
    """One attention row over its S visible keys, in float64."""

    p: torch.Tensor  # [S] weights, summing to 1
    v: torch.Tensor  # [S, D] values
    k: torch.Tensor  # [S, D] keys after rotary embedding
    q: torch.Tensor  # [D] the query after rotary embedding
    output: torch.Tensor  # [D] what the model's attention returned
    where: tuple  # (layer, head, position)


@dataclass(frozen=True)
class LayerRows:
    """The recorded rows of one layer, n positions for all H heads."""

    layer: int
    positions: torch.Tensor  # [n] index of each query in the document
    queries_hnd: torch.Tensor
    keys_ksd: torch.Tensor
    values_ksd: torch.Tensor
    outputs_hnd: torch.Tensor
    visible_ns: torch.Tensor  # True where the query may look
    scaling: float

    @property
    def group_size(self):
        """R, the query heads that share one key-value head."""
        return self.queries_hnd.shape[0] // self.keys_ksd.shape[0]

    def kv_head(self, head):
        """The key-value head that query head ``head`` reads."""
        return head // self.group_size

    def weights(self, head):
        """p of every recorded row of ``head``, [n, S] float64; 0 where invisible."""
        keys_sd = self.keys_ksd[self.kv_head(head)].double()
        logits_ns = self.queries_hnd[head].double() @ keys_sd.T * self.scaling
        return logits_ns.masked_fill(~self.visible_ns, -torch.inf).softmax(-1)

    def row(self, head, index=-1):
        """The `Row` of ``head`` at the ``index``-th recorded position, visible keys only.

        Raises ValueError for a head or an index that was not recorded.
        """
        heads, count = len(self.queries_hnd), len(self.positions)
        if not 0 <= head < heads:
            raise ValueError(f"head: {head} is outside 0 .. {heads - 1}")
        if not -count <= index < count:
            raise ValueError(f"index: {index}, but {count} positions were recorded")
        seen = self.visible_ns[index]
        shared = self.kv_head(head)
        keys_nd = self.keys_ksd[shared, seen].double()
        query_d = self.queries_hnd[head, index].double()
        return Row(
            (keys_nd @ query_d * self.scaling).softmax(0),
            self.values_ksd[shared, seen].double(),
            keys_nd,
            query_d,
            self.outputs_hnd[head, index].double(),
            (self.layer, head, int(self.positions[index])),
        )


@dataclass(frozen=True)
class Capture:
    """Recorded layers of one document, and where they came from."""

    layers: dict  # layer index -> LayerRows
    heads: list
    provenance: dict

    def __iter__(self):
        """Every chosen `Row`: layers in order, then heads, then positions.

        Rows are made as they are asked for: at 4,096 keys each holds 4 MiB.
        """
        for layer in self.layers.values():
            for head in self.heads:
                for index in range(len(layer.positions)):
                    yield layer.row(head, index)


def rows(
    model, tokens, layers=None, heads=None, positions=None, attention_mask=None
):
    """Record attention rows of ``model`` over one document. Returns `Capture`.

    model: a transformers causal language model. tokens: [T] or [1, T] ids.
    layers and heads: indices, all by default. positions: indices of the queries
    to keep, the last one by default. attention_mask: [T] or [1, T], 0 on padding; padded
    keys are then in no row. Sliding-window layers give rows over their window.

    Cost: one forward pass without the vocabulary projection; memory of the
    recorded keys and values, 4 (H n + 2 K T) D bytes a layer. The model is
    left as it was, also when an exception passes through.

    Raises ValueError for indices out of range, a padded query, and tokens that the
    model cannot read, and NotImplementedError naming what a layer does that plain softmax attention
    does not (soft-capping, learned sinks, position biases).
    """
    if isinstance(model, Loaded):
        raise ValueError("model: got what models.load returns; pass its .model")
    tokens_bt = _document(tokens, model.config)
    length = tokens_bt.shape[1]
    layers = _indices("layers", layers, model.config.num_hidden_layers, default="all")
    heads = _indices("heads", heads, model.config.num_attention_heads, default="all")
    positions = _indices("positions", positions, length, default="last")
    attention_bt = _padding(attention_mask, length, positions)
    recorder = _Recorder(set(layers), torch.tensor(positions))
    _run(model, tokens_bt, attention_bt, recorder)
    missing = [layer for layer in layers if layer not in recorder.layers]
    if missing:
        raise NotImplementedError(
            f"layers {missing} did not call the attention function: they hold no "
            "softmax attention, or the model does not use transformers' registry"
        )
    return Capture(
        {layer: recorder.layers[layer] for layer in layers},
        heads,
        _provenance(model, tokens_bt, layers, heads, positions),
    )


# --- recording --------------------------------------------------------------


@dataclass
class _Recorder:
    wanted: set
    positions: torch.Tensor
    layers: dict = field(default_factory=dict)

    def attend(self, module, query, key, value, mask, scaling, **others):
        """transformers' SDPA attention, with a look at what goes in and out."""
        output, weights = attention.sdpa(module, query, key, value, mask, scaling, **others)
        if module.layer_idx in self.wanted:
            self.record(module.layer_idx, query, key, value, mask, scaling, output)
        return output, weights

    def record(self, layer, query, key, value, mask, scaling, output):
        at = self.positions.to(query.device)
        visible_ns = attention.visible_keys(mask, at, key.shape[2])
        self.layers[layer] = LayerRows(
            layer,
            self.positions,
            _keep(query[0, :, at]),
            _keep(key[0]),
            _keep(value[0]),
            _keep(output[0, at].transpose(0, 1)),
            visible_ns.cpu(),
            float(scaling),
        )
        _require_same_output(self.layers[layer], query.dtype)


def _keep(tensor):
    """A copy on the CPU in float32 at least; half precision widens without loss."""
    wide = tensor.dtype if tensor.dtype == torch.float64 else torch.float32
    return tensor.detach().to("cpu", wide, copy=True)


def _run(model, tokens_bt, attention_bt, recorder):
    inputs = {"input_ids": tokens_bt.to(model.device), "use_cache": False}
    if attention_bt is not None:
        inputs["attention_mask"] = attention_bt.to(model.device)
        inputs["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp_min(0)
    with attention.replaced(model, recorder.attend), torch.no_grad():
        model.base_model(**inputs)


def _require_same_output(layer, dtype):
    """Raise RuntimeError unless p v is the output that the model used."""
    for head in range(layer.queries_hnd.shape[0]):
        values_sd = layer.values_ksd[layer.kv_head(head)].double()
        ours_nd = layer.weights(head) @ values_sd
        off = (ours_nd - layer.outputs_hnd[head].double()).norm(dim=-1).max()
        worst = (off / values_sd.norm(dim=-1).max().clamp_min(1e-30)).item()
        if not worst <= OUTPUT_TOLERANCE[dtype]:
            raise RuntimeError(
                f"layer {layer.layer} head {head}: recorded rows give another output "
                f"than the model's (off by {worst:.2g} of the longest value; allowed "
                f"{OUTPUT_TOLERANCE[dtype]:.2g})"
            )


# --- arguments --------------------------------------------------------------


def _document(tokens, config):
    """The tokens as [1, T], or ValueError where the model cannot read them."""
    tokens = torch.as_tensor(tokens)
    tokens_bt = tokens.reshape(1, -1) if tokens.ndim < 2 else tokens
    if tokens_bt.ndim != 2 or tokens_bt.shape[0] != 1 or tokens_bt.shape[1] == 0:
        raise ValueError(f"tokens: shape {tuple(tokens.shape)}; need [T] or [1, T], T >= 1")
    if tokens.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"tokens: dtype {tokens.dtype}; need integer ids")
    if not 0 <= tokens.min() <= tokens.max() < config.vocab_size:
        raise ValueError(
            f"tokens: ids {int(tokens.min())} .. {int(tokens.max())} leave the "
            f"vocabulary, 0 .. {config.vocab_size - 1}"
        )
    longest = getattr(config, "max_position_embeddings", None)
    if longest and tokens_bt.shape[1] > longest:
        raise ValueError(f"tokens: {tokens_bt.shape[1]}; the model reads at most {longest}")
    return tokens_bt


def _indices(name, chosen, count, default):
    """Sorted distinct non-negative indices below ``count``, or ValueError."""
    if chosen is None:
        return list(range(count)) if default == "all" else [count - 1]
    wanted = torch.as_tensor(chosen).reshape(-1).tolist()
    if not all(type(index) is int for index in wanted):
        raise ValueError(f"{name}: {wanted}; need whole numbers")
    if not wanted or not all(-count <= index < count for index in wanted):
        raise ValueError(f"{name}: {wanted} leaves the legal range 0 .. {count - 1}")
    return sorted({index % count for index in wanted})


def _padding(attention_mask, length, positions):
    """The mask as [1, T], None where there is no padding, or ValueError."""
    if attention_mask is None:
        return None
    attention_bt = torch.as_tensor(attention_mask).reshape(1, -1).long()
    if attention_bt.shape[1] != length:
        raise ValueError(f"attention_mask: {attention_bt.shape[1]} entries, {length} tokens")
    padded = [position for position in positions if not attention_bt[0, position]]
    if padded:
        raise ValueError(f"positions: {padded} are padding and have no attention row")
    return None if attention_bt.all() else attention_bt


def _provenance(model, tokens_bt, layers, heads, positions):
    import transformers

    digest = hashlib.sha256(tokens_bt.cpu().long().numpy().tobytes()).hexdigest()
    return {
        "model": model.name_or_path,
        "revision": getattr(model.config, "_commit_hash", None),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": model.device.type,
        "tokens": tokens_bt.shape[1],
        "tokens_sha256": digest,
        "layers": layers,
        "heads": heads,
        "positions": positions,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
