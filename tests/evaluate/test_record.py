"""Paired comparisons: against scipy and statsmodels, on planted nulls and effects."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kvteach.evaluate.pairs import at_bytes, pairs, pairs_at_equal_bytes, rows
from kvteach.evaluate.record import compare, family, holm, permutation_p, sign_p, tally

CLUSTERS, QUESTIONS = 48, 8


def scores(rng, effect=0.0):
    """Two methods on 48 documents of 8 questions; a document moves its questions together."""
    clusters = np.repeat(np.arange(CLUSTERS), QUESTIONS)
    shared = rng.normal(size=CLUSTERS)[clusters]
    noise = rng.normal(size=(2, CLUSTERS))[:, clusters]
    ours, theirs = shared + 0.5 * noise + 0.3 * rng.normal(size=(2, len(clusters)))
    return ours + effect, theirs, clusters


# --- against others -------------------------------------------------------------------


def test_the_interval_agrees_with_scipy():
    """One question a cluster, where scipy's bootstrap does the same."""
    rng = np.random.default_rng(1)
    ours, theirs = rng.exponential(size=(2, 60))
    told = compare(ours, theirs, np.arange(60), draws=99)
    peer = stats.bootstrap(
        (ours - theirs,), np.mean, n_resamples=4000, method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    # Ends of 1000 resamples are known to about 0.07 standard errors; twice that and more.
    close = 0.2 * (ours - theirs).std() / np.sqrt(60)
    assert told.difference == pytest.approx((ours - theirs).mean())
    assert told.low == pytest.approx(peer.low, abs=close)
    assert told.high == pytest.approx(peer.high, abs=close)


def test_clusters_of_unequal_size_agree_with_resampling_them():
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(30), rng.integers(1, 9, size=30))
    ours = rng.normal(size=30)[clusters] + 0.2 * rng.normal(size=len(clusters))
    theirs = np.zeros(len(clusters))
    told = compare(ours, theirs, clusters, draws=99)
    means = []
    for _ in range(4000):
        drawn = rng.integers(30, size=30)
        means.append(np.concatenate([ours[clusters == c] for c in drawn]).mean())
    close = 0.2 * np.std(means)
    np.testing.assert_allclose([told.low, told.high], np.quantile(means, [0.025, 0.975]), atol=close)


@pytest.mark.parametrize("count", [5, 9, 40])
def test_the_permutation_test_agrees_with_scipy(count):
    rng = np.random.default_rng(count)
    ours, theirs = rng.normal(0.3, 1, size=count), rng.normal(size=count)
    peer = stats.permutation_test(
        (ours, theirs), lambda a, b, axis=-1: (a - b).sum(axis), permutation_type="samples",
        vectorized=True, n_resamples=20_000, rng=np.random.default_rng(1),
    ).pvalue
    told = permutation_p(ours - theirs, draws=20_000)
    # Exact below 15 clusters; else two Monte Carlo runs of 20,000, each within 4 sd.
    close = 1e-12 if count < 15 else 8 * np.sqrt(peer * (1 - peer) / 20_000)
    assert told == pytest.approx(peer, abs=close)


def test_the_permutation_test_agrees_with_wilcoxon_on_signed_ranks():
    """Signed ranks with signs turned are Wilcoxon's exact test."""
    differences = np.random.default_rng(5).normal(0.5, 1, size=12)
    ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
    assert permutation_p(ranks) == pytest.approx(
        stats.wilcoxon(differences, method="exact").pvalue
    )


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_a_sum_of_binomials(wins, losses):
    fewer = stats.binom.cdf(min(wins, losses), wins + losses, 0.5)
    assert sign_p(wins, losses) == pytest.approx(min(1, 2 * fewer))


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@given(probabilities)
def test_holm_is_the_closure_of_bonferroni(p):
    """A hypothesis falls when every set of hypotheses that holds it falls."""
    adjusted = holm(p)
    for i in range(len(p)):
        sets = (
            chosen
            for size in range(1, len(p) + 1)
            for chosen in itertools.combinations(range(len(p)), size)
            if i in chosen
        )
        worst = max(min(1, len(chosen) * min(p[j] for j in chosen)) for chosen in sets)
        assert adjusted[i] == pytest.approx(worst)


