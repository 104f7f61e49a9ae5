"""The files for a container and for systemd fit the service."""

import re
import socket
from pathlib import Path

import pytest
from tests.service.sites import open_site

from stumpery.errors import InvalidInput
from stumpery.service.engine.engine import Engine
from stumpery.service.http.security import check_exposure
from stumpery.service.server import prepare, serve
from stumpery.service.settings import PolicySettings, SiteSettings, checked_site, read_site, site_of

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_site_of_the_container_can_be_read_and_has_keys():
    site = read_site(DEPLOY / "site.toml")
    assert site.folder == "/site"
    check_exposure(site)


def test_the_files_name_commands_and_ports_that_there_are():
    texts = {path.name: path.read_text() for path in DEPLOY.iterdir()}
    files = {"Dockerfile", "compose-replicas.yaml", "compose.yaml", "nginx.conf", "site.toml", "stumpery.service"}
    assert set(texts) == files
    assert "serve /etc/stumpery/site.toml" in texts["stumpery.service"]
    assert '["stumpery", "serve", "/etc/stumpery/site.toml"]' in texts["Dockerfile"]
    assert set(re.findall(r"\b8\d{3}\b", "".join(texts.values()))) == {"8320", "8321"}


def test_the_compose_file_of_replicas_names_options_that_there_are():
    text = (DEPLOY / "compose-replicas.yaml").read_text()
    options = set(re.findall(r'"(--\w+)", "([^"]+)"', text))
    assert options == {("--log", "postgresql://stumpery@log/decisions"), ("--role", "learner")}
    for address, role in [("postgresql://stumpery@log/decisions", "learner"), ("postgresql://x@y/z", None)]:
        assert site_of(DEPLOY / "site.toml", log=address, role=role).database == address
    with pytest.raises(InvalidInput, match="Invalid enum value"):
        site_of(None, role="leader")


def test_the_settings_in_the_documentation_are_valid(tmp_path):
    page = (DEPLOY.parent / "docs" / "service.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "site.toml").write_text(example.replace('"…"', f'"{"0" * 64}"'))
    site = read_site(tmp_path / "site.toml")
    assert site.policies["front-page"].columns == {"hour": "numerical", "device": "categorical"}
    assert site.keys[0].rate == 500.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r'folder = "a\u0000b"', "it must name a folder"),
        ("a = " + "[" * 5_000, "its values are nested too deeply"),
        ('[policies."a\\n"]\nactions = ["x"]', "matching regex"),
        ('[policies.".."]\nactions = ["x"]', "matching regex"),
    ],
)
def test_settings_that_cannot_be_are_refused(text, words, tmp_path):
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        checked_site(read_site(tmp_path / "site.toml"))


def test_a_port_in_use_is_refused_before_anything_is_written(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"port {port} cannot be listened on: Address already in use"):
            serve(SiteSettings(folder=str(tmp_path / "site"), port=port), print)
    assert not (tmp_path / "site").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "site").touch()
    with pytest.raises(InvalidInput, match="site cannot be used: File exists"):
        Engine(SiteSettings(folder=str(tmp_path / "site")))


def test_settings_may_name_a_fallback_that_was_removed_since(tmp_path, caplog):
    with open_site(tmp_path / "site") as site:
        site.create(actions=("b", "c"))
        settings = PolicySettings(actions=("a", "b", "c"), kind="UCB", learn_at_once=True, fallback="a", wait_s=5.0)
        site.do(lambda journal: prepare(site.engine.settings, "default", settings, journal))
        assert site.counts()["settings"]["fallback"] is None
        assert site.counts()["settings"]["wait_s"] == 5.0
    assert "no action 'a', which the settings name as its fallback" in caplog.text
