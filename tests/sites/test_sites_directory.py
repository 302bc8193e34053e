"""Sites that exchange signed files: what stays the same, and what is refused."""

import ast
import json
import os
import re
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.errors import (
    ExchangeError,
    ExchangeWarning,
    MessageError,
    MissingPackageError,
    SiteError,
)
from statcv.sites.transports import (
    CoordinatorParty,
    Exchange,
    Home,
    SiteParty,
    coordinate,
    join,
    key_name,
    locked,
    write,
)
from statcv.sites.transports import exchange as exchanges
from statcv.sites.transports.exchange import SigningKey, Turn, file_name, opened

pytest.importorskip("cryptography", reason="signatures need cryptography")

KEY = "what the sites agreed on"
NAMES = ("A", "B", "C")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATCV_KEY", KEY)
    monkeypatch.delenv("STATCV_TRACEBACK", raising=False)
    monkeypatch.setattr(os, "fsync", lambda file: None)  # no power fails in tests


def records(n: int = 240, columns: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, columns))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)])
    frame["ill"] = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["patient"] = np.arange(n) + 70_000
    return frame


def divided(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {name: frame.iloc[i::3] for i, name in enumerate(NAMES)}


DATA = divided(records())


def agreed(**changes: object) -> sites.SitesPlan:
    given = {"k": 3, "stratify": "patient", "permutations": 0, "bins": 8, **changes}
    return sites.agree("ill ~ x0 + x1", **given)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def assert_same(one: sites.SitesResult, other: sites.SitesResult) -> None:
    pd.testing.assert_frame_equal(one.metrics(), other.metrics(), check_exact=True)
    pd.testing.assert_frame_equal(one.by_site(), other.by_site(), check_exact=True)
    pd.testing.assert_frame_equal(one.model, other.model, check_exact=True)
    assert (one.coefficients == other.coefficients).all(axis=None)


# ---- one script ----


@pytest.mark.parametrize(
    "plan",
    [
        agreed(stratify=scv.by_hash("patient", key=KEY)),
        sites.agree("x0 ~ x1 + sex", k=3, levels={"sex": ["f", "m"]}, model="linear"),
        agreed(stratify=None, rebalance=True, model="ridge"),
    ],
    ids=["logit", "linear", "ridge"],
)
def test_numbers_are_those_of_one_process(
    plan: sites.SitesPlan, tmp_path: Path
) -> None:
    expected = sites.run(plan, DATA)
    found = sites.run(plan, DATA, transport=sites.Directory(tmp_path / "exchange"))
    assert_same(found, expected)
    names = contents(tmp_path / "exchange")
    assert found.files == len(names) == 4 * (2 + found.rounds) + 1
    for name in names:
        form = r"round-\d\d-from-(\w+)\.statcv|(\w+)\.public\.json|(roster)\.json"
        match = re.fullmatch(form, name)
        assert match
        assert {*match.groups()} & {*NAMES, "coordinator", "roster"}


def test_a_site_sends_at_most_25_kilobytes(tmp_path: Path) -> None:
    frame = records(3000, columns=10)
    formula = "ill ~ " + " + ".join(f"x{j}" for j in range(10))
    plan = sites.agree(formula, k=5, stratify="patient")
    sites.run(plan, divided(frame), transport=sites.Directory(tmp_path / "exchange"))
    for name in NAMES:
        sent = [*(tmp_path / "exchange").glob(f"*from-{name}.statcv")]
        card = (tmp_path / "exchange" / f"{name}.public.json").stat().st_size
        assert card + sum(path.stat().st_size for path in sent) <= 25_000


def test_a_run_that_has_ended_is_read_again(tmp_path: Path) -> None:
    carrier = sites.Directory(tmp_path / "exchange")
    first = sites.run(agreed(), DATA, transport=carrier)
    again = sites.run(agreed(), DATA, transport=sites.Directory(tmp_path / "exchange"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    again = sites.run(agreed(), DATA, transport=carrier)
    assert_same(again, first)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    assert after == before


class Killed(BaseException):
    """As a process ends that is killed: nothing below it can go on."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_run_that_is_killed_at_a_write_goes_on(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, whole, calls = agreed(), exchanges.write_whole, 0

    def killed(path: Path, content: bytes, mode: int) -> None:
        nonlocal calls
        calls += 1
        if calls % 37 == 7:
            if after:
                whole(path, content, mode)
            else:
                draft = path.with_name(f".{path.name}.{'0f' * 16}.tmp")
                draft.write_bytes(content[:20])
            raise Killed
        whole(path, content, mode)

    monkeypatch.setattr(exchanges, "write_whole", killed)
    starts = 0
    while True:
        starts += 1
        carrier = sites.Directory(tmp_path / "exchange", tmp_path / "homes")
        try:
            found = sites.run(plan, DATA, transport=carrier)
        except Killed:
            continue
        break
    assert starts > 3
    assert_same(found, sites.run(plan, DATA))
    assert not [*tmp_path.rglob(".*.tmp")]
    for name in NAMES:
        home = Home.open(tmp_path / "homes" / name)
        replay = sites.verify(plan, home.entries(), DATA[name], name)
        assert replay.passed
        for number, entry in enumerate(home.entries()):
            content = (tmp_path / "exchange" / file_name(number, name)).read_bytes()
            assert opened(content, home.key.public, name, "") == entry.sent


# ---- parties, each of them opened again for every turn ----


@dataclass(frozen=True)
class Parties:
    """Homes and exchange of a run below a folder."""

    folder: Path

    @property
    def exchange(self) -> Path:
        return self.folder / "exchange"

    def home(self, party: str) -> Home:
        return Home.open(self.folder / party)

    def party(
        self, name: str, data: pd.DataFrame | None = None
    ) -> CoordinatorParty | SiteParty:
        own = DATA.get(name) if data is None else data
        home = self.home(name)
        return SiteParty(home, lambda: own) if home.is_site else CoordinatorParty(home)

    def step(self, name: str, data: pd.DataFrame | None = None) -> Turn:
        return self.party(name, data).step(Exchange(self.exchange))

    def file(self, number: int, party: str) -> Path:
        return self.exchange / file_name(number, party)

    def passes(self) -> Iterator[list[Turn]]:
        """Let all parties take a turn again and again, in one process."""
        parties = [self.party(name) for name in ("coordinator", *NAMES)]
        while True:
            turns = [party.step(Exchange(self.exchange)) for party in parties]
            yield turns
            if all(turn.ended for turn in turns):
                break

    def finish(self) -> sites.SitesResult:
        for _ in self.passes():
            pass
        return sites.SitesResult(CoordinatorParty(self.home("coordinator")).ended())


def begin(folder: Path, plan: sites.SitesPlan) -> Parties:
    coordinate(folder / "coordinator", plan, NAMES)
    for name in NAMES:
        join(folder / name, plan, name, DATA[name])
    return Parties(folder)


@pytest.fixture(scope="module")
def _third_round(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run in which the coordinator has just published round 3."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATCV_KEY", KEY)
        parties = begin(folder, agreed())
        for _ in parties.passes():
            if parties.file(3, "coordinator").exists():
                break
        for name in NAMES:  # the sites answered it in the same pass
            parties.file(3, name).unlink()
            home = parties.home(name)
            home.keep_entries(home.entries()[:3])
    return folder


@pytest.fixture
def parties(_third_round: Path, tmp_path: Path) -> Parties:
    shutil.copytree(_third_round, tmp_path / "run")
    return Parties(tmp_path / "run")


def test_steps_say_what_was_done_or_whom_one_waits_for(tmp_path: Path) -> None:
    run = begin(tmp_path, agreed())
    with pytest.raises(ExchangeError, match="there is no directory"):
        run.step("A")
    told = str(run.step("coordinator"))
    assert told.startswith("The coordinator left its public key")
    assert told.endswith("(A.public.json, B.public.json, C.public.json).")
    assert "and waits for the coordinator (round-00" in str(run.step("A"))
    assert not run.step("A").moved
    run.step("B")
    assert "key of site C (C.public.json)" in str(run.step("coordinator"))
    run.step("C")
    told = str(run.step("coordinator"))
    assert "listed the keys of 3 sites in roster.json and published round 0" in told
    for name in NAMES:
        turn = run.step(name)
        told = f"Site {name} answered round 0 (join) in round-00-from-{name}.statcv."
        assert (str(turn), turn.moved) == (told, True)
        turn = run.step(name)
        assert (turn.moved, turn.ended) == (False, False)
        assert str(turn).startswith(f"Site {name} waits for the coordinator (round-01")
    turn = run.step("coordinator")
    assert str(turn).startswith("The coordinator added up the answers of 3 sites to")
    assert not run.step("coordinator").moved


def test_turns_in_any_order_and_often_give_the_same(parties: Parties) -> None:
    rng = np.random.default_rng(1)
    taking = {name: parties.party(name) for name in ("coordinator", *NAMES)}
    ended = set()
    while len(ended) < 4:
        name = str(rng.choice([*taking]))
        if rng.random() < 0.1:  # as another process
            taking[name] = parties.party(name)
        if taking[name].step(Exchange(parties.exchange)).ended:
            ended.add(name)
    found = CoordinatorParty(parties.home("coordinator")).ended()
    assert_same(sites.SitesResult(found), sites.run(agreed(), DATA))


def test_files_that_are_lost_are_left_again(parties: Parties) -> None:
    parties.step("A")
    sent = parties.file(3, "A").read_bytes()
    for name in ("round-03-from-A.statcv", "A.public.json"):
        (parties.exchange / name).unlink()
    assert "left its answer in round-03-from-A.statcv again" in str(parties.step("A"))
    assert parties.file(3, "A").read_bytes() == sent
    published = parties.file(3, "coordinator").read_bytes()
    parties.file(3, "coordinator").unlink()
    assert parties.step("coordinator").moved
    assert parties.file(3, "coordinator").read_bytes() == published
    for path in parties.exchange.iterdir():  # older ones are needed no more
        if path.name.startswith(("round-00", "round-01", "round-02")):
            path.unlink()
    assert_same(parties.finish(), sites.run(agreed(), DATA))


def test_nothing_depends_on_clocks(parties: Parties) -> None:
    times = iter(np.random.default_rng(2).integers(0, 2**32 - 1, 10**4).tolist())
    for _ in parties.passes():
        for path in parties.folder.rglob("*"):
            if path.is_file():
                os.utime(path, (next(times), next(times)))
    found = CoordinatorParty(parties.home("coordinator")).ended()
    assert_same(sites.SitesResult(found), sites.run(agreed(), DATA))


# ---- forged, damaged, replayed ----


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def signed_by_another(path: Path) -> None:
    body, party = path.read_bytes()[84:], re.findall(r"from-(\w+)", path.name)[0]
    path.write_bytes(SigningKey.new().sign(party, body))


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"0")


def no_message(path: Path) -> None:
    path.write_bytes(b"\x00" * 400)


@pytest.mark.parametrize("party", ["coordinator", "B"])
@pytest.mark.parametrize("forge", [flipped, signed_by_another, lengthened, no_message])
def test_a_forged_file_is_refused(
    parties: Parties, forge: Callable[[Path], None], party: str
) -> None:
    reader = "A" if party == "coordinator" else "coordinator"
    if party != "coordinator":
        for name in NAMES:
            parties.step(name)
    right = parties.file(3, party).read_bytes()
    forge(parties.file(3, party))
    who = "the coordinator" if party == "coordinator" else "site B"
    for _ in range(2):
        with pytest.raises(MessageError, match=f"is not signed by {who} with the key"):
            parties.step(reader)
    assert not parties.file(3, "A").exists() or reader == "coordinator"
    parties.file(3, party).write_bytes(right)
    assert parties.step(reader).moved


@pytest.mark.parametrize("length", [0, 10, 50, 84, 300])
def test_a_file_that_is_being_copied_is_waited_for(
    parties: Parties, length: int
) -> None:
    path = parties.file(3, "coordinator")
    whole = path.read_bytes()
    path.write_bytes(whole[:length])
    turn = parties.step("A")
    assert (turn.moved, turn.ended) == (False, False)
    assert "waits for the rest of round-03-from-coordinator.statcv" in str(turn)
    path.write_bytes(whole)
    sent = parties.step("A") and parties.file(3, "A").read_bytes()
    parties.file(3, "A").write_bytes(sent[:length])
    assert "round-03-from-A.statcv" in str(parties.step("coordinator"))
    parties.step("A")  # this step leaves the whole file again
    assert parties.file(3, "A").read_bytes() == sent


def test_an_old_message_is_not_taken_for_a_new_one(parties: Parties) -> None:
    shutil.copy(parties.file(2, "coordinator"), parties.file(3, "coordinator"))
    with pytest.raises(MessageError, match=r"round-03.* another round: it was renamed"):
        parties.step("A")
    parties.file(3, "coordinator").unlink()
    parties.step("coordinator")
    for name in NAMES:
        parties.step(name)
    shutil.copy(parties.file(2, "C"), parties.file(3, "C"))
    with pytest.raises(MessageError, match=r"replayed\. Get the file again from"):
        parties.step("coordinator")
    shutil.copy(parties.file(3, "B"), parties.file(3, "C"))  # another sender's
    with pytest.raises(MessageError, match="not signed by site C"):
        parties.step("coordinator")
    parties.step("C")
    assert parties.step("coordinator").moved


def test_a_message_of_another_plan_is_refused(parties: Parties) -> None:
    other = sites.Message("fit", {"plan": agreed(seed=5).fingerprint, "round": 3})
    key = parties.home("coordinator").key
    path = parties.file(3, "coordinator")
    path.write_bytes(key.sign("coordinator", bytes(other)))
    with pytest.raises(MessageError, match="belongs to another plan than"):
        parties.step("A")


def test_a_party_with_another_plan_is_named(tmp_path: Path) -> None:
    run = begin(tmp_path, agreed())
    run.step("coordinator")
    home = join(tmp_path / "other", agreed(seed=5), "B", DATA["B"])
    with pytest.raises(SiteError, match="the coordinator signs another plan"):
        SiteParty(home, lambda: DATA["B"]).step(Exchange(run.exchange))
    run.step("A")
    with pytest.raises(SiteError, match=r"site B signs another plan .* the same plan"):
        run.step("coordinator")
    with pytest.raises(SiteError, match="site B signs another plan"):
        run.step("B")
    twin = join(tmp_path / "twin", agreed(), "A", DATA["A"])
    with pytest.raises(SiteError, match="holds another key of site A than its home"):
        SiteParty(twin, lambda: DATA["A"]).step(Exchange(run.exchange))


def test_a_site_keeps_the_coordinators_key(parties: Parties) -> None:
    other = coordinate(parties.folder / "impostor", agreed(), NAMES)
    card = parties.exchange / "coordinator.public.json"
    card.write_bytes(other.key.card("coordinator", agreed()))
    body = parties.file(3, "coordinator").read_bytes()[84:]
    parties.file(3, "coordinator").write_bytes(other.key.sign("coordinator", body))
    known = re.escape(key_name(parties.home("coordinator").key.public))
    with pytest.raises(MessageError, match=f"with the key {known}"):
        parties.step("A")


def test_a_key_that_was_told_before_is_the_one_that_counts(tmp_path: Path) -> None:
    run = begin(tmp_path, agreed())
    told = tmp_path / "by-courier.json"
    told.write_bytes(run.home("coordinator").key.card("coordinator", agreed()))
    join(tmp_path / "A", agreed(), "A", DATA["A"], coordinator=told)
    impostor = coordinate(tmp_path / "impostor", agreed(), NAMES)
    wrong = CoordinatorParty(impostor)
    wrong.step(Exchange(run.exchange))
    for name in NAMES:
        run.step(name)
    wrong.step(Exchange(run.exchange))
    with pytest.raises(MessageError, match=r"roster\.json is not signed by the coor"):
        run.step("A")
    assert run.step("B").moved  # it trusted the first key that it saw
    flawed = tmp_path / "flawed.json"
    flawed.write_text(told.read_text().replace('"party": "coord', '"party": "bord'))
    with pytest.raises(MessageError, match=r"flawed\.json is not signed by the"):
        join(tmp_path / "A", agreed(), "A", DATA["A"], coordinator=flawed)
    with pytest.raises(SiteError, match=r"site A: there is no file .*nowhere.json"):
        join(tmp_path / "A", agreed(), "A", DATA["A"], coordinator=Path("nowhere.json"))


def test_a_coordinator_that_exchanges_a_sites_key_is_found_out(tmp_path: Path) -> None:
    run = begin(tmp_path, agreed())
    run.step("coordinator")
    for name in NAMES:
        run.step(name)
    coordinator = run.home("coordinator")
    keys = {name: run.home(name).key.public for name in NAMES}
    coordinator.keep_site_keys({**keys, "A": SigningKey.new().public})
    run.step("coordinator")
    with pytest.raises(SiteError, match="site A: the coordinator took another key"):
        run.step("A")
    coordinator.keep_site_keys({**keys, "C": keys["B"]})
    run.step("coordinator")
    with pytest.raises(SiteError, match=r"site A: roster\.json lists one key for"):
        run.step("A")
    coordinator.keep_site_keys({"A": keys["A"], "B": keys["B"]})
    run.step("coordinator")
    with pytest.raises(SiteError, match="site A: 2 sites take part, and at least 3"):
        run.step("A")


def test_a_refusal_is_told_to_the_coordinator(parties: Parties) -> None:
    message = sites.Message.of(parties.file(3, "coordinator").read_bytes()[84:])
    answers = {**message.header["answers"], "A": "0" * 64}
    changed = replace(message, header={**message.header, "answers": answers})
    key = parties.home("coordinator").key
    path = parties.file(3, "coordinator")
    path.write_bytes(key.sign("coordinator", bytes(changed)))
    for _ in range(2):
        with pytest.raises(SiteError, match="site A: the sums do not include what"):
            parties.step("A")
    assert parties.file(3, "A").exists()
    for name in ("B", "C"):
        parties.step(name)
    with pytest.raises(SiteError, match="site A refuses: the sums do not include"):
        parties.step("coordinator")
    assert sites.verify(agreed(), parties.home("A").entries(), DATA["A"], "A").passed


# ---- who takes part, with what ----


def test_data_that_changed_in_between_send_nothing(parties: Parties) -> None:
    other = DATA["A"].iloc[1:]
    with pytest.raises(SiteError) as error:
        parties.step("A", other)
    told = "site A: the data have changed since the plan was first answered (80 rows"
    assert str(error.value).startswith(told)
    assert not parties.file(3, "A").exists()
    with pytest.raises(SiteError, match="the data have changed"):
        join(parties.folder / "A", agreed(), "A", other)
    assert parties.step("A").moved  # with the right data


def test_a_second_plan_needs_a_permit(parties: Parties) -> None:
    second, folder = agreed(seed=5), parties.folder / "A"
    with pytest.raises(SiteError, match="site A: these data have answered another"):
        join(folder, second, "A", DATA["A"])
    assert parties.home("A").plan == agreed()
    home = join(folder, second, "A", DATA["A"], permit=True)
    assert (home.plan, home.entries()) == (second, [])
    assert join(folder, agreed(), "A", DATA["A"]).entries()
    with pytest.raises(SiteError, match=r"is the home of site A; name another"):
        join(folder, second, "B", DATA["B"])


@pytest.mark.parametrize("file", ["home.json", "plan-*/plan.json"])
def test_joining_again_mends_a_home_and_keeps_its_ledger(
    parties: Parties, file: str
) -> None:
    (lost,) = (parties.folder / "A").glob(file)
    lost.unlink()
    with pytest.raises(SiteError, match="these data have answered another plan"):
        join(parties.folder / "A", agreed(seed=5), "A", DATA["A"])
    with pytest.raises(SiteError, match="the data have changed"):
        join(parties.folder / "A", agreed(), "A", DATA["A"].iloc[1:])
    join(parties.folder / "A", agreed(), "A", DATA["A"])
    assert "answered round 3" in str(parties.step("A"))


def test_a_second_plan_in_one_script_is_refused(tmp_path: Path) -> None:
    first = sites.Directory(tmp_path / "exchange", tmp_path / "homes")
    sites.run(agreed(), DATA, transport=first)
    second = sites.Directory(tmp_path / "second", tmp_path / "homes")
    with pytest.raises(SiteError, match="site A: these data have answered another"):
        sites.run(agreed(seed=5), DATA, transport=second)
    same = sites.Directory(tmp_path / "exchange", tmp_path / "others")
    with pytest.raises(SiteError, match="holds another key of the coordinator"):
        sites.run(agreed(), DATA, transport=same)


def test_two_sites_are_too_few(tmp_path: Path) -> None:
    two = {name: DATA[name] for name in ("A", "B")}
    carrier = sites.Directory(tmp_path / "exchange")
    with pytest.raises(SiteError, match=r"sites A, B: 2 sites take part, and at least"):
        sites.run(agreed(), two, transport=carrier)
    with pytest.raises(SiteError, match="the plan names no sites"):
        coordinate(tmp_path / "home", agreed())
    named = agreed(sites=["A", "B", "D"])
    with pytest.raises(SiteError, match="is for sites A, B, D, and not for sites A, B"):
        coordinate(tmp_path / "home", named, NAMES)
    assert coordinate(tmp_path / "home", named).told["sites"] == ["A", "B", "D"]


def test_the_sites_of_a_run_do_not_change(parties: Parties) -> None:
    with pytest.raises(SiteError, match="was begun with sites A, B, C, and not"):
        coordinate(parties.folder / "coordinator", agreed(), ["A", "B", "D"])
    assert coordinate(parties.folder / "coordinator", agreed(), NAMES).site_keys()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d.drop(columns="x1"), "site B: column 'x1' is missing"),
        (lambda d: d.rename(columns={"patient": "id"}), "column 'patient' is missing"),
        (lambda d: d.assign(sex="w"), "column 'sex' have a level that the plan does"),
        (lambda d: d.assign(x1=d["x1"].astype(str)), "column 'x1' is of type"),
        (lambda d: d.iloc[:12], "holds out fewer than 5 records"),
    ],
)
def test_data_that_do_not_suit_the_plan_cannot_join(
    change: Callable[[pd.DataFrame], pd.DataFrame], sentence: str, tmp_path: Path
) -> None:
    plan = sites.agree(
        "ill ~ x0 + x1 + sex", k=3, stratify="patient", levels={"sex": ["f", "m"]}
    )
    with pytest.raises(SiteError) as error:
        join(tmp_path / "B", plan, "B", change(DATA["B"]))
    told = str(error.value)
    assert sentence in told
    assert told.startswith("site B: ")
    assert "\n" not in told
    assert "'w'" not in told
    assert not (tmp_path / "B").exists()


def test_another_key_of_the_folds_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = agreed()
    monkeypatch.setenv("STATCV_KEY", "something else")
    with pytest.raises(SiteError, match="site C: the key is not the one of the plan"):
        join(tmp_path / "C", plan, "C", DATA["C"])


@pytest.mark.parametrize("version", ["7.0.0", "0.0.1"])
def test_another_version_is_named(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path, agreed())
    run.step("coordinator")
    for name in ("A", "B"):
        run.step(name)
    with monkeypatch.context() as other:
        other.setattr(exchanges, "package_version", lambda: version)
        with pytest.raises(
            SiteError, match=rf"the coordinator has .* here is {version}"
        ):
            run.step("C")
    told = rf"site C has statcv {version} \(messages 1\), and here .* install one"
    with pytest.raises(SiteError, match=told):
        run.step("coordinator")


def test_a_later_patch_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path, agreed())
    run.step("coordinator")
    later = ".".join([*scv.__version__.split(".")[:2], "99"])
    monkeypatch.setattr(exchanges, "package_version", lambda: later)
    for party in (*NAMES, "coordinator", "A"):
        assert run.step(party).moved
    assert run.file(0, "A").exists()


@pytest.mark.parametrize("name", ["", "a/b", "..", "Coordinator", "x" * 41, "é", "a."])
def test_a_name_that_cannot_be_part_of_a_file_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="cannot be part of a file name"):
        join(tmp_path / "home", agreed(), name, DATA["A"])


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="two sites have the same name"):
        coordinate(tmp_path, agreed(), ["A", "a", "B"])


def test_one_home_of_two_names_is_refused(tmp_path: Path) -> None:
    run = begin(tmp_path, agreed())
    shutil.copy(tmp_path / "B" / "signing.key", tmp_path / "C" / "signing.key")
    run.step("coordinator")
    for name in NAMES:
        run.step(name)
    with pytest.raises(SiteError, match="two of sites A, B, C have the same key"):
        run.step("coordinator")


# ---- files ----


def test_private_files_are_for_their_owner(parties: Parties) -> None:
    for name in NAMES:
        home = parties.home(name)
        private = [home.folder / "signing.key", home.folder / "ledger.json", home.log]
        for path in private:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
        secret = (home.folder / "signing.key").read_text().strip()
        for content in contents(parties.exchange).values():
            assert secret.encode() not in content
            assert bytes.fromhex(secret) not in content


def test_the_key_of_the_folds_is_in_no_file(tmp_path: Path) -> None:
    plan = agreed(stratify=scv.by_hash("patient", key=KEY))
    sites.run(plan, DATA, transport=sites.Directory(tmp_path / "exchange"))
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


def test_other_files_are_noted_and_ignored(parties: Parties) -> None:
    for name in ("notes.docx", "round-03-from-D.statcv", ".hidden", "README.txt"):
        (parties.exchange / name).write_bytes(b"x")
    (parties.exchange / "folder").mkdir()
    with pytest.warns(ExchangeWarning) as caught:
        parties.step("coordinator")
    (one,) = caught
    told = "ignored: folder, notes.docx, round-03-from-D.statcv."
    assert str(one.message).endswith(told)
    with pytest.warns(ExchangeWarning, match=r"ignored: folder, notes\.docx\.$"):
        assert parties.step("A").moved


def test_a_file_that_is_too_long_is_not_read(parties: Parties) -> None:
    with parties.file(3, "coordinator").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(ExchangeError, match="longer than the limit"):
        parties.step("A")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
def test_a_disk_that_is_full_leaves_nothing_half_written(parties: Parties) -> None:
    resource = pytest.importorskip("resource")
    before = contents(parties.exchange)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for size in (100, 3000):  # sizes below those of the ledger and of the log
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(ExchangeError) as error:
                parties.step("A")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        told = str(error.value)
        assert told.startswith(f"cannot write {parties.folder / 'A'}")
        assert "Nothing is left half-written; make room" in told
    signal.signal(signal.SIGXFSZ, ignored)
    assert contents(parties.exchange) == before
    assert not [*parties.folder.rglob("*.tmp")]
    assert_same(parties.finish(), sites.run(agreed(), DATA))


def test_an_error_of_the_system_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExchangeError, match="cannot make the directory"):
        Exchange(tmp_path / "file" / "below").make()
    with pytest.raises(ExchangeError, match=r"cannot write .*Nothing is left"):
        write(tmp_path / "nowhere" / "file", b"x")


def test_a_home_serves_one_process_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    other = pytest.raises(ExchangeError, match="another process uses the home")
    with locked(tmp_path / "home"), other, locked(tmp_path / "home"):
        pass
    with locked(tmp_path / "home"):
        pass


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("home.json", "{", r"home\.json is damaged"),
        ("home.json", None, "is not the home of a party"),
        ("signing.key", "00", r"signing\.key is damaged"),
        ("signing.key", None, "has lost its signing key"),
        ("ledger.json", "[]", r"the ledger .* is damaged"),
        ("plan-*/plan.json", None, "has lost its plan"),
        ("plan-*/plan.json", "{}", "not a plan of sites"),
        ("plan-*/log.jsonl", "{}\n", "a line of the log is damaged"),
    ],
)
def test_a_damaged_home_is_told(
    parties: Parties, file: str, content: str | None, sentence: str
) -> None:
    (path,) = (parties.folder / "A").glob(file)
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(scv.errors.StatcvError, match=sentence):
        parties.step("A")


def test_a_changed_log_is_found_out(parties: Parties) -> None:
    home = parties.home("A")
    entries = home.entries()
    assert sites.verify(agreed(), entries, DATA["A"], "A").passed
    home.keep_entries([entries[0], entries[2]])
    found = sites.verify(agreed(), home.entries(), DATA["A"], "A")
    assert not found.passed
    held = json.loads(home.log.read_text().splitlines()[0])
    assert set(held) == {"received", "sent", "chain"}


# ---- the package cryptography ----


def test_no_module_needs_cryptography_to_be_imported() -> None:
    """It is imported inside functions, for signatures and certificates alone."""
    users = set()
    for path in Path(scv.__file__).parent.rglob("*.py"):
        if path.parent.name == "nvflare":
            continue  # nvflare is imported only where it is installed
        if "cryptography" in path.read_text():
            users.add(path.name)
            for statement in ast.parse(path.read_text()).body:
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    assert "cryptography" not in ast.unparse(statement)
    assert users == {"exchange.py", "federated.py"}


def test_without_cryptography_an_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "cryptography.hazmat.primitives.asymmetric"
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match=r'pip install "statcv\[sites\]"'):
        sites.run(agreed(), DATA, transport=sites.Directory(tmp_path / "exchange"))
