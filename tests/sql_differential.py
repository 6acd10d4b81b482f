"""Compares answers with those of DuckDB: python sql_differential.py ANSWERS FOLDER.

ANSWERS holds one JSON object a line: `sql`, and either `names` and `rows` or `error`. FOLDER holds each table as
`TABLE/*.parquet`. Prints the counts as JSON; of what differs, the queries."""

import collections
import decimal
import glob
import json
import math
import os
import re
import sys

import duckdb


def value(cell):
    """A value that can be compared: numbers are fractions, what JSON has no word for is one again."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, (int, float, decimal.Decimal)):
        return float(cell)
    if cell in ("NaN", "inf", "-inf"):
        return float(cell)
    return str(cell)


def key(row):
    """Rows whose order is open are compared in this one."""

    def one(cell):
        if cell is None:
            return (0, "")
        if isinstance(cell, float):
            return (1, "%.9g" % (cell + 0.0))
        return (2, str(cell))

    return [one(cell) for cell in row]


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        # Sums around zero have no digits in common; 1e-12 is far below any value of the run.
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-3)
    return type(a) is type(b) and a == b


def difference(answer, names, rows):
    """Why an answer is not the one expected; None: it is."""
    own = [[value(cell) for cell in row] for row in answer["rows"]]
    rows = [[value(cell) for cell in row] for row in rows]
    if not re.search(r" ORDER BY [^()]*$", answer["sql"]):
        own.sort(key=key)
        rows.sort(key=key)
    if len(own) != len(rows):
        return f"{len(own)} rows, expected {len(rows)}"
    for a, b in zip(own, rows):
        if len(a) != len(b) or not all(map(same, a, b)):
            return f"row {a}, expected {b}"
    for found, expected in zip(answer["names"], names):
        is_plain = re.fullmatch("[a-z_0-9]+", expected)
        if is_plain and not re.fullmatch(expected + r"(_\d+)?", found):
            return f"column {found}, expected {expected}"
    return None


def main():
    answers, folder = sys.argv[1:]
    database = duckdb.connect()
    database.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        table = os.path.basename(path)
        files = os.path.join(path, "*.parquet")
        if not glob.glob(files):
            continue
        database.execute(f"CREATE TABLE \"{table}\" AS SELECT * FROM read_parquet('{files}')")
    counts = collections.Counter(same=0, different=0, refused=0, no_query=0)
    refusals = collections.Counter()
    different = []
    with open(answers) as lines:
        for line in lines:
            answer = json.loads(line)
            try:
                found = database.execute(answer["sql"])
                names, rows = [column[0] for column in found.description], found.fetchall()
            except duckdb.Error as error:
                # Neither has an answer, as for a sum that is too large.
                counts["no_query"] += 1
                if "error" not in answer and "Overflow" not in str(error):
                    different.append({"sql": answer["sql"], "why": f"DuckDB refuses: {error}"})
                continue
            if "error" in answer:
                counts["refused"] += 1
                refusals[answer["error"]] += 1
                if "not supported" not in answer["error"]:
                    different.append({"sql": answer["sql"], "why": answer["error"]})
                continue
            why = difference(answer, names, rows)
            counts["same" if why is None else "different"] += 1
            if why is not None:
                different.append({"sql": answer["sql"], "why": why})
    print(json.dumps({**counts, "refusals": refusals, "differences": different}))


if __name__ == "__main__":
    main()
