"""docs/features.md is generated; times differ from machine to machine, what serves a calculator does not."""

from tests.bench.feature_table import DOCUMENT, rows, table_line


def test_the_table_of_features_has_every_calculator_with_what_serves_it() -> None:
    lines = DOCUMENT.read_text().splitlines()
    table = lines[lines.index(next(line for line in lines if line.startswith("|---"))) + 1 :]
    expected = [table_line(row) for row in rows()]
    written = ["|".join(line.split("|")[:4]) + "|" for line in table]
    assert written == expected, "run: python -m tests.bench.feature_table"
