"""Marks those of scikit-learn's checks that take long."""

import pytest

# On the data of these checks coordinate ascent needs very many epochs.
SLOW_CHECKS = ("check_fit_idempotent", "check_n_features_in", "check_fit_check_is_fitted")


def pytest_collection_modifyitems(items):
    for item in items:
        if "solver='coordinate'" in item.name and item.name.rstrip("]").endswith(SLOW_CHECKS):
            item.add_marker(pytest.mark.slow)
