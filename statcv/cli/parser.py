"""The subcommands and options of the command `statcv`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import statcv
from statcv.cli.sites_nvflare import add_commands
from statcv.cli.sites_trees import add_command, add_to_agree, add_to_step
from statcv.results.styles import STYLES

Run = Callable[[argparse.Namespace], None]
WORDS = {"True": True, "False": False, "None": None}
EXAMPLES = """\
examples:
  statcv cv "GRADE ~ GPA + TUCE + PSI" spector --scheme rloocv --seed 1
  statcv cv "y ~ x1 * x2 + np.log1p(x3**2)" ehr -k 5 --repeats 4 --out results
  statcv report "GRADE ~ GPA + TUCE" spector --style tripod+ai --out report.html
  statcv evaluate held.csv --observed y --predicted p --fold fold --cluster id
  statcv compare "GRADE ~ GPA + TUCE" spector --schemes loocv,rloocv --seed 1
  statcv compare "y ~ x1 + x2 + x3" ehr --models logit,xgboost -k 5 --seed 1
  statcv folds visits.csv -k 5 --stratify patient --by hash --out folds.csv
  statcv folds visits.csv --stratify age --thresholds 35.5,56
  statcv folds --plan folds.csv --sql duckdb
  statcv data spector --out spector.csv
  statcv sites --help

Formulas may call patsy's functions, poly(), bs(), and numpy as np. DATA is a
data set that `statcv data` lists, or a .csv, .csv.gz, .tsv, .tsv.gz or .parquet
file; an unnamed first column of a text file holds the row labels. Identifiers
are text as it is written; only empty cells and NA are missing unless --missing
says otherwise. In Python, read_table() reads a file in the same way.
Exit codes: 0; 2 for wrong input, with a line that says why; 130 if interrupted.
"""


SITES_EXAMPLES = """\
examples, with the key that all sites agreed on in STATCV_KEY:
  statcv sites agree "ill ~ age + sex" -k 5 --levels sex=f,m \\
      --by-hash patient_id --sites A,B,C --out plan.json
  statcv sites disclose plan.json
  statcv sites coordinate plan.json exchange --home coordinator
  statcv sites join plan.json visits.csv --site A --home home_of_A
  statcv sites step exchange --home home_of_A
  statcv sites result exchange --home coordinator --out results
  statcv sites verify home_of_A/plan-*/log.jsonl visits.csv
  statcv sites audit log_of_A.jsonl log_of_B.jsonl log_of_C.jsonl --plan plan.json

Each party keeps a home, with its private key, which it shows nobody, and moves
files to and from the directory of the exchange, unless that is a share. A site's
step answers the newest message, and the coordinator's step adds up the answers.
Trees (--model trees) are grown in one step that all sites take at the same time,
with --trees and --certificates, while `statcv sites trees` runs XGBoost's server.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def make_parser(commands: Mapping[str, Run]) -> argparse.ArgumentParser:
    """Return the parser, which sets the function of each command."""
    parser = _Parser(
        prog="statcv",
        description="Cross-validation for statisticians.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    version = f"statcv {statcv.__version__}"
    parser.add_argument("--version", action="version", version=version)
    added = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, text: str) -> Any:
        return _add_command(added, name, text, commands[name])

    add = command("cv", "cross-validate one model")
    _add_call(add)
    permuted = "test of no skill by N permutations, each of them refitted"
    add("--test", type=int, metavar="N", help=permuted)
    leaning = "estimate the bias of rank metrics without skill, by N permutations"
    add("--null-bias", type=int, metavar="N", help=leaning)
    kept = "directory that keeps the fits; the same command resumes from them"
    add("--checkpoint", type=Path, metavar="DIR", help=kept)
    add = command("report", "cross-validate one model, and write a report")
    _add_call(add, out=False)
    add("--out", type=Path, required=True, metavar="FILE", help="such as out.html")
    add("--style", choices=STYLES, help="reporting guideline")
    add("--by", metavar="COLUMN", help="clusters whose estimates are reported")
    add("--checkpoint", type=Path, metavar="DIR", help=kept)
    _add_evaluate(command("evaluate", "evaluate predictions of other software"))
    add = command("compare", "compare schemes or models on the same rows")
    _add_call(add)
    add("--schemes", type=_names, metavar="A,B", help="schemes to compare")
    add("--models", type=_names, metavar="A,B", help="models to compare")
    add = command("folds", "say who is held out, and what the folds leak")
    which = "name of a data set (statcv data), or a file; optional with --sql"
    add("data", nargs="?", metavar="DATA", help=which)
    _add_reading(add)
    add("--outcome", metavar="FORMULA", help="the outcome, or a whole formula")
    _add_folds(add)
    by = "quantile bins, a hash keyed by STATCV_KEY, or whole values of --stratify"
    add("--by", choices=("quantile", "hash", "value"), help=by)
    add("--per-fold", type=int, metavar="M", help="quantile bins per fold (1)")
    agreed = "numbers or dates between the bins of --stratify, agreed between sites"
    add("--thresholds", type=_names, metavar="A,B", help=agreed)
    other = "a plan by quantile bins that --out wrote: use its thresholds and folds"
    add("--plan", metavar="FILE", help=other)
    dialects = ("duckdb", "sqlite", "postgresql")
    add("--sql", choices=dialects, help="print only the folds, as an SQL expression")
    same = "columns whose equal values mean the same record, for the audit"
    add("--duplicates", type=_names, metavar="A,B", help=same)
    add("--out", type=Path, metavar="FILE.csv", help="write the plan there")
    add = command("data", "list data sets, describe one, or write it to a file")
    add("name", nargs="?", metavar="NAME", help="a data set or a file")
    _add_reading(add)
    add("--fetch", action="store_true", help="download it, once")
    add("--out", type=Path, metavar="FILE.csv", help="write it there")
    _add_sites(added, commands)
    return parser


