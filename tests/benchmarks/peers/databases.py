"""The tables of the peers, and the settings of the databases, which are the same for every server."""

from pathlib import Path

from tests.benchmarks.databases import Database, connected
from tests.benchmarks.peers.pets import Pet, key_rows

_SCHEMA = Path(__file__).with_name("schema.sql").read_text()


def fill(database: Database, pets: list[Pet]) -> None:
    """Write the tables of the peers into an empty database."""
    mark = "?" if database.server is None else "%s"
    with connected(database) as connection:
        if database.server is None:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN")
        for statement in _SCHEMA.split(";")[:-1]:
            connection.execute(statement)
        connection.cursor().executemany(f"INSERT INTO pet VALUES ({', '.join([mark] * 4)})", pets)
        connection.cursor().executemany(f"INSERT INTO api_key VALUES ({', '.join([mark] * 3)})", list(key_rows()))
        connection.execute("COMMIT")
        if database.server is not None:
            connection.execute("VACUUM ANALYZE")


def settings(database: Database) -> str:
    """Describe the version and the durability settings."""
    with connected(database) as connection:
        if database.server is None:
            [(version,)] = connection.execute("SELECT sqlite_version()").fetchall()
            return f"SQLite {version}, `journal_mode=WAL`, `synchronous=FULL` for every server"
        names = ("server_version", "synchronous_commit", "fsync", "shared_buffers")
        version, *values = (connection.execute(f"SHOW {name}").fetchall()[0][0] for name in names)
    shown = ", ".join(f"`{name}={value}`" for name, value in zip(names[1:], values, strict=True))
    return f"PostgreSQL {version} on the same machine, {shown}"
