"""Print how many kernels of a policy were loaded from the disk cache, and how many were compiled."""

import stumpery as st
from stumpery.policies.context_free import means_kernels

policy = st.UCB(actions=["a", "b"])
policy.learn(policy.decide(), 1.0)
used = [means_kernels.decide, means_kernels.learn]
print(sum(sum(k.stats.cache_hits.values()) for k in used), sum(sum(k.stats.cache_misses.values()) for k in used))