def _add_command(added: Any, name: str, text: str, run: Run) -> Any:
    """Add a command, and return what adds its arguments."""
    sentence = f"{text[0].upper()}{text[1:]}."
    made = added.add_parser(name, help=text, description=sentence, allow_abbrev=False)
    made.set_defaults(run=run)
    return made.add_argument


def _add_sites(added: Any, commands: Mapping[str, Run]) -> None:
    """Add the commands of a cross-validation over sites."""
    text = "cross-validate over sites that share no records"
    sites = added.add_parser(
        "sites",
        help=text,
        description=f"{text.capitalize()}.",
        epilog=SITES_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    steps = sites.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, text: str) -> Any:
        return _add_command(steps, name, text, commands[f"sites {name}"])

    def plan(add: Any) -> None:
        add("plan", type=Path, metavar="PLAN", help="the file that agree wrote")

    def exchange(add: Any) -> None:
        add("exchange", type=Path, metavar="EXCHANGE", help="directory of the files")

    def home(add: Any) -> None:
        text = "private directory of the party"
        add("--home", type=Path, required=True, metavar="DIR", help=text)

    _add_agree(command("agree", "make the plan of all sites, before data are read"))
    add = command("disclose", "print every number that will leave a site")
    plan(add)
    add("--out", type=Path, metavar="FILE.csv", help="write the sheet there")
    add = command("coordinate", "make the home of the coordinator, and its first step")
    plan(add)
    exchange(add)
    home(add)
    add("--sites", type=_names, metavar="A,B,C", help="sites, unless the plan has them")
    add = command("join", "make the home of a site, if its data suit the plan")
    plan(add)
    add("data", metavar="DATA", help="file of the site's records")
    _add_reading(add)
    add("--site", required=True, metavar="NAME", help="name of the site")
    home(add)
    known = "the coordinator's public key; the first that is seen, unless given"
    add("--coordinator", type=Path, metavar="FILE", help=known)
    second = "permit a plan besides one that these data have answered"
    add("--permit-another-plan", action="store_true", help=second)
    add = command("step", "do whatever is the party's turn, or say whom it waits for")
    exchange(add)
    home(add)
    often = "repeat until the run has ended, looking every so many seconds (2)"
    waits = {"nargs": "?", "type": float, "const": 2.0, "metavar": "SECONDS"}
    add("--wait", **waits, help=often)
    add_to_step(add)
    add = command("result", "print the result at the coordinator")
    exchange(add)
    home(add)
    add("--level", type=_level, default=0.95, help="level of the intervals (0.95)")
    add("--out", type=Path, metavar="DIR", help="write tables and a picture there")
    add = command("verify", "compute again every byte that a site has sent")
    add("log", type=Path, metavar="LOG", help="log.jsonl in the home of the site")
    add("data", metavar="DATA", help="file of the site's records")
    _add_reading(add)
    beside = "the plan; the file plan.json beside the log unless given"
    add("--plan", type=Path, metavar="FILE", help=beside)
    add = command("audit", "check that what was published are the sums of the sites")
    add("logs", type=Path, nargs="+", metavar="LOG", help="the log of each site")
    beside = "the plan; the file plan.json beside the first log unless given"
    add("--plan", type=Path, metavar="FILE", help=beside)
    add_commands(steps, _add_reading)
    add_command(steps)


