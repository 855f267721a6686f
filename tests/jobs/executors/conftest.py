import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import free_port
from themescope.jobs.executors import LocalConfig, LocalExecutor, ShardExecutor


@pytest.fixture(scope="session")
def client_port() -> int:
    """Port of the Ray Client server of the cluster."""
    return free_port()


@pytest.fixture(scope="session")
def ray_cluster(client_port: int) -> Iterator[Any]:
    """A Ray cluster of two nodes with one CPU each on this machine, whose workers find the tests."""
    if importlib.util.find_spec("ray") is None:
        if os.environ.get("CI"):
            pytest.fail("Ray is missing in CI: pip install 'themescope[ray]'.")
        pytest.skip("Ray is not installed: pip install 'themescope[ray]'.")
    with pytest.MonkeyPatch.context() as patch:
        root = str(Path(__file__).resolve().parents[3])
        patch.setenv("PYTHONPATH", os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("GRPC_ENABLE_FORK_SUPPORT", "false")  # or the Client server starts no session
        import ray
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": client_port}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


RAY = pytest.param("ray-2", marks=pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(params=["local-1", "local-2", RAY])
def executor(request: pytest.FixtureRequest) -> Iterator[ShardExecutor]:
    """Every executor in turn, with that many workers."""
    id, _, workers = request.param.partition("-")
    found: ShardExecutor
    if id == "local":
        found = LocalExecutor(LocalConfig(int(workers)))
    else:
        request.getfixturevalue("ray_cluster")
        from themescope.jobs.executors.ray_cluster import RayConfig, RayExecutor

        found = RayExecutor(RayConfig(workers=int(workers)))
    with found:
        yield found
