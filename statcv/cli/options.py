"""The commands and their options, one a line: flags, the value, and what it means.

The name of a value says how it is read: ``N`` is an integer, ``A,B`` are names,
``FILE`` is a path; a sign after it marks a default (``=``), a value that must be given
(``!``), and an argument that may be omitted (``?``) or be several (``+``).
"""

from __future__ import annotations

from statcv.results.styles import STYLES

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


READING = """
--missing TEXT: text that means a missing value, beside empty cells and NA
--sep CHARACTER: separator of the fields (a comma, or a tab in .tsv)
--decimal (.|,): decimal point of numbers (.)
--encoding NAME: such as latin-1 or utf-16 (utf-8)
"""
FOLDS = """
--scheme NAME: kfold, stratified_kfold, rkfold, loocv, rloocv, lpocv, rlpocv, \
leave_pair_out, montecarlo, bootstrap, or a column of fold numbers
-k, --k K: number of folds (10)
-p, --p P: number or share held out
--pairs N: pairs that leave_pair_out holds out, a balanced sample (all)
--stratify A,B: columns whose equal values are never split across folds
--rebalance HOW: even out training sets: subsample, weight, upsample, all or bag
--repeats N: number of draws of the folds, or of dropped records (1; 20 for rloocv)
--positive LEVEL: the positive class (the second)
--horizon TIMES: by which the risk is predicted, for "Surv(time, status) ~ x"
--na-action (drop|raise|pass): treatment of rows with missing values (pass if the \
model accepts them, else drop)
--seed N: seed of the random numbers
"""
LEVEL = "--level LEVEL=0.95: level of the intervals (0.95)\n"
CALL = f"""
formula FORMULA: such as "y ~ age * sex"; quote it
data DATA: name of a data set (statcv data), or a file
{READING}
--model NAME: logit, linear, cox, poisson, negbin, neighbors, xgboost, mean, negmean
--select (backward|forward|both): choose terms by AIC in every training set
--tune NAME=A,B: values to choose from in every training set; may be repeated
{FOLDS}
--new-levels (mean|omit|error)=mean: levels that a training set lacks (mean)
--metrics A,B: such as auroc,brier; the first is the headline, and is compared
--threshold T: a number, or youden, f1, accuracy or prevalence of each training set
--weights COLUMN: weights of the rows in the fits
--exposure COLUMN: exposures of counts, for poisson and negbin
--jobs N: processes; -1: all cores
{LEVEL}
--quiet: show no progress bar
"""
OUT = "--out DIR: write tables and pictures there\n"
KEPT = """
--checkpoint DIR: directory that keeps the fits; the same command resumes from them
"""
COMMANDS = f"""
cv: cross-validate one model
{CALL}
{OUT}
--test N: test of no skill by N permutations, each of them refitted
--null-bias N: estimate the bias of rank metrics without skill, by N permutations
{KEPT}
report: cross-validate one model, and write a report
{CALL}
--out FILE!: such as out.html
--style ({"|".join(STYLES)}): reporting guideline
--by COLUMN: clusters whose estimates are reported
{KEPT}
evaluate: evaluate predictions of other software
data DATA: file with one row per prediction
{READING}
--observed COLUMN!: the outcome
--predicted A,B!: the predictions; of several classes a column each, in their order
--scores: they are scores or a marker, not probabilities
--fold COLUMN: fold in which a record was held out; other records unless given
--repeat COLUMN: repeat of the folds; needs --row
--row COLUMN: record of a prediction
--cluster, --stratify COLUMN: records of one cluster, such as a patient, have equal \
values
--by COLUMN: also estimate in groups, such as hospitals
--threshold T: probability at which and above which a record is positive
--positive LEVEL: the positive class (the second)
--metrics A,B: such as auroc,brier; the first is the headline
{LEVEL}
--seed N: seed of whatever is random
{OUT}
compare: compare schemes or models on the same rows
{CALL}
{OUT}
--schemes A,B: schemes to compare
--models A,B: models to compare
folds: say who is held out, and what the folds leak
data DATA?: name of a data set (statcv data), or a file; optional with --sql
{READING}
--outcome FORMULA: the outcome, or a whole formula
{FOLDS}
--by (quantile|hash|value): quantile bins, a hash keyed by STATCV_KEY, or whole \
values of --stratify
--per-fold M: quantile bins per fold (1)
--thresholds A,B: numbers or dates between the bins of --stratify, agreed between sites
--plan FILE: a plan by quantile bins that --out wrote: use its thresholds and folds
--sql (duckdb|sqlite|postgresql): print only the folds, as an SQL expression
--duplicates A,B: columns whose equal values mean the same record, for the audit
--out FILE.csv: write the plan there
data: list data sets, describe one, or write it to a file
name NAME?: a data set or a file
{READING}
--fetch: download it, once
--out FILE.csv: write it there
"""


