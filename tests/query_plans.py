"""The plans by which the database runs queries."""

from django.db import connection


def plan_of(query: str) -> str:
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {query}".replace("%", "%%"))
        return "\n".join(str(row[-1]) for row in cursor.fetchall())
