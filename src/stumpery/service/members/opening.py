"""Where the processes of a site see each other: beside its log."""

from pathlib import Path

from stumpery.service.log.event_log import EventLog
from stumpery.service.members.member import Members
from stumpery.service.members.member_files import MemberFiles
from stumpery.service.settings import SiteSettings

MEMBER_FOLDER = "members"


def open_members(settings: SiteSettings, log: EventLog) -> Members:
    """The members of a site: files in its folder, or a table of its database."""
    if settings.database is None:
        return MemberFiles(Path(settings.folder) / MEMBER_FOLDER)
    from stumpery.service.log.postgresql_log import PostgresqlLog
    from stumpery.service.members.member_table import MemberTable

    assert isinstance(log, PostgresqlLog)  # noqa: S101
    return MemberTable(log)
