"""Projection of duals: flows between classes are balanced."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.problems.dual_projection import balancing_shares, with_factors


def random_flows(generator, n_classes, density):
    flows = np.exp(5.0 * generator.standard_normal((n_classes, n_classes)))
    flows *= generator.random(flows.shape) < density
    np.fill_diagonal(flows, 0.0)
    return flows


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.3, 1.0]))
def test_shares_balance_flows_and_take_little(n_classes, seed, density):
    generator = np.random.default_rng(seed)
    flows = random_flows(generator, n_classes, density)
    shares = balancing_shares(flows)
    assert (shares >= 0.0).all()
    assert (shares <= 1.0).all()
    kept = shares * flows
    np.testing.assert_allclose(kept.sum(axis=0), kept.sum(axis=1), atol=1e-13 * flows.sum())
    # One factor a class keeps something of every cycle.
    by_factors = with_factors(flows)
    np.testing.assert_allclose(by_factors.sum(axis=0), by_factors.sum(axis=1), rtol=1e-12)
    reachable = np.linalg.matrix_power((flows > 0.0) + np.eye(n_classes), n_classes)
    assert ((by_factors > 0.0) == ((flows > 0.0) & (reachable.T > 0.0))).all()
    # What is balanced is kept, and what nearly is nearly so.
    np.testing.assert_allclose(balancing_shares(by_factors)[by_factors > 0.0], 1.0, rtol=1e-6)
    nearly = by_factors * generator.uniform(0.999, 1.0, flows.shape)
    imbalance = np.abs(nearly.sum(axis=0) - nearly.sum(axis=1)).sum()
    assert nearly.sum() - (balancing_shares(nearly) * nearly).sum() <= n_classes * imbalance + 1e-12 * flows.sum()