def _add_agree(add: Any) -> None:
    """Add the arguments of :func:`statcv.sites.agree`."""
    add("formula", metavar="FORMULA", help='such as "y ~ age * sex"; quote it')
    add("-k", "--k", type=int, metavar="K", help="number of folds (5)")
    hashed = "columns, such as an identifier, whose keyed hash gives the fold"
    add("--by-hash", type=_names, metavar="A,B", help=hashed)
    cut = "column whose bins between --thresholds give the fold"
    add("--by-quantile", metavar="COLUMN", help=cut)
    add("--thresholds", type=_names, metavar="A,B", help="on which all sites agree")
    add("--per-fold", type=int, metavar="M", help="bins per fold (1)")
    levels = "levels of a column that is not numeric, in order; may be repeated"
    add("--levels", type=_levels, action="append", metavar="NAME=A,B", help=levels)
    names = ("logit", "ridge", "firth", "linear", "trees")
    add("--model", choices=names, help="the model (logit)")
    add_to_agree(add, _values)
    add("--C", type=float, metavar="C", help="inverse strength of a ridge (1)")
    even = "let training sets have equal class counts at each site"
    add("--rebalance", action="store_true", default=None, help=even)
    metrics = "such as auroc,brier; the first is the headline"
    add("--metrics", type=_names, metavar="A,B", help=metrics)
    shares = "probabilities at which the net benefit is stated"
    add("--decisions", type=_names, metavar="A,B", help=shares)
    least = "least number of records behind a count that leaves a site (5)"
    add("--cell", type=int, metavar="N", help=least)
    bins = "bins of the linear predictor in which records are counted (128)"
    add("--bins", type=int, metavar="N", help=bins)
    add("--rounds", type=int, metavar="N", help="budget of rounds (40)")
    permuted = "permutations of the test of no association (199)"
    add("--permutations", type=int, metavar="N", help=permuted)
    add("--sites", type=_names, metavar="A,B,C", help="names of the sites")
    add("--seed", type=int, metavar="N", help="seed of whatever is random (0)")
    add("--out", type=Path, metavar="FILE.json", help="write the plan there")


def _add_call(add: Any, out: bool = True) -> None:
    """Add the options that ``cv`` and ``compare`` share, mostly arguments of cv()."""
    add("formula", metavar="FORMULA", help='such as "y ~ age * sex"; quote it')
    add("data", metavar="DATA", help="name of a data set (statcv data), or a file")
    _add_reading(add)
    add(
        "--model",
        metavar="NAME",
        help="logit, linear, neighbors, xgboost, mean, negmean",
    )
    tuned = "values to choose from in every training set; may be repeated"
    add("--tune", type=_values, action="append", metavar="NAME=A,B", help=tuned)
    _add_folds(add)
    new = {"choices": ("mean", "omit", "error"), "default": "mean"}
    add("--new-levels", **new, help="levels that a training set lacks (mean)")
    metrics = "such as auroc,brier; the first is the headline, and is compared"
    add("--metrics", type=_names, metavar="A,B", help=metrics)
    cut = "a number, or youden, f1, accuracy or prevalence of each training set"
    add("--threshold", type=_threshold, metavar="T", help=cut)
    add("--weights", metavar="COLUMN", help="weights of the rows in the fits")
    add("--jobs", dest="n_jobs", type=int, metavar="N", help="processes; -1: all cores")
    add("--level", type=_level, default=0.95, help="level of the intervals (0.95)")
    quiet = {"dest": "progress", "action": "store_const", "const": False}
    add("--quiet", **quiet, help="show no progress bar")
    if out:
        add("--out", type=Path, metavar="DIR", help="write tables and pictures there")


