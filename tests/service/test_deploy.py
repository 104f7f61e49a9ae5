"""The files for a container and for systemd fit the service."""

import re
from pathlib import Path

from stumpery.service.http.security import check_exposure
from stumpery.service.settings import read_site

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_site_of_the_container_can_be_read_and_has_keys():
    site = read_site(DEPLOY / "site.toml")
    assert site.folder == "/site"
    check_exposure(site)


def test_the_files_name_commands_and_ports_that_there_are():
    texts = {path.name: path.read_text() for path in DEPLOY.iterdir()}
    assert set(texts) == {"Dockerfile", "compose.yaml", "nginx.conf", "site.toml", "stumpery.service"}
    assert "serve /etc/stumpery/site.toml" in texts["stumpery.service"]
    assert '["stumpery", "serve", "/etc/stumpery/site.toml"]' in texts["Dockerfile"]
    assert set(re.findall(r"\b8\d{3}\b", "".join(texts.values()))) == {"8321"}


def test_the_settings_in_the_documentation_are_valid(tmp_path):
    page = (DEPLOY.parent / "docs" / "service.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "site.toml").write_text(example.replace('"…"', f'"{"0" * 64}"'))
    site = read_site(tmp_path / "site.toml")
    assert site.policies["front-page"].columns == {"hour": "numerical", "device": "categorical"}
    assert site.keys[0].rate == 500.0
