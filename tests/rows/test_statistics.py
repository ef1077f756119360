"""The bootstrap over documents: coverage, clustering, and refusals."""

import numpy as np
import pytest
from scipy import stats

from kvteach.rows import statistics
from kvteach.rows.statistics import bootstrap_documents


def test_one_row_a_document_agrees_with_scipy():
    values = np.random.default_rng(1).exponential(size=60)
    ours = bootstrap_documents(
        values, np.arange(60), np.random.default_rng(2), np.mean, resamples=4000
    )
    peer = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    # Two Monte Carlo runs of 4000: a 2.5% quantile is known to about 0.03 standard errors.
    tolerance = 0.15 * values.std() / np.sqrt(60)
    assert ours.estimate == pytest.approx(values.mean())
    assert ours.low == pytest.approx(peer.low, abs=tolerance)
    assert ours.high == pytest.approx(peer.high, abs=tolerance)


def test_intervals_cover_when_rows_of_a_document_move_together():
    """Nominal 95% with clustered rows; ignoring clusters would cover about 40%."""
    rng = np.random.default_rng(4)
    covered = naive = 0
    for _ in range(120):
        centres = rng.normal(size=25)
        values = (centres[:, None] + 0.2 * rng.normal(size=(25, 20))).ravel()
        documents = np.repeat(np.arange(25), 20)
        ours = bootstrap_documents(values, documents, rng, np.mean, resamples=200)
        rows = bootstrap_documents(values, np.arange(500), rng, np.mean, resamples=200)
        covered += ours.low <= 0 <= ours.high
        naive += rows.low <= 0 <= rows.high
    assert covered >= 0.85 * 120  # a percentile interval of 25 clusters is a little short
    assert naive <= 0.6 * 120


def test_unequal_documents_weigh_by_their_rows():
    values, documents = [0.0] * 9 + [10.0], ["long"] * 9 + ["short"]
    interval = bootstrap_documents(values, documents, np.random.default_rng(0), np.mean)
    assert interval == (1.0, 0.0, 10.0)
    assert f"{interval:.1f}" == "1.0 [0.0, 10.0]"


def test_the_same_generator_gives_the_same_interval():
    values, documents = np.arange(12.0), np.arange(12) // 3
    runs = [bootstrap_documents(values, documents, np.random.default_rng(5)) for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"documents": [0, 1]}, "labels"),
        ({"documents": [1, 1, 1]}, "at least 2"),
        ({"level": 1.0}, "level"),
        ({"resamples": 0}, "resamples"),
        ({"values": [1.0, np.nan, 2.0]}, "finite"),
        ({"generator": 0}, "generator: 0"),
    ],
)
def test_bad_input_is_named(change, words):
    arguments = {"values": [1.0, 2, 3], "documents": [0, 1, 2]}
    arguments = {**arguments, "generator": np.random.default_rng(0), **change}
    with pytest.raises(ValueError, match=words):
        bootstrap_documents(**arguments)


def test_wilson_column_of_table_7():
    """arXiv 2608.25230, Table 7: upper bounds from counts of improved instances."""
    counts = [(0, 237), (2, 234), (8, 234), (36, 234)]
    assert [round(statistics.wilson_upper(*c), 3) for c in counts] == [0.016, 0.031, 0.066, 0.206]


def test_auc_counts_pairs():
    rng = np.random.default_rng(6)
    score, label = rng.integers(5, size=40), rng.random(40) < 0.4
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a in score[label]
        for b in score[~label]
    ]
    assert statistics.auc(score, label) == pytest.approx(np.mean(pairs))
    assert np.isnan(statistics.auc(score, np.zeros(40, bool)))


def test_median_cap_bounds_every_substitution():
    rng = np.random.default_rng(7)
    values = rng.random(201)
    for fraction in (0.0, 0.05, 0.2):
        cap = statistics.median_cap(values, fraction)
        for _ in range(50):
            changed = values.copy()
            changed[rng.permutation(201)[: int(fraction * 201)]] = 2.0
            assert np.median(changed) <= cap + 1e-12
    with pytest.raises(ValueError, match="fraction"):
        statistics.median_cap(values, 0.5)


def test_effective_keys_of_equal_weights_is_their_number():
    assert statistics.effective_keys([0.25] * 4 + [0.0] * 9) == pytest.approx(4)
    assert statistics.effective_keys([1.0, 0.0]) == 1


def test_headroom_is_a_tenth_of_the_error():
    least, top = [0.9, 0.91, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]
    assert statistics.has_headroom(least, top).tolist() == [True, False, True, False]


def test_edges_and_interior():
    assert statistics.edge_over_interior([4, 2, 1, 1, 1, 2], edge=1) == 3 / 1.25
    with pytest.raises(ValueError, match="edge"):
        statistics.edge_over_interior([1, 2, 3, 4], edge=2)


def test_spearman_sees_order_only():
    assert statistics.spearman([1, 2, 3, 10], [5, 6, 7, 1000]) == pytest.approx(1)