def _add_evaluate(add: Any) -> None:
    """Add the arguments of :func:`statcv.from_predictions`."""
    add("data", metavar="DATA", help="file with one row per prediction")
    _add_reading(add)
    add("--observed", required=True, metavar="COLUMN", help="the outcome")
    which = "the predictions; of several classes a column each, in their order"
    add("--predicted", type=_names, required=True, metavar="A,B", help=which)
    scores = {"dest": "probabilities", "action": "store_const", "const": False}
    add("--scores", **scores, help="they are scores or a marker, not probabilities")
    fold = "fold in which a record was held out; other records unless given"
    add("--fold", metavar="COLUMN", help=fold)
    add("--repeat", metavar="COLUMN", help="repeat of the folds; needs --row")
    add("--row", metavar="COLUMN", help="record of a prediction")
    cluster = "records of one cluster, such as a patient, have equal values"
    add("--cluster", "--stratify", metavar="COLUMN", help=cluster)
    add("--by", metavar="COLUMN", help="also estimate in groups, such as hospitals")
    cut = "probability at which and above which a record is positive"
    add("--threshold", type=_threshold, metavar="T", help=cut)
    add("--positive", metavar="LEVEL", help="the positive class (the second)")
    metrics = "such as auroc,brier; the first is the headline"
    add("--metrics", type=_names, metavar="A,B", help=metrics)
    add("--level", type=_level, default=0.95, help="level of the intervals (0.95)")
    add("--seed", type=int, metavar="N", help="seed of whatever is random")
    add("--out", type=Path, metavar="DIR", help="write tables and pictures there")


def _add_folds(add: Any) -> None:
    """Add the options that define the folds: the arguments of ``fold_plan()``."""
    schemes = "kfold, stratified_kfold, rkfold, loocv, rloocv, lpocv, rlpocv"
    others = "leave_pair_out, montecarlo, bootstrap, or a column of fold numbers"
    add("--scheme", metavar="NAME", help=f"{schemes}, {others}")
    add("-k", "--k", type=int, metavar="K", help="number of folds (10)")
    add("-p", "--p", type=_number, metavar="P", help="number or share held out")
    sampled = "pairs that leave_pair_out holds out, a balanced sample (all)"
    add("--pairs", type=int, metavar="N", help=sampled)
    together = "columns whose equal values are never split across folds"
    add("--stratify", type=_names, metavar="A,B", help=together)
    evened = "subsample, weight, upsample, all or bag"
    add("--rebalance", metavar="HOW", help=f"even out training sets: {evened}")
    draws = "number of draws of the folds, or of dropped records (1; 20 for rloocv)"
    add("--repeats", type=int, metavar="N", help=draws)
    add("--positive", metavar="LEVEL", help="the positive class (the second)")
    missing = {"choices": ("drop", "raise", "pass"), "default": "drop"}
    add("--na-action", **missing, help="treatment of rows with missing values (drop)")
    add("--seed", type=int, metavar="N", help="seed of the random numbers")


def _add_reading(add: Any) -> None:
    """Add the options of :func:`statcv.read_table`."""
    words = "text that means a missing value, beside empty cells and NA"
    many = {"nargs": "+", "action": "extend", "metavar": "TEXT"}
    add("--missing", **many, help=words)
    default = "separator of the fields (a comma, or a tab in .tsv)"
    add("--sep", metavar="CHARACTER", help=default)
    add("--decimal", choices=(".", ","), help="decimal point of numbers (.)")
    add("--encoding", metavar="NAME", help="such as latin-1 or utf-16 (utf-8)")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _levels(text: str) -> tuple[str, list[Any]]:
    """Return a column and its levels, which are text unless all are numbers."""
    name, levels = _values(text, {"True": True, "False": False})
    if any(isinstance(level, str) for level in levels):
        levels = _names(text.partition("=")[2])
    return name, levels


def _values(text: str, words: Mapping[str, Any] = WORDS) -> tuple[str, list[Any]]:
    """Return a name and its values, as numbers where they can be read as such."""
    name, _, listed = text.partition("=")
    values: list[Any] = []
    for value in _names(listed):
        try:
            values.append(words[value] if value in words else _number(value))
        except argparse.ArgumentTypeError:
            values.append(value)
    if not (name.strip() and values):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=A,B")
    return name.strip(), values


def _number(text: str) -> float:
    """Return an integer, or a share."""
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _threshold(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _level(text: str) -> float:
    try:
        if 0 < float(text) < 1:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
