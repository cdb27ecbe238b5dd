"""Worker processes for the tests here: one cluster for each process of pytest that runs any of them."""

import pytest
from distributed import Client, LocalCluster


def pytest_collection_modifyitems(items):
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client that is the default one for the time of the test."""
    with Client(cluster, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