def test_holm_agrees_with_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(0).uniform(size=200) ** 3
    np.testing.assert_allclose(holm(p), multitest.multipletests(p, method="holm")[1])


# --- planted ----------------------------------------------------------------------------


def test_a_null_gives_false_wins_at_the_nominal_rate():
    """400 records without effect: each side errs at 2.5%, so 10 +- 3.1 times.

    Four standard deviations above are 23. A percentile interval over 48 clusters is a
    little short (about 3%: 12 +- 3.4, four above are 26). Questions taken for
    independent err far more often.
    """
    rng = np.random.default_rng(7)
    by_p = by_interval = naive = 0
    for seed in range(400):
        ours, theirs, clusters = scores(rng)
        (told,) = family({"null": {(): (ours, theirs, clusters)}}, seed=seed, draws=499)
        by_p += told.outcome("holm") == 1
        by_interval += told.outcome("interval") == 1
        naive += stats.ttest_1samp(ours - theirs, 0, alternative="greater").pvalue < 0.025
    assert by_p <= 23
    assert 1 <= by_interval <= 26
    assert naive > 50


def test_a_family_without_effect_errs_anywhere_at_most_at_alpha():
    """100 families of 20 cells: any error in 5%; 5 +- 2.2, four above are 14."""
    rng = np.random.default_rng(8)
    corrected = plain = 0
    for seed in range(100):
        sums = rng.normal(size=(20, CLUSTERS))
        p = np.array([permutation_p(cell, seed, draws=999) for cell in sums])
        corrected += bool((holm(p) <= 0.05).any())
        plain += bool((p <= 0.05).any())
    assert corrected <= 14
    assert plain > 40  # 1 - .95^20 = 64%


def test_an_effect_is_found():
    """Effect .5; its standard error is about sqrt(2 (.25 + .09 / 8) / 48) = .10."""
    rng = np.random.default_rng(9)
    cells = {cell: scores(rng, 0.5) for cell in range(10)}
    told = family({"weaker": cells, "same": {0: scores(rng)}}, draws=9999)
    assert tally(told, "holm") == {"weaker": (10, 0, 0), "same": (0, 1, 0)}
    assert tally(told, "interval")["weaker"] == (10, 0, 0)
    assert tally(told, "sign", margin=2.0)["weaker"] == (0, 10, 0)
    turned = {cell: (b, a, c) for cell, (a, b, c) in cells.items()}
    assert tally(family({"weaker": turned}, draws=9999))["weaker"] == (0, 0, 10)


# --- by hand ----------------------------------------------------------------------------


def test_wins_ties_and_losses_of_documents():
    ours = [1, 1, 0.5, 0.5, 0, 0.3]
    theirs = [0, 1, 0.5, 0.5, 1, 0.1 + 0.2]
    told = compare(ours, theirs, list("aabbcd"), draws=99)
    assert (told.wins, told.ties, told.losses) == (1, 2, 1)
    assert told.sign_p == 1.0 and told.pairs == 6 and told.clusters == 4
    far = compare(ours, theirs, list("aabbcd"), margin=0.6, draws=99)
    assert (far.wins, far.ties, far.losses) == (0, 3, 1)


def test_equal_methods_tie_and_one_cluster_has_no_interval():
    told = compare([0.5, 1.0], [0.5, 1.0], ["a", "b"])
    assert told.p == told.sign_p == 1.0 and told.difference == 0
    (alone,) = family({"x": {(): ([1.0, 1.0], [0.0, 0.0], ["a", "a"])}})
    assert alone.comparison.low is None and alone.outcome("interval") == 0