# ---- statcv sites ----

PLAN = "plan PLAN: the file that agree wrote"
SIGNED = "plan PLAN: the plan that all sites signed"
EXCHANGE = "exchange EXCHANGE: directory of the files"
HOME = "--home DIR!: private directory of the party"
RECORDS = "data DATA: file of the site's records"
CENTER = "center CENTER: folder of the coordinator"
SITES = "cross-validate over sites that share no records"
SITES_COMMANDS = f"""
agree: make the plan of all sites, before data are read
formula FORMULA: such as "y ~ age * sex"; quote it
-k, --k K: number of folds (5)
--by-hash A,B: columns, such as an identifier, whose keyed hash gives the fold
--by-quantile COLUMN: column whose bins between --thresholds give the fold
--thresholds A,B: on which all sites agree
--per-fold M: bins per fold (1)
--levels NAME=A,B: levels of a column that is not numeric, in order; may be repeated
--model (logit|ridge|firth|linear|trees): the model (logit)
--cuts NAME=1,2,5: values at which trees may split a column; may be repeated
--trees N: number of trees of a fit (100)
--depth N: largest depth of a tree (3)
--learning-rate RATE: of trees (0.3)
--leaf N: least number of records of all sites in a leaf of a tree (20)
--C C: inverse strength of a ridge (1)
--rebalance: let training sets have equal class counts at each site
--metrics A,B: such as auroc,brier; the first is the headline
--decisions A,B: probabilities at which the net benefit is stated
--cell N: least number of records behind a count that leaves a site (5)
--bins N: bins of the linear predictor in which records are counted (128)
--rounds N: budget of rounds (40)
--permutations N: permutations of the test of no association (199)
--sites A,B,C: names of the sites
--seed N: seed of whatever is random (0)
--out FILE.json: write the plan there
disclose: print every number that will leave a site
{PLAN}
--out FILE.csv: write the sheet there
coordinate: make the home of the coordinator, and its first step
{PLAN}
{EXCHANGE}
{HOME}
--sites A,B,C: sites, unless the plan has them
join: make the home of a site, if its data suit the plan
{PLAN}
{RECORDS}
{READING}
--site NAME!: name of the site
{HOME}
--coordinator FILE: the coordinator's public key; the first that is seen, unless given
--permit-another-plan: permit a plan besides one that these data have answered
step: do whatever is the party's turn, or say whom it waits for
{EXCHANGE}
{HOME}
--wait SECONDS: repeat until the run has ended, at this interval (2)
--trees HOST:PORT: XGBoost's server, for the step that grows trees
--certificates DIR: folder with rootCA.pem, client.crt and client.key, for that step
result: print the result at the coordinator
{EXCHANGE}
{HOME}
{LEVEL}
--out DIR: write tables and a picture there
verify: compute again every byte that a site has sent
log LOG: log.jsonl in the home of the site
{RECORDS}
{READING}
--plan FILE: the plan; the file plan.json beside the log unless given
audit: check that what was published are the sums of the sites
logs LOG+: the log of each site
--plan FILE: the plan; the file plan.json beside the first log unless given
provision: make the root and the server's kit
center CENTER: new folder of the coordinator
--host HOST=localhost: name by which sites reach the server (localhost)
--port PORT=8002: the one port it opens (8002)
--days N=90: days for which certificates are valid (90)
request: make the key of a site, and a request for it
site SITE: name of the site, as in the plan
home HOME: folder of the site; the key stays in
--out FILE!: the request, which is sent to the coordinator
sign: answer the request of a site with a certificate
{CENTER}
request REQUEST: what `request` wrote
--out FILE!: the answer, which is sent to the site
server: run the server, until interrupted
{CENTER}
client: take part as a site, until interrupted
home HOME: folder of the site, with its key
plan PLAN: the plan that this site signed
data DATA: records of the site, a file
{READING}
--answer FILE: the answer to the request of the site, the first time
run: run a plan at sites that take part
{CENTER}
{SIGNED}
--sites A,B,C: the sites (those that the plan names)
--out DIR!: folder that keeps the answers of all rounds
trees: run XGBoost's server, by which sites grow trees, until interrupted
{SIGNED}
--certificates DIR!: folder with rootCA.pem, server.crt and server.key
--port PORT=9091: the one port it opens (9091)
--number N: number of sites, unless the plan names them
"""
