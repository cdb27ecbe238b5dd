"""Projection of Crammer-Singer duals onto sum_i B_im = 0: duals are flows between classes, which are balanced."""

import numpy as np
from scipy.sparse.csgraph import connected_components

# Flows count as balanced where at most this share of them is not.
UNBALANCED_SHARE = 1e-15
# The most rounds of reducing single flows, before one factor per class is used.
ROUNDS = 200


def balancing_shares(flows: np.ndarray) -> np.ndarray:
    """Shares of flows between classes, at most 1, after which every class gives as much as it gets.

    Parameters
    ----------
    flows : ndarray of shape (k, k)
        What class i gives to class j; not negative.

    Returns
    -------
    ndarray of shape (k, k)
    """
    found: np.ndarray = np.divide(balanced(flows), flows, out=np.zeros_like(flows), where=flows > 0.0)
    return found


def balanced(flows: np.ndarray) -> np.ndarray:
    """Take away as little as is easily found, so that the rest is balanced."""
    kept = in_cycles(flows)
    tolerance = UNBALANCED_SHARE * float(kept.sum())
    for _ in range(ROUNDS):
        excess = kept.sum(axis=1) - kept.sum(axis=0)
        if np.abs(excess).sum() <= tolerance:
            return kept
        distance = steps_to(excess < 0.0, kept > 0.0)
        if (distance[excess > 0.0] < 0).any():
            kept = in_cycles(kept)
        else:
            lessen(kept, excess, distance)
    # Next to nothing must not decide on factors.
    return with_factors(in_cycles(np.where(kept > tolerance, kept, 0.0)))


def in_cycles(flows: np.ndarray) -> np.ndarray:
    """The flows between classes that reach each other: what balances is a sum of cycles."""
    _, component = connected_components(flows > 0.0, directed=True, connection="strong")
    return np.where(component[:, None] == component, flows, 0.0)


def lessen(kept: np.ndarray, excess: np.ndarray, distance: np.ndarray) -> None:
    """Take flow away on shortest ways from the classes that give too much to those that get too much.

    On a way of several flows, each of them becomes less by the same amount: the classes between stay as they are.
    ``distance`` is that to the nearest class which gets too much.
    """
    for step in range(int(distance[excess > 0.0].max(initial=0)), 0, -1):
        giving, getting = np.flatnonzero((distance == step) & (excess > 0.0)), np.flatnonzero(distance == step - 1)
        ways = np.ix_(giving, getting)
        if step > 1:
            taken = in_proportion(excess[giving], kept[ways])
        else:
            linked = kept[ways] > 0.0
            wanted_less = in_proportion(excess[giving], linked * -excess[getting])
            taken = np.minimum(wanted_less, in_proportion(-excess[getting], linked.T * excess[giving]).T)
        taken = np.minimum(taken, kept[ways])
        kept[ways] -= taken
        excess[giving] -= taken.sum(axis=1)
        excess[getting] += taken.sum(axis=0)


def steps_to(targets: np.ndarray, links: np.ndarray) -> np.ndarray:
    """How many links each class is away from the nearest target; -1 where there is no way."""
    distance = np.full(targets.size, -1)
    reached, step = targets, 0
    while reached.any():
        distance[reached] = step
        reached = links[:, reached].any(axis=1) & (distance < 0)
        step += 1
    return distance


def in_proportion(amounts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Amounts, one a row, divided in proportion to the weights of the row."""
    totals = weights.sum(axis=1)
    found: np.ndarray = weights * np.divide(amounts, totals, out=np.zeros_like(totals), where=totals > 0.0)[:, None]
    return found


def with_factors(flows: np.ndarray) -> np.ndarray:
    """Balance flows in cycles by one factor, at most 1, for all that a class gives.

    The given amounts are then the stationary distribution of a walk along the flows.
    """
    kept = np.zeros_like(flows)
    _, component = connected_components(flows > 0.0, directed=True, connection="strong")
    for label in np.unique(component):
        members = np.flatnonzero(component == label)
        if members.size > 1:
            inside = np.ix_(members, members)
            given = flows[inside].sum(axis=1)
            factors = stationary_amounts(flows[inside] / given[:, None]) / given
            kept[inside] = flows[inside] * (factors / factors.max())[:, None]
    return kept


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
