"""The commands `statcv sites …`, as people at sites and the coordinator type them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.cli.main import main
from statcv.cli.parser import SITES_EXAMPLES
from statcv.cli.sites import read_site_data
from statcv.sites.transports import Exchange, Home, SiteParty

pytest.importorskip("cryptography", reason="signatures need cryptography")

KEY = "what the sites agreed on"
NAMES = ("A", "B", "C")
FORMULA = "ill ~ age + sex"
AGREE = ["sites", "agree", FORMULA, "-k", "3", "--by-hash", "patient"]
AGREE += ["--levels", "sex=f,m", "--permutations", "0", "--bins", "8"]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in a folder with the files of three sites."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STATCV_TRACEBACK", raising=False)
    monkeypatch.setenv("STATCV_KEY", KEY)
    monkeypatch.setattr(os, "fsync", lambda file: None)  # no power fails in tests
    for name, frame in data().items():
        frame.to_csv(f"{name}.csv", index=False)


def data() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(60, 9, 240).round(3)})
    frame["sex"] = rng.choice(["f", "m"], 240)
    chance = 1 / (1 + np.exp((60 - frame["age"]) / 9))
    frame["ill"] = (rng.random(240) < chance).astype(int)
    frame["patient"] = np.arange(240) + 70_000
    return {name: frame.iloc[i::3] for i, name in enumerate(NAMES)}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    def call(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        return Ran(code, *capsys.readouterr())

    return call


def step(run: Run, party: str, *more: str) -> Ran:
    return run("sites", "step", "exchange", "--home", f"home_of_{party}", *more)


def begin(run: Run, *more: str) -> None:
    """Let the parties make their homes."""
    assert run(*AGREE, "--out", "plan.json", *more).code == 0
    coordinate = (
        "coordinate",
        "plan.json",
        "exchange",
        "--home",
        "home_of_coordinator",
    )
    assert run("sites", *coordinate, "--sites", "A,B,C").code == 0
    for name in NAMES:
        assert join(run, name).code == 0


def join(run: Run, name: str, *more: str, plan: str = "plan.json") -> Ran:
    home = ("--home", f"home_of_{name}")
    return run("sites", "join", plan, f"{name}.csv", "--site", name, *home, *more)


def one_line(ran: Ran) -> str:
    """Return the line that says what was wrong."""
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    return line


# ---- the plan ----


def test_agree_hands_every_option_on(run: Run) -> None:
    options = "--model ridge --C 0.5 --rebalance --metrics brier,auroc --cell 6"
    more = "--decisions 0.1,0.2 --bins 32 --rounds 25 --permutations 99 --seed 5"
    given = [*AGREE[:9], *options.split(), *more.split(), "--sites", "A,B,C"]
    ran = run(*given, "--levels", "stage=1,2,3", "--out", "plan.json")
    plan = sites.agree(
        FORMULA,
        k=3,
        stratify="patient",
        levels={"sex": ["f", "m"], "stage": [1, 2, 3]},
        model=scv.models.Logit(C=0.5),
        rebalance=True,
        metrics=["brier", "auroc"],
        decisions=[0.1, 0.2],
        cell=6,
        bins=32,
        rounds=25,
        permutations=99,
        sites=["A", "B", "C"],
        seed=5,
    )
    assert Path("plan.json").read_text() == plan.to_json()
    told = f"key: its name is {plan.key_name}; the plan does not hold it"
    assert ran == Ran(0, f"{plan}\n{told}\n\nWritten: plan.json\n", "")
    assert run(*given, "--levels", "stage=1,2,3").out == plan.to_json()


def test_agree_takes_thresholds(run: Run) -> None:
    cut = ("--by-quantile", "age", "--thresholds", "55,65", "--model", "linear")
    ran = run("sites", "agree", "age ~ ill", "-k", "3", *cut)
    stratify = scv.by_quantile("age", thresholds=[55, 65])
    plan = sites.agree("age ~ ill", k=3, stratify=stratify, model="linear")
    assert ran == Ran(0, plan.to_json(), "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--by-quantile", "age"), "give either --by-hash or --by-quantile"),
        (("--thresholds", "1,2"), "--thresholds means nothing without --by-quantile"),
        (("--C", "2"), "--C means nothing without --model ridge"),
        (("--levels", "sex=a,b"), "--levels gives the levels of a column once"),
        (("--decisions", "high"), "--decisions takes numbers, not 'high'"),
        (("--metrics", "aurocs"), "Did you mean 'auroc'"),
        (("--out", "no/such/plan.json"), "cannot write no/such/plan.json"),
    ],
)
def test_agree_refuses(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in one_line(run(*AGREE, *arguments))


def test_agree_needs_a_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STATCV_KEY")
    assert "set the environment variable STATCV_KEY" in one_line(run(*AGREE))


def test_disclose_prints_every_array(run: Run) -> None:
    run(*AGREE, "--out", "plan.json")
    ran = run("sites", "disclose", "plan.json", "--out", "sheet.csv")
    plan = sites.SitesPlan.from_json(Path("plan.json").read_text())
    sheet = sites.disclosure_sheet(plan)
    assert (ran.code, ran.err) == (0, "")
    assert sheet.to_string(index=False) in ran.out
    assert str(plan) in ran.out
    assert list(pd.read_csv("sheet.csv")["array"]) == list(sheet["array"])
    Path("plan.json").write_text(plan.to_json().replace("age", "bmi"))
    line = one_line(run("sites", "disclose", "plan.json"))
    assert "the plan was changed after it was agreed" in line
    assert "there is no file none.json" in one_line(
        run("sites", "disclose", "none.json")
    )


# ---- a run ----


def test_a_run_by_steps(run: Run) -> None:
    begin(run)
    assert "is in round 0" in one_line(
        run("sites", "result", "exchange", "--home", "home_of_coordinator")
    )
    others = [
        SiteParty(Home.open(Path(f"home_of_{name}")), lambda name=name: data()[name])
        for name in ("B", "C")
    ]
    ended = False
    while not ended:
        told = ""
        for party in ("A", "coordinator"):
            ran = step(run, party)
            assert (ran.code, ran.err, len(ran.out.splitlines())) == (0, "", 1)
            told += ran.out
        turns = [other.step(Exchange(Path("exchange"))) for other in others]
        ended = "Site A has ended" in told and all(turn.ended for turn in turns)
    out = ("--out", "results", "--level", "0.9")
    home = ("--home", "home_of_coordinator")
    ran = run("sites", "result", "exchange", *home, *out)
    plan = sites.SitesPlan.from_json(Path("plan.json").read_text())
    expected = sites.run(plan, data())
    assert ran.code == 0
    assert ran.out.startswith(f"{expected.summary(0.9)}\n\nWritten to results: ")
    written = pd.read_csv("results/metrics.csv")
    pd.testing.assert_frame_equal(expected.metrics(0.9), written, check_dtype=False)
    assert Path("results/sites.png").read_bytes().startswith(b"\x89PNG")
    again = step(run, "coordinator")
    assert again == Ran(0, f"The run has ended after {expected.rounds} rounds.\n", "")
    assert step(run, "B") == Ran(0, "Site B has ended.\n", "")
    line = one_line(run("sites", "result", "exchange", "--home", "home_of_A"))
    assert "is the home of site A; the coordinator has the result" in line
    for name in NAMES:
        (log,) = Path(f"home_of_{name}").glob("plan-*/log.jsonl")
        ran = run("sites", "verify", str(log), f"{name}.csv")
        assert ran.code == 0
        assert ran.out.startswith(f"Site {name}: {expected.rounds + 1} answers, ")
        assert "recomputed (100%); the log is whole" in ran.out
    logs = [str(*Path(f"home_of_{name}").glob("plan-*/log.jsonl")) for name in NAMES]
    ran = run("sites", "audit", *logs)
    rounds = f"{expected.rounds} rounds were published as they should be.\n"
    assert ran == Ran(0, f"Sites A, B, C: {rounds}", "")
    line = one_line(run("sites", "audit", *logs[1:], "--plan", "plan.json"))
    assert "the logs of sites B, C; in that of B sites A, B, C take part" in line
    line = one_line(run("sites", "audit", *logs, logs[0], "--plan", "plan.json"))
    assert line == f"statcv: {logs[0]} is a second log of site A; give one of each."
    frame = data()["A"]
    frame.iloc[1:].to_csv("A.csv", index=False)
    (log,) = Path("home_of_A").glob("plan-*/log.jsonl")
    line = one_line(run("sites", "verify", str(log), "A.csv", "--plan", "plan.json"))
    assert line.startswith("statcv: site A: ")
    assert "(100%)" not in line
    line = one_line(run("sites", "verify", "plan.json", "A.csv"))
    assert "a line of the log is damaged" in line
    line = one_line(run("sites", "verify", "none.jsonl", "A.csv"))
    assert "none.jsonl is not a log of a site" in line


def test_steps_that_go_wrong_are_told_in_one_line(run: Run) -> None:
    begin(run)
    assert "not the home of a party" in one_line(step(run, "nobody"))
    assert not Path("home_of_nobody").exists()
    for name in NAMES:
        step(run, name)
    step(run, "coordinator")
    start = Path("exchange/round-00-from-coordinator.statcv")
    right = start.read_bytes()
    start.write_bytes(right[:-1] + b"x")
    line = one_line(step(run, "A"))
    assert "is not signed by the coordinator" in line
    start.write_bytes(right)
    for name in NAMES:
        assert "answered round 0" in step(run, name).out
    step(run, "coordinator")
    shutil.copy(start, "exchange/round-01-from-coordinator.statcv")
    assert "holds a message of another round" in one_line(step(run, "A"))
    Path("exchange/round-01-from-coordinator.statcv").unlink()
    step(run, "coordinator")
    data()["A"].iloc[1:].to_csv("A.csv", index=False)
    line = one_line(step(run, "A"))
    assert "site A: the data have changed since the plan was first answered" in line
    Path("A.csv").write_text("age,sex\n1,f,7\n")
    line = one_line(step(run, "A"))
    assert line.endswith("A.csv` says why, at the site.")
    Path("A.csv").unlink()
    assert "site A: there is no file and no data set" in one_line(step(run, "A"))
    data()["A"].to_csv("A.csv", index=False)
    Path("exchange/thesis.docx").write_text("")
    ran = step(run, "A")
    assert "answered round 1" in ran.out
    assert "note: exchange has files that are not part of the exchange" in ran.err
    assert "--wait takes a positive number" in one_line(step(run, "A", "--wait", "0"))


def test_who_cannot_join_is_told_in_one_line(run: Run) -> None:
    run(*AGREE, "--out", "plan.json")
    home = ("--home", "home_of_coordinator")
    two = ("exchange", *home, "--sites", "A,B")
    line = one_line(run("sites", "coordinate", "plan.json", *two))
    assert "sites A, B: 2 sites take part, and at least 3 must" in line
    frame = data()["A"]
    for other, sentence in (
        (frame.drop(columns="age"), "site A: column 'age' is missing"),
        (frame.assign(sex="w"), "site A: 80 rows of column 'sex' have a level that"),
        (frame.iloc[:9], "site A: fold 1 holds out fewer than 5 records"),
    ):
        other.to_csv("A.csv", index=False)
        line = one_line(join(run, "A"))
        assert sentence in line
        assert "'w'" not in line
    frame.to_csv("A.csv", index=False)
    ran = join(run, "A")
    assert "Site A can take part: its data suit the plan." in ran.out
    assert Path("home_of_A/A.public.json").exists()
    line = one_line(join(run, "A", plan="A.csv"))
    assert "this is not a plan of sites" in line


def test_a_second_plan_needs_a_permit(run: Run) -> None:
    begin(run)
    for party in (*NAMES, "coordinator", "A"):
        step(run, party)
    run(*AGREE, "--seed", "5", "--out", "second.json")
    line = one_line(join(run, "A", plan="second.json"))
    assert "site A: these data have answered another plan" in line
    ran = join(run, "A", "--permit-another-plan", plan="second.json")
    assert ran.code == 0


def test_help(run: Run) -> None:
    assert SITES_EXAMPLES in run("sites", "--help").out
    assert all(len(line) <= 82 for line in SITES_EXAMPLES.splitlines())
    for command in (
        "agree",
        "disclose",
        "coordinate",
        "join",
        "step",
        "verify",
        "audit",
    ):
        assert run("sites", command, "--help").code == 0
    assert run("sites").code == 2


# ---- as processes ----


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command, and end what still runs after the test."""
    started: list[subprocess.Popen[str]] = []

    def begun(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "statcv.cli.main", "sites", *arguments]
        pipe = subprocess.PIPE
        started.append(
            subprocess.Popen(
                command, stdout=pipe, stderr=pipe, text=True, env=os.environ
            )
        )
        return started[-1]

    yield begun
    for process in started:
        process.kill()
        process.communicate()


