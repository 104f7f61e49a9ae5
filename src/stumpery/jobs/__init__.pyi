from .executor import WorkerLost
from .processes import Processes
from .ray_cluster import RayCluster
from .threads import Threads

__all__ = ["Processes", "RayCluster", "Threads", "WorkerLost"]
