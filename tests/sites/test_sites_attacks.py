"""Attacks on the records of a site: each is refused, and its answer is in the log."""

import hashlib
import json

import numpy as np
import pytest
from hospitals import agreed, hospitals, run_sites, why

import statcv as scv
from statcv import sites
from statcv.errors import SiteError
from statcv.sites.messages import Message
from statcv.sites.site import Site

SECRET = "Zanzibar"


def join(plan, data, ledger=None, name="A"):
    """Let a site join, and return why it refuses."""
    site = Site(name, plan, data, ledger or sites.Ledger())
    answer = site.step(sites.Coordinator(plan).start())
    assert [entry.sent for entry in site.entries] == [answer]  # it is in the log
    return why(answer)


def used_ledger(plan):
    """Return the ledger of site A after a run."""
    ledger = sites.Ledger()
    run_sites(plan, hospitals(), {"A": ledger})
    return sites.Ledger.from_json(ledger.to_json())


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"k": 4},
        {"formula": "y ~ x0 + x1"},
        {"cell": 4},
        {"model": "ridge"},
    ],
)
def test_differences_of_plans(change):
    """1 to 3: a second plan, by seed, number of folds or formula."""
    ledger = used_ledger(agreed())
    second = agreed(**change)
    assert "answered another plan" in join(second, hospitals()["A"], ledger)
    ledger.permit(second)
    assert not join(second, hospitals()["A"], ledger)


def test_too_few_records():
    """4: fewer records than the minimum behind a number."""
    few = hospitals()["A"].head(40)
    assert "fewer than 5 records of one class" in join(agreed(), few)
    assert "fewer than 5 records" in join(
        agreed("z ~ x0", model="linear", levels=None), few.head(20)
    )


def test_saturated_designs():
    """5: as many coefficients as records."""
    data = hospitals()["A"]
    wide = "y ~ x0 + " + " + ".join(f"I(x0 ** {j})" for j in range(2, 45))
    assert "fewer records than there are coefficients" in join(
        agreed(wide, levels=None), data.head(220)
    )
    many = "y ~ " + " + ".join(f"I(x0 * {j} + x1 ** {j})" for j in range(1, 46))
    one = agreed(many, levels=None, k=2, stratify=None)
    assert "3 records for each of 46 coefficients" in join(one, data.head(240))


def test_indicators_of_one_person():
    """6: a column, level or interaction that singles out a few."""
    data = hospitals()["A"]
    data["victim"] = (np.arange(len(data)) == 7).astype(float)
    assert "'victim' has one value in all but" in join(
        agreed("y ~ x0 + victim", levels=None), data
    )
    youngest = data["age"].nsmallest(3).max()
    formula = f"y ~ x0 + I(1.0 * (age <= {youngest + 1e-9}))"
    assert "single them out" in join(agreed(formula, levels=None), data)
    data["ward"] = np.where(np.arange(len(data)) < 4, "x", "y")
    one = agreed("y ~ ward", levels={"ward": ["x", "y"]})
    assert "1 of 2 levels of 'ward'" in join(one, data)


def test_changed_data():
    """7: the same plan again, on data that lack a record."""
    plan = agreed()
    ledger = used_ledger(plan)
    assert not join(plan, hospitals()["A"], ledger)
    changed = hospitals()["A"].drop(index=3)
    assert "the data have changed" in join(plan, changed, ledger)
    recoded = hospitals()["A"]
    recoded.loc[0, "x0"] += 1
    assert "the data have changed" in join(plan, recoded, ledger)


def test_another_fingerprint():
    """8: a message of a plan that the site has not signed."""
    site = Site("A", agreed(), hospitals()["A"])
    answer = site.step(sites.Coordinator(agreed(k=4)).start())
    assert "another plan than the one that this site signed" in why(answer)
    assert site.progress.round == 0


def test_a_site_drops_out_and_the_run_is_repeated():
    """9: the difference of two runs would be what the absent site sent."""
    plan, data = agreed(), hospitals()
    data["D"] = hospitals()["C"].assign(x0=lambda one: one["x0"] + 0.1)
    ledgers = {name: sites.Ledger() for name in data}
    run_sites(plan, data, ledgers)
    del data["D"]
    with pytest.raises(SiteError, match="begun with other sites"):
        run_sites(plan, data, ledgers)
    with pytest.raises(SiteError, match="at least 3 must"):
        run_sites(plan, {"A": data["A"], "B": data["B"]})


def test_a_site_drops_out_in_the_middle():
    plan, data = agreed(), hospitals()
    made = {name: Site(name, plan, one) for name, one in data.items()}
    coordinator = sites.Coordinator(plan)
    message = coordinator.step([s.step(coordinator.start()) for s in made.values()])
    answers = {name: site.step(message) for name, site in made.items()}
    with pytest.raises(SiteError, match="no answer of site C"):
        coordinator.step([answers["A"], answers["B"]])
    with pytest.raises(SiteError, match="two answers come from site A"):
        coordinator.step([answers["A"], answers["A"], answers["B"]])
    assert coordinator.step(list(answers.values()))  # it goes on when C is back