def test_the_same_seed_gives_the_same_record():
    data = scores(np.random.default_rng(11), 0.1)
    assert compare(*data, seed=3, draws=999) == compare(*data, seed=3, draws=999)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="ours: shape"):
        compare([1.0, 2.0], [1.0], ["a", "b"])
    with pytest.raises(ValueError, match="not finite"):
        compare([np.nan], [1.0], ["a"])
    with pytest.raises(ValueError, match="margin: -1"):
        compare([1.0], [1.0], ["a"], margin=-1)
    with pytest.raises(ValueError, match="p: "):
        holm([0.5, 1.5])
    (told,) = family({"x": {(): ([1.0], [0.0], ["a"])}})
    with pytest.raises(ValueError, match="rule: 'best'"):
        told.outcome("best")


# --- pairs and bytes ----------------------------------------------------------------------


def results(method, score, overhead=1.0, budgets=(0.1, 0.2, 0.4, 0.8), documents=6):
    """Two questions a document whose score is ``score`` of the bytes held."""
    found = [
        {
            "method": method, "task": "t", "budget": budget, "cluster": f"c{d // 2}",
            "document": d, "question": q, "held_bytes": int(1e6 * overhead * budget * (1 + d)),
        }
        for budget in budgets for d in range(documents) for q in range(2)
    ]
    for row in found:
        row["exact"] = float(score(row["held_bytes"]) + 0.01 * row["question"])
    return pa.Table.from_pylist(found)


def test_a_difference_in_bytes_alone_is_none_at_equal_bytes():
    """Both score by the logarithm of what they hold; one holds 1.5 times its budget."""
    fair, fat = results("fair", np.log2), results("fat", np.log2, 1.5)
    nominal = pairs(fat, fair, ("task", "budget"))
    assert set(nominal) == {("t", b) for b in (0.1, 0.2, 0.4, 0.8)}
    for ours, theirs, clusters in nominal.values():
        np.testing.assert_allclose(ours - theirs, np.log2(1.5))
        assert len(ours) == 12 and set(clusters) == {"c0", "c1", "c2"}
    matched, left_out = pairs_at_equal_bytes(fair, fat, ("task",))
    assert left_out == {("t", 0.1): 0, ("t", 0.2): 0, ("t", 0.4): 0, ("t", 0.8): 12}
    assert ("t", 0.8) not in matched  # 1.2 of what `fair` holds at most
    for ours, theirs, _ in matched.values():
        np.testing.assert_allclose(ours, theirs)


def test_bytes_between_budgets_are_interpolated():
    assert at_bytes([100, 400], [0.0, 1.0], 200) == pytest.approx(0.5)  # half-way in log
    assert at_bytes([400, 100], [1.0, 0.0], 400) == pytest.approx(1.0)
    assert at_bytes([100, 100, 400], [0.0, 0.5, 1.0], 100) == pytest.approx(0.25)
    assert np.isnan(at_bytes([100, 400], [0, 1], 99)) and np.isnan(at_bytes([100], [0], 101))
    with pytest.raises(ValueError, match="held"):
        at_bytes([0, 1], [0, 1], 1)


def test_only_the_same_questions_are_paired():
    a, b = results("a", np.log2), results("b", np.log2)
    both = pa.concat_tables([a, b])
    assert rows(both, method="a", budget=0.1).num_rows == 12
    with pytest.raises(ValueError, match="answered twice"):
        pairs(both, b, ("task", "budget"))
    with pytest.raises(ValueError, match="only one of them has"):
        pairs(a, b.slice(1), ("task", "budget"))
    few = rows(b, budget=0.4)
    assert set(pairs(a, few, ("task", "budget"))) == {("t", 0.4)}
    shuffled = b.take(np.random.default_rng(0).permutation(b.num_rows))
    for ours, theirs, _ in pairs(a, shuffled, ("task", "budget")).values():
        np.testing.assert_array_equal(ours, theirs)


def test_right_or_wrong_answers_are_scores():
    a = results("a", lambda held: 0.0)
    yes = a.set_column(a.column_names.index("exact"), "exact", pa.array([True] * a.num_rows))
    for ours, theirs, _ in pairs(yes, a, ("task", "budget")).values():
        assert (ours == 1).all() and theirs.max() < 0.02
