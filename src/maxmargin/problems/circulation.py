"""Flows between classes that give every class as much as it takes."""

import numpy as np
from scipy.sparse.csgraph import connected_components


def balancing_shares(flows: np.ndarray) -> np.ndarray:
    """Shares of flows between classes, at most 1, after which every class gives as much as it gets.

    What balances is a sum of cycles, so that a flow between two classes without a way back has to go. Between classes
    that reach each other, one share for all that a class gives is enough: the given amounts are then the stationary
    distribution of a walk along the flows.

    Parameters
    ----------
    flows : ndarray of shape (k, k)
        What class i gives to class j; not negative.

    Returns
    -------
    ndarray of shape (k, k)
    """
    shares = np.zeros_like(flows)
    _, component = connected_components(flows > 0.0, directed=True, connection="strong")
    for label in np.unique(component):
        members = np.flatnonzero(component == label)
        if members.size > 1:
            inside = np.ix_(members, members)
            given = flows[inside].sum(axis=1)
            factors = stationary_amounts(flows[inside] / given[:, None]) / given
            shares[inside] = (factors / factors.max())[:, None]
    return shares


def stationary_amounts(walk: np.ndarray) -> np.ndarray:
    """Amounts that a walk between states which all reach each other leaves as they are; their scale is free.

    States are taken out one by one (Grassmann, Taksar, Heyman 1985): nothing is subtracted, so that every amount, the
    smallest too, has nearly all its digits.
    """
    walk = walk.copy()
    last = len(walk) - 1
    for state in range(last, 0, -1):
        walk[:state, state] /= walk[state, :state].sum()
        walk[:state, :state] += np.outer(walk[:state, state], walk[state, :state])
    amounts = np.ones(last + 1)
    for state in range(1, last + 1):
        amounts[state] = amounts[:state] @ walk[:state, state]
    return amounts
