"""Runs over NVFLARE: processes, mutual TLS on loopback, and what a site refuses."""

from __future__ import annotations

import datetime
import importlib
import json
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.errors import ArgumentError, MissingPackageError, SiteError
from statcv.sites import Entry
from statcv.sites.transports import nvflare as flare

NAMES = ("A", "B", "C")


@pytest.fixture(scope="module")
def at():
    data = scv.load_data("ehr").assign(person=range(2000))
    return {name: data.iloc[i::3] for i, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def plan():
    folds = scv.by_hash("person", key="our secret")
    return sites.agree("y ~ x1 + x2", k=5, stratify=folds, sites=NAMES)


def test_sites_import_no_nvflare():
    code = "import statcv.sites, sys; print('nvflare' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.stdout.strip() == "False"


def test_without_nvflare_an_error_says_what_to_install(plan, at, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nvflare", None)
    with pytest.raises(MissingPackageError, match=r"statcv\[sites\]"):
        sites.run(plan, at, transport=sites.NVFlare(tmp_path))


# ---- the home of a site, without processes ----


def test_a_site_goes_on_from_its_log(plan, at, tmp_path, monkeypatch):
    monkeypatch.setenv("STATCV_KEY", "our secret")
    other = [sites.Site(name, plan, at[name]) for name in "BC"]
    coordinator = sites.Coordinator(plan)
    flare.prepare(tmp_path, "A", plan, at["A"])
    message, sent = coordinator.start(), []
    for _ in range(3):
        sent.append(
            flare.answering(tmp_path).answer(message)
        )  # each time a new process
        message = coordinator.step([sent[-1], *(one.step(message) for one in other)])
    again = flare.answering(tmp_path)
    assert [entry.sent for entry in again.entries] == sent
    assert again.answer(again.entries[1].received) == sent[1]
    log = again.home.log
    entries = [Entry.of_line(line) for line in log.read_text().splitlines()]
    assert sites.verify(plan, entries, at["A"], "A").passed
    for path in (tmp_path / "records.pickle", tmp_path / "ledger.json", log):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_snapshot_has_only_the_columns_that_the_plan_reads(plan, at, tmp_path):
    read = [c for c in at["A"] if c in plan.formula or c in plan.stratify["columns"]]
    flare.prepare(tmp_path, "A", plan, at["A"].assign(address="a street"))
    kept = pd.read_pickle(tmp_path / "records.pickle")
    assert sorted(kept) == sorted(read)
    pd.testing.assert_frame_equal(kept[read], at["A"][read])


def test_a_site_begins_again_after_a_refusal(plan, at, tmp_path, monkeypatch):
    message = sites.Coordinator(plan).start()
    flare.prepare(tmp_path, "A", plan, at["A"])
    monkeypatch.setenv("STATCV_KEY", "another key")
    with pytest.raises(SiteError, match="site A: the key is not the one of the plan"):
        flare.answering(tmp_path).answer(message)
    monkeypatch.setenv("STATCV_KEY", "our secret")
    assert sites.Message.of(flare.answering(tmp_path).answer(message)).kind == "join"


@pytest.mark.filterwarnings("ignore::statcv.errors.PrivacyWarning")
def test_a_site_needs_no_key_for_folds_without_one(at, tmp_path, monkeypatch):
    monkeypatch.delenv("STATCV_KEY", raising=False)
    plan = sites.agree("y ~ x1", k=5, stratify=scv.by_hash("person", key=None))
    flare.prepare(tmp_path, "A", plan, at["A"])
    message = sites.Coordinator(plan).start()
    sent = flare.answering(tmp_path).answer(message)
    assert sites.Message.of(sent).kind == "join"
    assert sent == sites.Site("A", plan, at["A"]).step(message)


def test_a_site_with_other_data_does_not_go_on(plan, at, tmp_path, monkeypatch):
    monkeypatch.setenv("STATCV_KEY", "our secret")
    flare.prepare(tmp_path, "A", plan, at["A"])
    message = sites.Coordinator(plan).start()
    answer = flare.answering(tmp_path).answer(message)
    flare.prepare(tmp_path, "A", plan, at["A"].iloc[1:])
    assert flare.answering(tmp_path).answer(message) == answer  # from the log
    with pytest.raises(SiteError, match="site A: the data have changed since the plan"):
        flare.answering(tmp_path).answer(b"the next message")


def test_a_home_without_records_says_so(plan, at, tmp_path):
    flare.prepare(tmp_path, "A", plan, at["A"])
    flare.clear(tmp_path)
    with pytest.raises(SiteError, match=r"its home has no records\.pickle"):
        flare.answering(tmp_path).answer(sites.Coordinator(plan).start())


# ---- keys and certificates ----


@pytest.fixture(scope="module")
def provisioning():
    pytest.importorskip("nvflare", reason='needs pip install "statcv[sites]"')
    return importlib.import_module("statcv.sites.transports.nvflare.provisioning")


def test_the_key_of_a_site_stays_at_the_site(provisioning, tmp_path):
    home, center = tmp_path / "home", tmp_path / "center"
    provisioning.provision(center, host="localhost", port=1234)
    asked = provisioning.request(home, "north")
    site, answer = provisioning.sign(center, asked)
    assert site == provisioning.install(home, answer) == "north"
    key = (home / "client.key").read_text()
    assert stat.S_IMODE((home / "client.key").stat().st_mode) == 0o600
    assert key.splitlines()[1] not in (asked + answer).decode()
    for path in center.rglob("*"):
        assert path.is_dir() or key.splitlines()[1] not in path.read_text()
    told = json.loads((home / "nvflare/startup/fed_client.json").read_text())
    assert told["servers"][0]["service"]["target"] == "localhost:1234"
    assert told["client"]["connection_security"] == "mtls"
    assert told["require_signed_jobs"] is True


def test_what_a_site_permits(provisioning, tmp_path):
    home, center = tmp_path / "home", tmp_path / "center"
    provisioning.provision(center)
    provisioning.install(
        home, provisioning.sign(center, provisioning.request(home, "A"))[1]
    )
    local = home / "nvflare" / "local"
    resources = json.loads((local / "resources.json").read_text())
    assert resources["class_allow_list"] == [
        "statcv.sites.transports.nvflare.controller.SitesController",
        "statcv.sites.transports.nvflare.executor.SiteExecutor",
    ]
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert resources["allow_log_streaming"] is False
    assert resources["client"]["site_config"] == {"allow_log_streaming": False}
    assert not [one for one in resources["components"] if "log" in one["id"]]
    assert str(tmp_path) not in (local / "resources.json").read_text()  # no path
    permitted = json.loads((local / "authorization.json").read_text())["permissions"]
    assert list(permitted) == ["project_admin"]
    for right in ("byoc", "shell_commands", "operate"):
        assert permitted["project_admin"][right] == "none"


def test_an_answer_for_another_key_is_refused(provisioning, tmp_path):
    provisioning.provision(tmp_path / "center")
    asked = provisioning.request(tmp_path / "home", "A")
    provisioning.request(tmp_path / "other", "A")
    _, answer = provisioning.sign(tmp_path / "center", asked)
    with pytest.raises(SiteError, match="site A: the certificate is for another key"):
        provisioning.install(tmp_path / "other", answer)


def test_an_answer_of_another_root_is_refused(provisioning, tmp_path):
    for name in ("one", "two"):
        provisioning.provision(tmp_path / name)
    asked = provisioning.request(tmp_path / "home", "A")
    answers = [
        json.loads(provisioning.sign(tmp_path / name, asked)[1])
        for name in ("one", "two")
    ]
    mixed = json.dumps({**answers[0], "root": answers[1]["root"]}).encode()
    with pytest.raises(SiteError, match="site A: the root did not sign"):
        provisioning.install(tmp_path / "home", mixed)


@pytest.mark.parametrize("name", ["", "Uppsala Nord", "É", "a/b", "server", "x" * 61])
def test_names_that_no_certificate_carries(provisioning, name, tmp_path):
    with pytest.raises(ArgumentError, match="the name of a site has letters"):
        provisioning.request(tmp_path, name)


@pytest.mark.parametrize("content", [b"", b"{}", b"-----BEGIN", b"[1]"])
def test_damaged_requests_and_answers_are_refused(provisioning, content, tmp_path):
    provisioning.provision(tmp_path / "center")
    provisioning.request(tmp_path / "home", "A")
    with pytest.raises(ArgumentError, match="not a request"):
        provisioning.sign(tmp_path / "center", content)
    with pytest.raises(ArgumentError, match="not an answer"):
        provisioning.install(tmp_path / "home", content)


def test_a_root_and_a_key_are_made_once(provisioning, tmp_path):
    provisioning.provision(tmp_path / "center")
    with pytest.raises(ArgumentError, match="has a root already"):
        provisioning.provision(tmp_path / "center")
    provisioning.request(tmp_path / "home", "A")
    with pytest.raises(ArgumentError, match=r"client\.key exists"):
        provisioning.request(tmp_path / "home", "A")


def test_a_job_has_no_code_and_no_data(plan, tmp_path):

    flare.write_job(tmp_path / "job", plan, NAMES)
    files = [path for path in (tmp_path / "job").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json"}
    text = "".join(path.read_text() for path in files)
    assert "our secret" not in text
    told = [path.name for path in (tmp_path / "job" / "app_site").rglob("*.json")]
    assert told == ["config_fed_client.json"]  # the plan of a site is its own


# ---- processes ----


@pytest.fixture
def nvflare(tmp_path):
    pytest.importorskip("nvflare", reason='needs pip install "statcv[sites]"')
    return sites.NVFlare(tmp_path)


@pytest.mark.slow
def test_a_run_equals_one_in_process_to_the_last_bit(plan, at, nvflare):
    here = sites.InProcess()
    expected = sites.run(plan, at, transport=here)
    found = sites.run(plan, at, transport=nvflare)
    pd.testing.assert_frame_equal(
        found.coefficients, expected.coefficients, check_exact=True
    )
    pd.testing.assert_frame_equal(found.metrics(), expected.metrics(), check_exact=True)
    pd.testing.assert_frame_equal(found.sites, expected.sites)
    assert found.rounds == expected.rounds
    for name in NAMES:
        log = next(nvflare.homes[name].glob("plan-*/log.jsonl"))
        entries = [Entry.of_line(line) for line in log.read_text().splitlines()]
        assert entries == here.sites[name].entries
        assert sites.verify(plan, entries, at[name], name).passed
        assert not (nvflare.homes[name] / "records.pickle").exists()
    everything = [path for path in nvflare.workspace.rglob("*") if path.is_file()]
    assert not [path for path in everything if b"our secret" in path.read_bytes()]
    value = repr(float(at["A"]["x1"].iloc[0]))  # no value of the data in any file
    assert not [path for path in everything if value.encode() in path.read_bytes()]


@pytest.mark.slow
def test_a_site_that_drops_out_is_named_and_the_run_goes_on_later(plan, at, nvflare):
    def drop() -> None:
        while not list(nvflare.homes["B"].glob("plan-*/log.jsonl")):
            time.sleep(0.02)
        for part in processes[1 + NAMES.index("B")].all:
            part.kill()
        dropped.append(time.monotonic())

    dropped: list[float] = []
    kits = nvflare.workspace / "kits"
    with nvflare.started(plan, at) as processes:
        threading.Thread(target=drop).start()
        with pytest.raises(SiteError, match=r"site B dropped out; the run goes on"):
            flare.run_plan(
                kits / "coordinator",
                plan,
                NAMES,
                nvflare.workspace,
                processes,
                server=kits / "server",
            )
        assert time.monotonic() - dropped[0] < 30
    log = next(nvflare.homes["B"].glob("plan-*/log.jsonl"))
    before = log.read_text()
    found = sites.run(plan, at, transport=nvflare)
    assert log.read_text().startswith(before)
    expected = sites.run(plan, at)
    assert (found.coefficients == expected.coefficients).all(axis=None)


@pytest.mark.slow
def test_a_site_that_refuses_is_named(at, nvflare):
    few = {**at, "C": at["C"].iloc[:40]}
    plan = sites.agree("y ~ x1 + x2", k=5, sites=NAMES)
    with pytest.raises(SiteError, match="site C refuses: fold 1 holds out fewer than"):
        sites.run(plan, few, transport=nvflare)


@pytest.mark.slow
def test_sites_refuse_code_and_other_classes(plan, at, nvflare):
    place = nvflare.workspace

    def run(job: Path) -> None:
        flare.run_job(place / "kits/coordinator", job, NAMES, processes)

    def refusals() -> int:
        """Return how many jobs every site has refused for their classes."""
        type_ = "Exception Type: <class 'nvflare.fuel.common.excepts.ComponentNot"
        logs = [nvflare.homes[name] / "nvflare/error_log.txt" for name in NAMES]
        places = [log.parent.glob("*/error_log.txt") for log in logs]
        return min(sum(type_ in p.read_text() for p in paths) for paths in places)

    with nvflare.started(plan, at) as processes:
        # Code in the job: `custom` is where NVFLARE looks for it.
        job = place / "code"
        flare.write_job(job, plan, NAMES)
        custom = job / "app_site" / "custom"
        custom.mkdir()
        ran = place / "ran"
        (custom / "more.py").write_text(f"open({str(ran)!r}, 'w')\n")
        with pytest.raises(SiteError, match=r"site [ABC] refuses the job: .*BYOC"):
            run(job)
        # A class of NVFLARE that is not one of the two.
        job = place / "other"
        flare.write_job(job, plan, NAMES)
        path = job / "app_site" / "config" / "config_fed_client.json"
        told = json.loads(path.read_text())
        other = "nvflare.app_common.np.np_trainer.NPTrainer"
        told["executors"][0]["executor"] = {"path": other, "args": {}}
        path.write_text(json.dumps(told))
        with pytest.raises(SiteError, match="did not begin, or refuses the job"):
            run(job)
        assert refusals() == 1
        # By name, for which there is no list.
        told["executors"][0]["executor"] = {"name": "NPTrainer", "args": {}}
        path.write_text(json.dumps(told))
        with pytest.raises(SiteError, match="did not begin, or refuses the job"):
            run(job)
        assert refusals() == 2
        assert not list(place.rglob("log.jsonl"))  # no site has answered anything
    assert not ran.exists()


@pytest.mark.slow
def test_the_server_refuses_expired_and_foreign_certificates(
    provisioning, tmp_path, monkeypatch
):
    now = provisioning._now
    port = free_port()
    provisioning.provision(tmp_path / "center", port=port)
    provisioning.provision(tmp_path / "foreign", port=port)
    for name in ("valid", "expired", "foreign"):
        asked = provisioning.request(tmp_path / name, name)
        center = tmp_path / ("foreign" if name == "foreign" else "center")
        if name == "expired":
            past = now() - datetime.timedelta(days=provisioning.DAYS + 1)
            monkeypatch.setattr(provisioning, "_now", lambda past=past: past)
        answer = provisioning.sign(center, asked)[1]
        monkeypatch.setattr(provisioning, "_now", now)
        provisioning.install(tmp_path / name, answer)

    def greet(name: str | None) -> str:
        """Return what the server says to whoever has the certificate of a name."""
        context = ssl.create_default_context(
            cafile=str(tmp_path / "center/root/rootCA.pem")
        )
        if name:
            kit = tmp_path / name / "nvflare" / "startup"
            context.load_cert_chain(kit / "client.crt", kit / "client.key")
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("localhost", port), 10) as one:
            try:
                with context.wrap_socket(one, server_hostname="localhost") as made:
                    return "greeted" if made.recv(1) else "closed"
            except OSError as error:
                return str(error)

    server = flare.start_server(tmp_path / "center" / "server")
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                said = greet("valid")
                break
            except ConnectionRefusedError:
                time.sleep(0.2)
        assert said == "greeted"
        for name in ("expired", "foreign", None):
            assert greet(name) != "greeted"
    finally:
        flare.stop([server])
    home = tmp_path / "expired"
    sites.transports.Home.make(home, "expired", sites.agree("y ~ x"), {})
    with pytest.raises(SiteError, match="certificate of site expired is valid from"):
        flare.start_client(home)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


# ---- the commands ----


@pytest.mark.slow
def test_commands_run_a_plan_at_sites_apart(provisioning, at, tmp_path, monkeypatch):
    monkeypatch.setenv("STATCV_KEY", "our secret")
    plan = sites.agree("y ~ x1 + x2", k=5, stratify="person", sites=NAMES)
    (tmp_path / "plan.json").write_text(plan.to_json())
    command = [sys.executable, "-m", "statcv.cli.main", "sites"]

    def start(*words: str) -> subprocess.Popen:
        made = subprocess.Popen(
            [*command, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(made)
        return made

    def say(*words: str) -> str:
        made = start(*words)
        told, _ = made.communicate(timeout=200)
        assert made.returncode == 0, told
        return told

    started: list[subprocess.Popen] = []
    try:
        say("provision", "center", "--port", str(free_port()))
        server = start("server", "center")
        clients = []
        for name in NAMES:
            at[name].to_csv(tmp_path / f"{name}.csv", index=False)
            asked = say("request", name, name, "--out", f"{name}.request")
            told = say("sign", "center", f"{name}.request", "--out", f"{name}.answer")
            assert asked.rpartition(": ")[2] == told.rpartition(": ")[2]
            words = (name, "plan.json", f"{name}.csv", "--answer", f"{name}.answer")
            clients.append(start("client", *words))
        summary = say("run", "center", "plan.json", "--out", "results")
        assert str(sites.run(plan, at).estimate()) in summary
        for one in [*clients, server]:
            one.terminate()
            one.communicate(timeout=30)
            assert one.returncode == 130
        assert not list(tmp_path.rglob("records.pickle"))
    finally:
        for one in started:
            one.kill()


@pytest.mark.slow
def test_a_site_checks_its_records_before_it_connects(
    provisioning, at, tmp_path, monkeypatch, capsys
):
    from statcv.cli.main import main

    monkeypatch.chdir(tmp_path)
    at["A"].iloc[:40].to_csv("few.csv", index=False)
    plan = sites.agree("y ~ x1 + x2", k=5, sites=NAMES)
    Path("plan.json").write_text(plan.to_json())
    provisioning.provision(Path("center"))
    assert main(["sites", "client", "home", "plan.json", "few.csv"]) == 2
    assert "home has no certificate" in capsys.readouterr().err
    assert main(["sites", "request", "A", "home", "--out", "A.request"]) == 0
    assert main(["sites", "sign", "center", "A.request", "--out", "A.answer"]) == 0
    words = ["home", "plan.json", "few.csv", "--answer", "A.answer"]
    assert main(["sites", "client", *words]) == 2
    assert "site A: fold 1 holds out fewer than 5" in capsys.readouterr().err
    assert not list(tmp_path.rglob("records.pickle"))
