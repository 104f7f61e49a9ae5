"""Rank, Reward and Activate as clients of Azure Personalizer send them."""

import pytest
from tests.service.sites import open_site
from tests.service.test_http import Web

from stumpery.service.http.personalizer import RANK_PATH
from stumpery.service.http.security import new_key
from stumpery.service.settings import KeySettings

RANK = {
    "contextFeatures": [{"timeOfDay": "morning"}, {"user": {"age": 31, "likes": ["tea", "news"]}}],
    "actions": [
        {"id": "pasta", "features": [{"taste": "salty", "spiceLevel": 2}, {"nutrition": {"cuisine": "italian"}}]},
        {"id": "salad", "features": [{"taste": "fresh", "spiceLevel": 0}]},
        {"id": "cake", "features": [{"taste": "sweet"}]},
    ],
    "excludedActions": ["cake"],
    "eventId": "75269AD0",
    "deferActivation": False,
}


@pytest.fixture
def web(tmp_path):
    with open_site(tmp_path / "site") as site:
        yield Web(site)


def test_a_rank_request_is_answered_and_its_reward_learned(web):
    answer = web("POST", RANK_PATH, RANK)
    ranked = answer.json()
    assert (answer.status_code, ranked["eventId"]) == (201, "75269AD0")
    assert ranked["ranking"][0]["id"] == ranked["rewardActionId"] in ("pasta", "salad")
    assert {each["id"] for each in ranked["ranking"]} == {"pasta", "salad", "cake"}
    assert ranked["ranking"][-1] == {"id": "cake", "probability": 0.0}
    assert sum(each["probability"] for each in ranked["ranking"]) == pytest.approx(1.0)
    web.site.change("personalizer", learn_at_once=True)
    reward = web("POST", "/personalizer/v1.0/events/75269AD0/reward", {"value": 0.5})
    assert (reward.status_code, reward.content) == (204, b"")
    assert web.site.counts("personalizer")["learned"] == 1
    (row, *_) = web("GET", "/v1/policies/personalizer/explain/75269AD0").json()["history"]
    assert row["context"] == {"timeOfDay": "morning", "user.age": 31, "user.likes.tea": True, "user.likes.news": True}


def test_the_same_rank_again_gives_the_same_answer_and_another_is_a_conflict(web):
    assert web("POST", RANK_PATH, RANK).json() == web("POST", RANK_PATH, RANK).json()
    other = web("POST", RANK_PATH, RANK | {"contextFeatures": [{"timeOfDay": "night"}]})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "EventIdConflict")


def test_new_actions_are_added_with_their_features(web):
    web("POST", RANK_PATH, RANK)
    more = {"actions": [{"id": "soup", "features": [{"taste": "salty"}]}], "eventId": "second"}
    assert web("POST", RANK_PATH, more).json()["rewardActionId"] == "soup"
    settings = web("GET", "/v1/policies/personalizer").json()["settings"]
    assert settings["actions"] == ["pasta", "salad", "cake", "soup"]
    model = web.site.engine.call(lambda journal: journal.replica.policy("personalizer").model)
    assert model.features["soup"] == {"taste": "salty"}
    assert web.site.rebuilt_digest() == web.site.digest()


def test_deferred_decisions_are_learned_after_their_activation(web):
    web("POST", RANK_PATH, RANK | {"deferActivation": True})
    web.site.change("personalizer", learn_at_once=True)
    web("POST", "/personalizer/v1.0/events/75269AD0/reward", {"value": 1})
    assert web.site.counts("personalizer")["learned"] == 0
    assert web("POST", "/personalizer/v1.0/events/75269AD0/activate").status_code == 204
    assert web.site.counts("personalizer")["learned"] == 1


DEEP = {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}
WRONG = {
    "no actions": {"actions": []},
    "the same action twice": {"actions": [{"id": "a"}, {"id": "a"}]},
    "all excluded": {"actions": [{"id": "a"}], "excludedActions": ["a"]},
    "an action without id": {"actions": [{"features": []}]},
    "features that are no list": {"actions": [{"id": "a", "features": {}}]},
    "deep features": {
        "actions": [{"id": "a"}],
        "contextFeatures": [DEEP],
    },
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_wrong_requests_are_refused_in_its_words(web, body):
    answer = web("POST", RANK_PATH, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "BadRequest"
    assert "\n" not in answer.json()["error"]["message"]
    assert web.site.digest() == web.site.rebuilt_digest()


def test_unknown_events_and_values_that_are_no_numbers(web):
    web("POST", RANK_PATH, RANK)
    unknown = web("POST", "/personalizer/v1.0/events/none/reward", {"value": 1})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "ResourceNotFound")
    assert web("POST", "/personalizer/v1.0/events/75269AD0/reward", {"value": "1"}).status_code == 400
    assert web("POST", "/personalizer/v1.0/events/75269AD0/reward", content=b'{"value": NaN}').status_code == 400


def test_its_key_header_is_taken(tmp_path):
    key, digest = new_key()
    keys = (KeySettings(name="app", sha256=digest, rights=("decide",)),)
    with open_site(tmp_path / "site", keys=keys) as site:
        web = Web(site)
        assert web("POST", RANK_PATH, RANK).status_code == 401
        assert web("POST", RANK_PATH, RANK, headers={"Ocp-Apim-Subscription-Key": key}).status_code == 201
        event = "/personalizer/v1.0/events/75269AD0/reward"
        assert web("POST", event, {"value": 1}, headers={"Ocp-Apim-Subscription-Key": key}).status_code == 403
