"""Command `stumpery plan`: sample complexity of the elimination algorithms (Feraud et al. 2016)."""

from typing import Annotated, Any

from typer import Option

from stumpery.cli.errors import user_errors
from stumpery.cli.tables import print_table

UPPER = {"best action": "Lemma 3", "best variable": "Lemma 1", "best stump": "Theorem 1", "best forest": "Theorem 3"}
LOWER = {"best action": "Lemma 4", "best variable": "Lemma 2", "best stump": "Theorem 2", "best forest": "Theorem 4"}


def plan(
    actions: Annotated[int, Option(help="K, number of actions.")] = 7,
    variables: Annotated[int, Option(help="M, number of binary variables.")] = 94,
    depth: Annotated[int, Option(help="D, maximum depth of a tree.")] = 5,
    trees: Annotated[int, Option(help="L, number of trees.")] = 100,
    variable_gap: Annotated[float, Option(help="Reward gap between the best variable and the next.")] = 0.1,
    action_gap: Annotated[float, Option(help="Reward gap between the best action and the next.")] = 0.1,
    epsilon: Annotated[float, Option(help="Tolerated distance from the best.")] = 0.0,
    delta: Annotated[float, Option(help="Probability of an error.")] = 0.05,
) -> None:
    """Print how many events the elimination algorithms need (Feraud et al. 2016)."""
    from stumpery.policies.bandit_forest import sample_complexity as needed

    with user_errors():
        of_variables = needed.gap_to_within(epsilon, variable_gap)
        of_actions = needed.gap_to_within(epsilon, action_gap)
        stump: dict[str, Any] = {"n_actions": actions, "n_variables": variables, "delta": delta}
        tree = {**stump, "variable_gap": of_variables, "action_gap": of_actions}
        upper = {
            "best action": needed.action_selection(n_actions=actions, action_gap=of_actions, delta=delta),
            "best variable": needed.variable_selection(**stump, variable_gap=of_variables),
            "best stump": needed.decision_stump(**tree),
            "best forest": needed.bandit_forest(**tree, depth=depth, n_trees=trees),
        }
        both: dict[str, Any] = {"n_actions": actions, "delta": delta}
        both |= {"variable_gap": of_variables, "action_gap": of_actions}
        lower = {
            "best action": needed.lower_bound(n_actions=actions, action_gap=of_actions, delta=delta),
            "best variable": needed.lower_bound(n_actions=actions, variable_gap=of_variables, delta=delta),
            "best stump": needed.lower_bound(**both),
            "best forest": needed.lower_bound(**both, depth=depth),
        }
        tests = {
            "drop an action (2)": (action_gap, actions, 2.0),
            "drop a variable (1)": (variable_gap, actions * variables, 4.0),
            "drop an action of a forest's leaf (4)": (action_gap, actions * trees, 2.0),
            "drop a variable of a forest's node (3)": (variable_gap, actions * variables * depth * trees, 4.0),
        }
        plays = {
            name: needed.plays_until_elimination(gap=gap, epsilon=epsilon, n_hypotheses=n, width=width, delta=delta)
            for name, (gap, n, width) in tests.items()
        }
    rows = [
        {
            "to identify the": name,
            "upper bound": f"{events:,.0f} ({UPPER[name]})",
            "lower bound, times a constant": f"{lower[name]:,.0f} ({LOWER[name]})",
        }
        for name, events in upper.items()
    ]
    print_table("Bounds on events", rows)
    title = "Plays of each action when the test fires, if the estimated gap equals the true one"
    print_table(title, [{"test (equation)": name, "plays": f"{n:,}"} for name, n in plays.items()])
