"""Opening the log of a site: an SQLite file in its folder, or a PostgreSQL database."""

from pathlib import Path

from stumpery.service.log.event_log import EventLog
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.settings import SiteSettings

LOG_FILE = "log.sqlite"


def open_log(settings: SiteSettings, *, is_reader: bool = False, is_alone: bool = False) -> EventLog:
    """The log of a site: to write it by turns with other processes, to read it, or for this process alone."""
    if settings.database is None:
        return SqliteLog(Path(settings.folder) / LOG_FILE, is_reader=is_reader, is_alone=is_alone)
    from stumpery.service.log.postgresql_log import PostgresqlLog

    return PostgresqlLog(settings.database, is_reader=is_reader, is_alone=is_alone)
