"""Settings of a site and of its policies, from a TOML file or from requests."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from stumpery.errors import InvalidInput

Settings_ = TypeVar("Settings_")
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}(?![\s\S])")]  # "$" would allow a line's end
ActionName = Annotated[str, Meta(min_length=1, max_length=200)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(ge=0.0, le=31_536_000.0)]
Whole = Annotated[int, Meta(ge=1)]
Right = Literal["decide", "reward", "admin"]
Role = Literal["server", "decider", "learner"]


class PolicySettings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Settings of one policy of the service.

    Args:
        actions: Names of the actions.
        kind: Class of the policy, a public name of `stumpery.policies`.
        options: Further options of that class, such as `max_bytes`; an explorer is a dict with its `kind`.
        columns: Kinds of the columns, as in `Schema.of`; None infers them from the first decision.
        seed: Seed of the policy and of its draws.
        reward_range: The least and the greatest reward.
        wait_s: Seconds that a decision waits for its reward.
        default_reward: Reward that is learned when none came within the wait; None learns nothing.
        rewards: Which of several rewards counts at the end of the wait: the first, the last, their sum or the greatest.
        learn_at_once: Whether a first reward is learned when it comes, not at the end of the wait. Clicks are then
            learned before the defaults of the same time, which makes an action that was just tried look too good.
        early_rewards_s: Seconds that a reward may come before its decision; 0 refuses it.
        exploration: Share of decisions that are drawn uniformly, beside those that the policy explores itself.
        mode: "online" decides by the model; an "apprentice" takes the baseline and learns to predict it.
        baseline: Action of the control group and of the apprentice's master; by default the first one available.
        control: Share of decisions that take the baseline, to compare the policy with.
        shadow_of: A policy whose decisions and rewards this one learns, without deciding.
        floors: Least probability of some actions.
        ceilings: Greatest probability of some actions.
        fallback: Action that is chosen when the policy cannot answer; by default the first one available.
        new_actions: Whether actions of requests that the policy does not know are added to it.
        is_paused: Whether decisions take the fallback and nothing is learned.
    """

    actions: Annotated[tuple[ActionName, ...], Meta(min_length=1)]
    kind: Name = "RewardForest"
    options: dict[str, Any] = {}
    columns: dict[str, str | list[str | float]] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    reward_range: tuple[float, float] = (0.0, 1.0)
    wait_s: Seconds = 600.0
    default_reward: float | None = 0.0
    rewards: Literal["first", "last", "sum", "max"] = "first"
    learn_at_once: bool = False
    early_rewards_s: Seconds = 0.0
    exploration: Share = 0.02
    mode: Literal["online", "apprentice"] = "online"
    baseline: ActionName | None = None
    control: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0
    shadow_of: Name | None = None
    floors: dict[ActionName, Share] = {}
    ceilings: dict[ActionName, Share] = {}
    fallback: ActionName | None = None
    new_actions: bool = False
    is_paused: bool = False


class LimitSettings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Limits of what one request, and all together, may ask for."""

    body_bytes: Whole = 262_144
    columns: Whole = 1_000
    name_length: Whole = 200
    text_length: Whole = 2_000
    actions: Whole = 10_000
    model_bytes: Whole = 4_000_000_000
    policies: Whole = 100
    batch: Whole = 1_000
    open_decisions: Whole = 500_000
    early_rewards: Whole = 10_000
    waiting_requests: Whole = 2_000


class KeySettings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """An API key: its name, the SHA-256 of the key in hexadecimal, and its rights."""

    name: Name
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    rights: tuple[Right, ...]
    rate: Annotated[float, Meta(gt=0.0)] | None = None


class SiteSettings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Settings of a site: where it listens, where its log is, its policies, keys and limits.

    Several processes may serve one log, each with a `name` and a `role`: a "server" decides, and leads where nobody
    else does; a "decider" only decides; a "learner" leads, and decides nothing. A leader that is not heard of for
    `lease_s` is replaced. A process that is more than `lag_events` or `lag_s` behind the log is not ready. Every
    `hash_s` all of them hash their replica after the same event.
    """

    folder: str = "stumpery-site"
    database: Annotated[str, Meta(pattern=r"^postgres(ql)?://")] | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8321
    name: Name | None = None
    role: Role = "server"
    lease_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = 3.0
    lag_events: Whole = 10_000
    lag_s: Annotated[float, Meta(gt=0.0)] = 10.0
    hash_s: Annotated[float, Meta(gt=0.0)] = 300.0
    policies: dict[Name, PolicySettings] = field(default_factory=dict)
    keys: tuple[KeySettings, ...] = ()
    limits: LimitSettings = LimitSettings()
    snapshot_events: Whole = 100_000
    snapshot_s: Seconds = 60.0
    retention_s: Seconds | None = None
    answer_within_ms: Annotated[float, Meta(gt=0.0)] | None = None
    webhook: str | None = None
    log_format: Literal["json", "text"] = "json"


def read_site(path: Path) -> SiteSettings:
    """Settings from a TOML file; the folder of the log is relative to it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {path}; it must be a TOML file with the settings of the site") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path} cannot be read: its values are nested too deeply") from None
    site = converted(content, SiteSettings, str(path))
    return msgspec.structs.replace(site, folder=str(path.parent / site.folder))


def site_of(
    path: Path | None,
    *,
    actions: str | None = None,
    folder: Path | None = None,
    host: str | None = None,
    port: int | None = None,
    log: str | None = None,
    role: str | None = None,
    name: str | None = None,
) -> SiteSettings:
    """Settings from a file, or the defaults, with what a command line says."""
    site = SiteSettings() if path is None else read_site(path)
    where = None if folder is None else str(folder)
    given: dict[str, Any] = {"host": host, "port": port, "folder": where, "database": log, "role": role, "name": name}
    if actions is not None:
        names = tuple(name.strip() for name in actions.split(",") if name.strip())
        policy = converted({"actions": names}, PolicySettings, "--actions")
        given["policies"] = {**site.policies, "default": policy}
    given = {name: value for name, value in given.items() if value is not None}
    whole = {**msgspec.to_builtins(site), **msgspec.to_builtins(given)}
    return checked_site(converted(whole, SiteSettings, "the command"))


def converted(content: Any, kind: type[Settings_], what: str) -> Settings_:
    """Plain values as settings; an InvalidInput says where they do not fit."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{what} is not valid: {error}") from None


def checked_site(site: SiteSettings) -> SiteSettings:
    """The settings of a site; an InvalidInput says what does not fit."""
    if "\0" in site.folder:
        raise InvalidInput(f"folder is {site.folder!r}; it must name a folder")
    if site.webhook is not None and not site.webhook.startswith(("http://", "https://")):
        raise InvalidInput(f"webhook is {site.webhook!r}; it must be an address that begins with http:// or https://")
    return site


def changed(settings: PolicySettings, changes: Mapping[str, Any]) -> PolicySettings:
    """Settings with some of them changed."""
    unknown = sorted(changes.keys() - set(PolicySettings.__struct_fields__))
    if unknown:
        raise InvalidInput(f"a policy has no setting {unknown[0]!r}")
    return converted({**msgspec.to_builtins(settings), **changes}, PolicySettings, "the change")