def begun():
    """Return a coordinator and sites after the first message."""
    plan, data = agreed(), hospitals()
    made = {name: Site(name, plan, one) for name, one in data.items()}
    coordinator = sites.Coordinator(plan)
    replies = [site.step(coordinator.start()) for site in made.values()]
    return coordinator, made, coordinator.step(replies)


def changed(message, header=None, kind=None, **arrays):
    """Return a message with some parts replaced."""
    one = Message.of(message)
    return bytes(
        Message(
            kind or one.kind, {**one.header, **(header or {})}, {**one.arrays, **arrays}
        )
    )


def test_forged_messages():
    """10: sums that a site's own cannot be part of, and questions out of turn."""
    coordinator, made, message = begun()
    one = Message.of(message)
    small = one.arrays["by_class"] * 0 + 1.0
    few = dict(list(one.header["sites"].items())[:2])
    forged = {
        "cannot include what this site sent": changed(message, by_class=small),
        "sums do not include": changed(message, {"answers": {"A": "0" * 64}}),
        "at least 3 must": changed(message, {"sites": few}),
        "out of turn": changed(message, {"round": 5}),
        "asks for 'vary'": changed(message, kind="vary"),
        "is missing": bytes(Message("fit", one.header, {})),
        "not a message": message[10:],
        "longer than its arrays": message + b"x",
    }
    for match, sent in forged.items():
        assert match in why(made["A"].step(sent))
    answers = [site.step(message) for site in made.values()]  # none of it did any harm
    following = coordinator.step(answers)
    information = Message.of(following).arrays["information"]
    assert "published information cannot" in why(
        made["A"].step(changed(following, information=information * 0.1))
    )
    likelihood = Message.of(following).arrays["likelihood"]
    assert "'likelihood' cannot include" in why(
        made["A"].step(changed(following, likelihood=likelihood * 0.1))
    )
    assert not why(made["A"].step(following))


def test_chosen_coefficients_show_when_logs_are_compared():
    """10: sums that are possible, but not the sums of what was sent."""
    plan, data = agreed(), hospitals()
    made = {name: Site(name, plan, one) for name, one in data.items()}
    coordinator = sites.Coordinator(plan)
    message, number = coordinator.start(), 0
    while not coordinator.ended:
        number += 1
        if number == 3:
            gradient = Message.of(message).arrays["gradient"]
            message = changed(message, gradient=gradient + 40.0)
        replies = [site.step(message) for site in made.values()]
        if any(map(why, replies)):
            break
        if number == 3:
            break
        message = coordinator.step(replies)
    logs = {name: site.entries for name, site in made.items()}
    with pytest.raises(SiteError, match="does not publish the sums"):
        sites.audit_logs(plan, logs)
    _, honest = run_sites(plan, data)
    rounds = sites.audit_logs(plan, {name: one.entries for name, one in honest.items()})
    assert rounds == len(honest["A"].entries) - 1


def test_logs_that_are_missing_or_short():
    plan = agreed()
    _, honest = run_sites(plan, hospitals())
    logs = {name: one.entries for name, one in honest.items()}
    with pytest.raises(SiteError, match="all logs are needed"):
        sites.audit_logs(plan, {name: logs[name] for name in "BC"})
    with pytest.raises(SiteError, match="the log of site B has 2 answers"):
        sites.audit_logs(plan, logs | {"B": logs["B"][:2]})


def test_replayed_messages():
    """11: an old message has its old answer, or none."""
    coordinator, made, first = begun()
    answers = [site.step(first) for site in made.values()]
    second = coordinator.step(answers)
    made["A"].step(second)
    assert made["A"].step(first) == answers[0]
    altered = changed(first, by_class=Message.of(first).arrays["by_class"] + 1.0)
    assert "out of turn, or replayed" in why(made["A"].step(altered))
    for one in (answers[1], sites.Coordinator(agreed()).start() + b""):
        made["A"].step(one)
    assert made["A"].progress.round == 2


def test_values_in_error_texts():
    """12: no text that a site sends or logs holds a value of the data."""
    base = hospitals()["A"]
    number = "271828.18"
    awkward = {
        "a level": base.assign(sex=[SECRET] * len(base)),
        "a number as text": base.assign(x0=[SECRET] * len(base)),
        "an outcome": base.assign(y=[SECRET] * len(base)),
        "an infinite number": base.assign(x0=np.inf),
        "objects": base.assign(x0=[{SECRET: 1}] * len(base)),
        "a duplicate column": None,
        "one level": base.assign(x1=[float(number)] + [1.0] * (len(base) - 1)),
        "an identifier": base.assign(person=[[SECRET]] * len(base)),
        "a missing identifier": base.assign(person=None),
        "names": base.rename(columns={"x2": SECRET}),
    }
    twice = base.copy()
    twice.columns = [SECRET if name == "age" else name for name in twice.columns]
    awkward["a duplicate column"] = twice.assign(**{"x2": SECRET})
    for what, data in awkward.items():
        site = Site("A", agreed(), data)
        answer = site.step(sites.Coordinator(agreed()).start())
        assert why(answer), what
        for text in (answer, *(entry.to_line().encode() for entry in site.entries)):
            assert SECRET.encode() not in text, what
            assert number.encode() not in text, what