def appears(path: Path, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} does not appear"
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals of POSIX")
def test_processes_of_which_one_is_killed(
    run: Run, start: Callable[..., subprocess.Popen[str]]
) -> None:
    begin(run)

    def waiting(party: str) -> subprocess.Popen[str]:
        home = f"home_of_{party}"
        return start("step", "exchange", "--home", home, "--wait", "0.02")

    processes = {party: waiting(party) for party in ("coordinator", *NAMES)}
    appears(Path("exchange/round-04-from-coordinator.statcv"))
    processes["B"].send_signal(signal.SIGKILL)
    assert processes["B"].wait() == -signal.SIGKILL
    processes["B"] = waiting("B")
    for process in processes.values():
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, "")
        assert "ended" in out or "(end)" in out
    shown = start("result", "exchange", "--home", "home_of_coordinator")
    plan = sites.SitesPlan.from_json(Path("plan.json").read_text())
    expected = f"{sites.run(plan, data()).summary()}\n"
    assert shown.communicate(timeout=300) == (expected, "")
    (log,) = Path("home_of_B").glob("plan-*/log.jsonl")
    ran = run("sites", "verify", str(log), "B.csv")
    assert "recomputed (100%); the log is whole" in ran.out


def test_files_of_sites_are_read_as_their_options_say(run: Run) -> None:
    for name, frame in data().items():
        frame = frame.assign(
            patient=frame["patient"].map("{:09d}".format),
            sex=frame["sex"].replace("f", "None"),
        )
        frame.to_csv(f"{name}.csv", index=False)
        frame.to_csv(f"{name}_de.csv", index=False, sep=";", decimal=",")
    agree = [word.replace("sex=f", "sex=None") for word in AGREE]
    assert run(*agree, "--out", "plan.json").code == 0
    layout = ("--sep", ";", "--decimal", ",")
    plan = sites.SitesPlan.from_json(Path("plan.json").read_text())
    for name in NAMES:
        found = read_site_data(plan, f"{name}.csv", {})
        german = read_site_data(plan, f"{name}_de.csv", {"sep": ";", "decimal": ","})
        pd.testing.assert_frame_equal(found, german)
        assert found["patient"].str.len().eq(9).all()
        home = ("--site", name, "--home", f"home_{name}")
        ran = run("sites", "join", "plan.json", f"{name}_de.csv", *home, *layout)
        assert ran.code == 0, ran.err
        assert Home.open(Path(f"home_{name}")).told["decimal"] == ","
    ran = run("sites", "join", "plan.json", "A_de.csv", "--site", "A", "--home", "h")
    assert "site A: its data cannot be read" in ran.err
