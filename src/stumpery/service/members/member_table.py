"""Members in a table of the log's PostgreSQL database, which also says how old each entry is."""

import logging

import msgspec

from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.postgresql_log import PostgresqlLog
from stumpery.service.members.member import Member, Seen

logger = logging.getLogger(__name__)
CREATE_MEMBERS = """
CREATE TABLE IF NOT EXISTS stumpery_members (
    name text PRIMARY KEY, content text NOT NULL, heard timestamptz NOT NULL)
"""
MEMBERS_EXIST = "SELECT to_regclass('stumpery_members') IS NOT NULL AS is_there"
FORGET = "DELETE FROM stumpery_members WHERE heard < clock_timestamp() - interval '1 hour'"
TELL = """
INSERT INTO stumpery_members VALUES ($1, $2, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET content = excluded.content, heard = excluded.heard
"""
SEEN = """
SELECT content, (1000 * extract(epoch FROM clock_timestamp() - heard))::bigint AS age_ms FROM stumpery_members
WHERE heard > clock_timestamp() - interval '1 hour' ORDER BY name
"""


class MemberTable:
    """The members of a site on several machines.

    Args:
        log: The log, whose connection is used.
    """

    def __init__(self, log: PostgresqlLog) -> None:
        self._log = log
        if not log.query(MEMBERS_EXIST)[0]["is_there"]:
            with log.turn():
                log.query(CREATE_MEMBERS)
        log.query(FORGET)

    def tell(self, member: Member) -> None:
        """Say how this process is."""
        self._log.query(TELL, member.name, msgspec.json.encode(member).decode())

    def seen(self) -> list[Seen]:
        """All processes that were heard of lately."""
        rows = self._log.query(SEEN)
        found = []
        for row in rows:
            try:
                found.append(Seen(msgspec.json.decode(row["content"], type=Member), max(0, row["age_ms"])))
            except msgspec.DecodeError as error:
                logger.debug("another version tells what this one cannot read: %s", error)
        return found

    def leave(self, name: str) -> None:
        """Take a process out that ends; where the database is gone, it is forgotten later."""
        try:
            self._log.query("DELETE FROM stumpery_members WHERE name = $1", name)
        except ServiceUnavailable:
            return