def test_a_formula_that_fails_on_values_shows_none():
    data = hospitals()["A"]
    data["x0"] = data["x0"].astype(object)
    data.loc[3, "x0"] = SECRET
    assert SECRET not in join(agreed("y ~ np.log(x0)", levels=None), data)


def test_a_site_that_the_plan_does_not_name():
    plan = agreed(sites=["A", "B", "C"])
    assert "does not name this site" in join(plan, hospitals()["A"], name="E")
    with pytest.raises(SiteError, match="no answer of site C"):
        run_sites(plan, {name: hospitals()[name] for name in "AB"})


def test_another_key_and_missing_columns(monkeypatch):
    plan = sites.SitesPlan.from_json(agreed().to_json())
    data = hospitals()["A"]
    monkeypatch.delenv("STATCV_KEY", raising=False)
    assert "no key in the environment" in join(plan, data)
    monkeypatch.setenv("STATCV_KEY", "another")
    assert "not the one of the plan" in join(plan, data)
    assert "column 'x1' is missing" in join(agreed(), data.drop(columns="x1"))
    assert "column 'person' is missing" in join(agreed(), data.drop(columns="person"))
    assert "level that the plan does not list" in join(agreed(), data.assign(sex="d"))


def test_the_budget_of_rounds():
    plan = agreed(rounds=5)
    with pytest.raises(SiteError, match="budget of 5 rounds is spent"):
        run_sites(plan, hospitals())


# ---- the log ----


def test_every_byte_is_recomputed():
    plan, data = agreed(), hospitals()
    _, made = run_sites(plan, data)
    for name, site in made.items():
        lines = [entry.to_line() for entry in site.entries]
        log = [sites.Entry.of_line(line) for line in lines]
        found = sites.verify(plan, log, data[name], name)
        assert found.passed
        assert found.sent == found.recomputed == sum(len(e.sent) for e in site.entries)
        assert "(100%); the log is whole" in found.sentence


def test_a_changed_log_or_other_data_do_not_pass():
    plan, data = agreed(), hospitals()
    _, made = run_sites(plan, data)
    log = made["A"].entries
    other = data["A"].copy()
    other.loc[5, "x0"] += 1e-3
    assert not sites.verify(plan, log, other, "A").passed
    assert not sites.verify(plan, log[:3] + log[4:], data["A"], "A").whole
    held = json.loads(log[2].to_line())
    held["sent"] = json.loads(log[3].to_line())["sent"]
    forged = sites.Entry.of_line(json.dumps(held))
    found = sites.verify(plan, [*log[:2], forged, *log[3:]], data["A"], "A")
    assert not found.whole
    assert not found.passed
    with pytest.raises(SiteError, match="damaged"):
        sites.Entry.of_line("{}")


def test_a_run_resumes_from_the_log():
    plan, data = agreed(), hospitals()
    coordinator, made, message = begun()
    for _ in range(3):
        message = coordinator.step([site.step(message) for site in made.values()])
    again = Site("A", plan, data["A"])
    for entry in made["A"].entries:
        assert again.step(entry.received) == entry.sent
    assert again.step(message) == made["A"].step(message)


def test_what_leaves_is_on_the_sheet():
    """Every array of every answer, with no more numbers than the sheet says."""
    for more in (
        {},
        {"model": "firth"},
        {"formula": "z ~ x0 + sex", "model": "linear"},
    ):
        plan = agreed(**more)
        sheet = sites.disclosure_sheet(plan).set_index("array")
        _, made = run_sites(plan, hospitals())
        seen = {"checksum", "rows"}
        for entry in made["A"].entries:
            answer = Message.of(entry.sent)
            told = set(answer.header) - {"site", "plan", "round"}
            assert told <= {"checksum", "rows"}
            for name, array in answer.arrays.items():
                seen.add(name)
                assert array.size <= sheet.loc[name, "numbers"], name
        assert seen == set(sheet.index)


def test_small_counts_do_not_leave():
    plan, data = agreed(), hospitals()
    _, made = run_sites(plan, data)
    for site in made.values():
        for entry in site.entries:
            for name, array in Message.of(entry.sent).arrays.items():
                if name in ("cell_counts", "by_class", "trained"):
                    assert ((array == 0) | (array >= plan.cell)).all()


def test_the_key_never_leaves():
    key = b"a key that the tests share"
    plan, data = agreed(), hospitals()
    coordinator, made = run_sites(plan, data)
    for site in made.values():
        for entry in site.entries:
            assert key not in entry.sent
            assert hashlib.sha256(key).hexdigest().encode() not in entry.sent
    assert coordinator.ended
    assert scv.by_hash("person", key=key.decode()).key.trace == plan.key_name
