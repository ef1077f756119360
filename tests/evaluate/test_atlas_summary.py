"""Numbers of the summary against plain NumPy on rows.parquet."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from kvteach import capture, cli
from kvteach.evaluate.atlas import (
    certificates,
    cross_entropy,
    intervals,
    plan,
    report,
    summary,
)
from kvteach.evaluate.atlas.answer import answer, answered
from kvteach.evaluate.atlas.batch import Batch
from kvteach.rows import error, select, statistics


@pytest.fixture(scope="module")
def folder(save_reader, tmp_path_factory):
    """A map of a random model with certificates and cross-entropy."""
    base = tmp_path_factory.mktemp("atlas")
    save_reader(base / "tiny", layers=4)
    arguments = [
        "--documents",
        "4",
        "--tokens",
        "160",
        "--positions",
        "3",
        "--budgets",
        "4",
        "8",
        "32",
        "--certify",
        "5",
        "--cross-entropy",
        "2",
    ]
    assert (
        cli.main(["map", str(base / "map"), "--model", str(base / "tiny"), *arguments])
        == 0
    )
    return base / "map"


@pytest.fixture(scope="module")
def found(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture(scope="module")
def table(folder):
    return pq.read_table(folder / "rows.parquet")


def columns(table, budget):
    """Columns at one budget; where nothing is lost or gained the ratios are plain."""
    keep = table["budget"].to_numpy() == budget
    found = {
        n: table[n].to_numpy(zero_copy_only=False)[keep] for n in table.column_names
    }
    assert (found["best_error"] > 0).all() and (found["free_error"] > 0).all()
    return found


@pytest.mark.parametrize("budget", [4, 8, 32])
def test_table_8_and_tails(found, table, budget):
    rows = columns(table, budget)
    kappa = rows["top_error"] / rows["best_error"]
    pi = rows["best_error"] / rows["free_error"]
    here = found["table_8"][str(budget)]
    expected = {
        "kappa": np.median(kappa),
        "kappa_p99": np.quantile(kappa, 0.99),
        "share": np.mean(rows["best_error"] <= 0.9 * rows["top_error"]),
        "closure": np.median(1 - 1 / kappa),
        "top_mass_is_best": np.mean(kappa < 1 + 1e-9),
        "frank_wolfe": np.median(rows["frank_wolfe_error"] / rows["top_error"]),
        "leverage": np.median(rows["leverage_error"] / rows["top_error"]),
        "vote": np.median(rows["vote_error"] / rows["top_error"]),
        "pi": np.median(pi),
        "pi_p99": np.quantile(pi, 0.99),
        "balanced_kappa": np.median(rows["balanced_error"] / rows["best_error"]),
    }
    for name, value in expected.items():
        estimate, low, high = here[name]
        assert estimate == pytest.approx(value, rel=1e-12), name
        assert low <= high
    tails = found["tails"][str(budget)]
    assert tails["closure_mean"][0] == pytest.approx(np.mean(1 - 1 / kappa), rel=1e-12)
    assert tails["closure_p90"][0] == pytest.approx(
        np.quantile(1 - 1 / kappa, 0.9), rel=1e-12
    )
    assert tails["kappa_within_1.5"][0] == np.mean(kappa <= 1.5)


def test_table_1(found, table):
    at_8 = columns(table, 8)
    for budget in (4, 8, 32):
        rows = columns(table, budget)
        here = found["table_1"][str(budget)]
        closed = np.median(1 - rows["balanced_error"] / rows["top_error"])
        assert here["balanced_closure"][0] == pytest.approx(closed, rel=1e-12)
        assert here["dropped_mass"][0] == np.median(rows["dropped_mass"])
        gap = np.median(rows["top_error"] / at_8["top_error"])
        assert here["gap_over_gap_at_8"][0] == pytest.approx(gap, rel=1e-12)


def pairs_won(score, label):
    """AUC by counting pairs."""
    up, down = score[label][:, None], score[~label][None]
    return np.mean((up > down) + 0.5 * (up == down))


def test_tables_2_and_6_and_predictors(found, table):
    rows = columns(table, 8)
    label = rows["best_error"] <= 0.9 * rows["top_error"]
    auc = pairs_won(rows["dropped_mass"], label)
    assert found["table_6"]["auc"][0] == pytest.approx(auc, rel=1e-12)
    predictors = found["predictors"]["8"]
    assert predictors["dropped_mass"][0] == pytest.approx(auc, rel=1e-12)
    keys = pairs_won(rows["effective_keys"], label)
    assert predictors["effective_keys"][0] == pytest.approx(keys, rel=1e-12)
    for corpus, here in found["table_2"].items():
        some = rows["corpus"] == corpus
        assert here["8"]["share"][0] == label[some].mean()
        if 0 < label[some].mean() < 1:
            by_corpus = pairs_won(rows["dropped_mass"][some], label[some])
            assert here["8"]["auc"][0] == pytest.approx(by_corpus, rel=1e-12)
        else:
            assert here["8"]["auc"] == [None, None, None]
    rate = np.array([label[rows["layer"] == layer].mean() for layer in range(4)])
    assert found["table_6"]["rate_by_layer"] == rate.tolist()
    edge = found["table_6"]["edge_over_interior"]
    assert list(edge) == ["1"]  # two layers a side leave no interior of four
    assert edge["1"][0] == pytest.approx(
        statistics.edge_over_interior(rate, 1), rel=1e-12
    )
    mass = [
        np.median(rows["dropped_mass"][rows["layer"] == layer]) for layer in range(4)
    ]
    ranks = [np.argsort(np.argsort(x)) for x in (mass, rate)]
    if len(set(rate)) == 4:
        depth = np.corrcoef(ranks)[0, 1]
        assert found["table_6"]["rho_depth"][0] == pytest.approx(depth, rel=1e-9)


def test_figure_2_cells(found, table):
    rows, cells = columns(table, 8), found["figure_2"]["8"]
    kappa = rows["top_error"] / rows["best_error"]
    for layer in range(4):
        for head in range(4):
            here = (rows["layer"] == layer) & (rows["head"] == head)
            assert here.sum() == 12
            assert cells["kappa"][layer][head] == pytest.approx(np.median(kappa[here]))
            assert cells["dropped_mass"][layer][head] == np.median(
                rows["dropped_mass"][here]
            )


def test_figure_3_rules(found, table):
    rows, figure = columns(table, 8), found["figure_3"]
    for rule in ("quest", "streaming"):
        label = rows["best_error"] <= 0.9 * rows[f"{rule}_error"]
        assert figure[rule]["share"][0] == label.mean()
        if 0 < label.mean() < 1:
            auc = pairs_won(rows["dropped_mass"], label)
            assert figure[rule]["auc"][0] == pytest.approx(auc, rel=1e-12)
    # Per query, TOVA keeps the top-mass set.
    assert figure["tova"]["auc"] == figure["certificate"]["auc"]
    points = np.array(figure["certificate"]["roc"])
    assert (np.diff(points, axis=0) >= 0).all() and points[-1].tolist() == [1, 1]
    area = np.trapezoid(points[:, 1], points[:, 0])
    # 41 thresholds on 192 rows
    assert area == pytest.approx(figure["certificate"]["auc"][0], abs=0.03)


def test_intervals_of_an_auc_are_those_of_the_slow_way():
    generator = np.random.default_rng(3)
    documents = np.repeat(np.arange(6), 40)
    label = generator.random(240) < 0.4
    score = np.round(
        generator.normal(size=240) + label + 0.3 * documents, 1
    )  # with ties
    fast = intervals.auc(score, label, documents)
    assert fast[0] == pytest.approx(pairs_won(score, label), rel=1e-12)
    slow = intervals.over_documents(
        np.c_[score, label], documents, lambda x: pairs_won(x[:, 0], x[:, 1] > 0)
    )
    # Two independent sets of 1,000 resamples: quantiles agree to a few percent.
    assert fast[1:] == pytest.approx(slow[1:], abs=0.015)


def test_intervals_cover_what_documents_vary_by():
    values = np.repeat([1.0, 2.0, 3.0, 4.0], 5)
    documents = np.repeat(list("abcd"), 5)
    for found in (
        intervals.mean(values, documents),
        intervals.over_documents(values, documents, np.mean),
        intervals.quantile(values, documents),
    ):
        estimate, low, high = found
        # The mean of 4 draws from 1 .. 4 has a standard deviation of 0.56.
        assert estimate == 2.5 and 1 <= low < 1.9 and 3.1 < high <= 4
    one = np.zeros(20)
    assert intervals.mean(values, one) == [2.5, None, None]
    assert intervals.quantile(values, one, 0.9) == [4.0, None, None]
    assert intervals.over_documents(values, one, np.mean) == [2.5, None, None]


def test_rank_correlations_are_those_of_the_slow_way():
    generator = np.random.default_rng(3)
    documents = np.repeat(np.arange(8), 40)
    a = np.round(generator.normal(size=320), 1) + 0.3 * documents  # with ties
    b = np.round(a + generator.normal(size=320), 1)
    fast = intervals.spearman(a, b, documents)
    assert fast[0] == pytest.approx(statistics.spearman(a, b), rel=1e-12)
    slow = intervals.over_documents(
        np.c_[a, b], documents, lambda x: statistics.spearman(x[:, 0], x[:, 1])
    )
    # Two independent sets of 1,000 resamples: quantiles agree to a few percent.
    assert fast[1:] == pytest.approx(slow[1:], abs=0.02)
    counts = generator.integers(1, 4, 320)
    repeated = statistics.spearman(np.repeat(a, counts), np.repeat(b, counts))
    groups = [np.unique(x, return_inverse=True)[1] for x in (a, b)]
    got = intervals._repeated_spearman(*groups, counts)
    assert got == pytest.approx(repeated, rel=1e-12)
    assert intervals.spearman(np.ones(320), b, documents) == [None, None, None]


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99, 0.0, 1.0])
def test_quantiles_of_repeated_values(q):
    generator = np.random.default_rng(3)
    for _ in range(30):
        ordered = np.sort(np.round(generator.normal(size=23), 1))
        counts = generator.integers(0, 4, 23)
        expected = np.quantile(np.repeat(ordered, counts), q)
        got = intervals.repeated_quantile(ordered, counts, q)
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-15)


# --- certificates -----------------------------------------------------------


def test_certified_rows_are_spread_and_sound(folder, found, table):
    proofs = pq.read_table(folder / "certificates-5.parquet").to_pylist()
    assert len(proofs) == 3 * 5 * 2
    for proof in proofs:
        assert proof["lower"] <= proof["upper"] * (1 + 1e-12)
        assert proof["pool_error"] <= proof["top_error"] * (1 + 1e-9)
        assert not proof["proved"] or proof["lower"] <= proof["pool_error"] * (1 + 1e-9)
    at_8 = [p for p in proofs if p["budget"] == 8 and p["floor"] == 0]
    rows = columns(table, 8)
    deciles = np.sort(rows["dropped_mass"])
    classes = []
    for proof in at_8:
        here = [
            i
            for i in range(len(rows["layer"]))
            if all(
                rows[n][i] == proof[n]
                for n in ("layer", "head", "position", "top_error")
            )
        ] or [int(np.abs(rows["top_error"] - proof["top_error"]).argmin())]
        assert rows["best_error"][here[0]] == pytest.approx(
            proof["pool_error"], rel=1e-9
        )
        place = np.searchsorted(deciles, rows["dropped_mass"][here[0]]) / len(deciles)
        classes.append(int(place * 5))
    assert sorted(classes) == [0, 1, 2, 3, 4]
    here = found["table_7"]["budgets"]["8"]["free"]
    solved = [p for p in at_8 if p["proved"]]
    improved = sum(p["upper"] < 0.99 * p["pool_error"] for p in solved)
    assert (here["improved"], here["solved"]) == (improved, len(solved))
    assert here["unsolved"] == 5 - len(solved)


def test_the_published_bounds_of_table_7():
    for improved, solved, bound in ((0, 237, 0.016), (2, 234, 0.031), (36, 234, 0.206)):
        rows = summary.Rows(
            {
                "proved": np.ones(solved, bool),
                "upper": np.where(np.arange(solved) < improved, 0.5, 1.0),
                "pool_error": np.ones(solved),
                "seconds": np.ones(solved),
            }
        )
        found = certificates._substitution(rows, np.linspace(0, 1, 1001))
        assert found["wilson"] == pytest.approx(bound, abs=5e-4)
        assert found["cap"] == pytest.approx(0.5 + found["wilson"], abs=1e-9)


# --- cross-entropy ----------------------------------------------------------


@pytest.fixture(scope="module")
def small(random_llama):
    return random_llama


@pytest.fixture
def tokens(generator):
    return torch.randint(1, 50, (60,), generator=generator)


@pytest.mark.parametrize("balance", [False, True])
def test_answers_are_forced_outputs_of_the_rules(small, tokens, balance):
    layer = capture.rows(small, tokens, positions=range(60)).layers[1]
    batch = Batch(
        layer.weights(4)[None],
        layer.values_ksd[1][None].double(),
        layer.visible_ns[None],
    )
    outputs = answer(batch, 8, balance)
    for position in range(60):
        row = layer.row(4, position)
        size = min(8, len(row.p))
        rule = select.balanced if balance else select.top_mass
        expected = error.forced_output(row.p, row.v, rule(row.p, size, v=row.v))
        torch.testing.assert_close(outputs[position], expected, rtol=1e-9, atol=1e-12)


def test_keeping_every_key_changes_nothing(small, tokens):
    with torch.no_grad():
        expected = small(tokens[None]).logits
        with answered(small, 60, torch.ones(2, 6, dtype=torch.bool)):
            got = small(tokens[None]).logits
        after = small(tokens[None]).logits
    # float32 attention against float64
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(after, expected)


def test_only_the_chosen_cells_are_balanced(small, tokens):
    """Layer 0 balanced in head 2 alone: its output differs there and nowhere else."""
    heard = []
    hook = small.model.layers[0].self_attn.o_proj.register_forward_pre_hook(
        lambda module, args: heard.append(args[0][0].unflatten(-1, (6, 12)))
    )
    cells = torch.zeros(2, 6, dtype=torch.bool)
    for chosen in (False, True):
        cells[0, 2] = chosen
        with torch.no_grad(), answered(small, 8, cells):
            small(tokens[None])
    hook.remove()
    differs = (heard[0] != heard[1]).any(-1).any(0)
    assert differs.tolist() == [False, False, True, False, False, False]


def test_sets_of_cells():
    kappa = np.array([[1.0, 1.2], [1.5, 1.05]])
    mass = np.array([[0.4, 0.1], [0.3, 0.2]])
    sets = cross_entropy.cell_sets(kappa, mass, seed=0)
    assert sets["labelled"].tolist() == [[False, True], [True, False]]
    assert sets["least kappa"].tolist() == [[True, False], [False, True]]
    assert sets["most dropped mass"].tolist() == [[True, False], [True, False]]
    assert (
        sets["random"].sum() == 2 and sets["all"].all() and not sets["top-mass"].any()
    )


def test_figure_4(folder, found):
    losses = pq.read_table(folder / "cross-entropy-2.parquet").to_pylist()
    mean = {
        name: np.mean([x["loss"] for x in losses if x["set"] == name])
        for name in {x["set"] for x in losses}
    }
    figure = found["figure_4"]
    assert figure["documents"] == 2
    assert figure["top_mass"] == pytest.approx(mean["top-mass"], rel=1e-12)
    gain = mean["all"] - mean["top-mass"]
    here = figure["sets"]["labelled"]
    assert here["change"][0] == pytest.approx(
        mean["labelled"] - mean["top-mass"], rel=1e-9
    )
    share = (mean["labelled"] - mean["top-mass"]) / gain
    assert here["share_of_gain"][0] == pytest.approx(share, rel=1e-9)
    assert figure["sets"]["all"]["share_of_gain"] == [1, 1, 1]


def test_held_out_texts_are_not_in_the_map(found, bundled):
    seen = {text["name"] for text in found["plan"]["texts"]}
    unseen = plan.choose_texts(bundled.tokenizer, 3, 160, seed=0, skip=4)
    assert not seen & {text.name for text in unseen}


def test_the_page_shows_both(found):
    page = report.render(found)
    assert "| OLMo-2-1B, published | 0.134 | 0.144 | 0.091 |" in page
    for title in ("Table 1", "Table 2", "Table 6", "Table 7", "Table 8", "Figure 4"):
        assert f"## {title}" in page
    assert "nan" not in page and "None" not in page


def test_published_instance_counts(found, table):
    """arXiv 2608.25230, B.1: 111,744 + 56,448 = 168,192 instances at four budgets.

    (layers, heads) of Qwen2.5-1.5B, Llama-3.2-1B, OLMo-2-1B and Qwen3-1.7B, then
    of Qwen2.5-7B; six positions, three documents.
    """

    def rows(layers, heads):
        texts = tuple(plan.Text("english", str(i), "") for i in range(3))
        return plan.Plan(
            "m", "m", "float32", layers, heads, 1, 4096, 6, (4, 8, 16, 32), 0, texts, {}
        ).rows_per_budget

    headline = [(28, 12), (16, 32), (16, 16), (28, 16)]
    assert rows(28, 12) == 6_048
    assert 4 * sum(rows(*shape) for shape in headline) == 111_744
    assert 4 * (sum(rows(*shape) for shape in headline) + rows(28, 28)) == 168_192
    size = found["budgets"][0]
    assert found["rows_per_budget"] == np.sum(table["budget"].to_numpy() == size)
