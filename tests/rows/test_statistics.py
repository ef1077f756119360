"""The bootstrap over documents: coverage, clustering, and refusals."""

import numpy as np
import pytest
from scipy import stats

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
    ],
)
def test_bad_input_is_named(change, words):
    arguments = {"values": [1.0, 2, 3], "documents": [0, 1, 2], **change}
    with pytest.raises(ValueError, match=words):
        bootstrap_documents(generator=np.random.default_rng(0), **arguments)
