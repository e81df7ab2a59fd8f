"""A plugin of pytest: skips the tests on whose subject Papaya differs on purpose, and compares the
outcome of every other test with the list of expected results.

The environment says whether the list is rewritten instead (UPDATE=1). Tests that were not run, for
instance because the command line names a few, are not compared.
"""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.txt"
DIFFERS = HERE / "differs.txt"
UPDATE = os.environ.get("UPDATE") == "1"

# Outcomes by test. A test has several reports; the worst counts.
outcomes: dict[str, str] = {}
ORDER = ("skipped", "passed", "failed")


def read(path: Path) -> dict[str, str]:
    """Reads lines `WORD REST` into {REST: WORD}; # begins a comment."""
    lines = path.read_text().splitlines() if path.exists() else []
    words = (line.split(" ", 1) for line in lines if line and line[0] != "#")
    return {rest: word for word, rest in words}


def differences() -> dict[str, str]:
    """Reads the beginnings of names of tests, each under the comment with its reason."""
    found: dict[str, str] = {}
    reason = ""
    for line in DIFFERS.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line and not line.startswith("#"):
            found[line] = reason
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skips = differences()
    for item in items:
        for begin, reason in skips.items():
            if name(item.nodeid).startswith(begin):
                item.add_marker(pytest.mark.skip(reason=f"Papaya differs: {reason}"))


def name(nodeid: str) -> str:
    """Returns the test's name from its file on, for tests of the suite and for ours."""
    return nodeid.rpartition("server_tests/")[2]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    outcome = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "skipped"
    if outcome == "rerun" or report.when != "call" and outcome == "passed":
        return
    test = name(report.nodeid)
    before = outcomes.get(test, outcome)
    outcomes[test] = max(before, outcome, key=ORDER.index)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # a worker of xdist: its reports go to the main process
    if UPDATE:
        lines = sorted(f"{test} {outcome}" for test, outcome in outcomes.items())
        swapped = (line.rsplit(" ", 1) for line in lines)
        EXPECTED.write_text("".join(f"{o} {test}\n" for test, o in swapped))
        session.exitstatus = 0
        return
    wanted = read(EXPECTED)
    worse = [t for t, o in outcomes.items() if o == "failed" != wanted.get(t)]
    other = [t for t, o in outcomes.items() if o != "failed" and o != wanted.get(t)]
    for test in sorted(worse):
        print(f"\nERROR: {test} fails, and {wanted.get(test, 'nothing')} is expected")
    for test in sorted(other):
        print(
            f"\n{test} is {outcomes[test]}, and {wanted.get(test, 'nothing')} is expected: "
            "UPDATE=1 rewrites the list"
        )
    if not outcomes:
        print("\nERROR: no test was run")
    session.exitstatus = 1 if worse or not outcomes else 0
