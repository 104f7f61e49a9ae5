"""Opening the log of a site: an SQLite file in its folder, or a PostgreSQL database."""

from pathlib import Path

from stumpery.service.log.event_log import EventLog
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.settings import SiteSettings

LOG_FILE = "log.sqlite"


def open_log(settings: SiteSettings, *, is_reader: bool = False) -> EventLog:
    """The log of a site, to write it or, while another process may write it, to read it."""
    if settings.database is None:
        return SqliteLog(Path(settings.folder) / LOG_FILE, is_reader=is_reader)
    from stumpery.service.log.postgresql_log import PostgresqlLog

    return PostgresqlLog(settings.database, is_reader=is_reader)
