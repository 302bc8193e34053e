"""The items of reporting guidelines, in short words of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from statcv.report.methods import WORKS
from statcv.report.parts import Prose, ReportTable, Section, plain_text
from statcv.words import joined

AUTHOR: Final = "for the author"
Items = tuple[tuple[str, str], ...]

TRIPOD: Final[Items] = (
    ("1", "title: development or evaluation, population, outcome"),
    ("2", "abstract, which has a checklist of its own"),
    ("3a", "health context, rationale, and existing models"),
    ("3b", "target population, purpose and intended users"),
    ("3c", "known health inequalities"),
    ("4", "objectives: development, evaluation or both"),
    ("5a", "sources of data, and their representativeness"),
    ("5b", "dates of the data"),
    ("6a", "setting, number and location of centres"),
    ("6b", "eligibility"),
    ("6c", "treatments received"),
    ("7", "preparation of the data and quality checks, alike across groups"),
    ("8a", "outcome and time horizon, how assessed, alike across groups"),
    ("8b", "assessors of a subjective outcome"),
    ("8c", "blinding of the assessment of the outcome"),
    ("9a", "choice of initial predictors, and any selection before the model"),
    ("9b", "predictors, and how and when they are measured"),
    ("9c", "assessors of subjective predictors"),
    ("10", "sample size, and why it is sufficient"),
    ("11", "missing data, and reasons for omitting data"),
    ("12a", "use of the data, and how they are divided"),
    ("12b", "handling of predictors: functional form, transformations"),
    ("12c", "type of model, steps of building and tuning, internal validation"),
    ("12d", "heterogeneity between clusters, and how it is quantified"),
    ("12e", "measures and plots of performance, and comparison of models"),
    ("12f", "updating of the model after evaluation"),
    ("12g", "how the predictions that are evaluated were computed"),
    ("13", "methods for class imbalance, and recalibration after them"),
    ("14", "approaches to fairness"),
    ("15", "output of the model, and how thresholds were chosen"),
    ("16", "differences between training and evaluation data"),
    ("17", "ethical approval and consent"),
    ("18a", "funding"),
    ("18b", "conflicts of interest"),
    ("18c", "protocol"),
    ("18d", "registration"),
    ("18e", "availability of the data"),
    ("18f", "availability of the code of the analysis"),
    ("19", "patient and public involvement"),
    ("20a", "flow of participants, with and without the outcome"),
    ("20b", "characteristics, overall and of each source or group"),
    ("20c", "comparison with the development data"),
    ("21", "participants and events in each analysis"),
    ("22", "full model, so that new individuals can be predicted"),
    ("23a", "performance with intervals, also of key groups"),
    ("23b", "heterogeneity of performance between clusters"),
    ("24", "results of updating"),
    ("25", "interpretation, with fairness"),
    ("26", "limitations"),
    ("27a", "poor or missing input when the model is used"),
    ("27b", "interaction with users, and the expertise that they need"),
    ("27c", "next steps"),
)
CLUSTER: Final[Items] = (
    ("1", "title: development or validation, population, outcome"),
    ("2", "abstract, with the source of the data"),
    ("3a", "medical context, rationale, existing models, merits of the design"),
    ("3b", "objectives: development or validation"),
    ("4a", "eligibility of participants and of data sets"),
    ("4b", "origin of the data, and how they were found and obtained"),
    ("5", "sample size"),
    ("6a", "outcome, and how and when it is assessed"),
    ("6b", "predictors, and how and when they are measured"),
    ("7a", "preparation: cleaning, harmonisation, linkage, checks"),
    ("7b", "how risk of bias is assessed in the single clusters"),
    ("7c", "differences in definitions from the development data"),
    ("7d", "missing data"),
    ("8a", "handling of predictors"),
    ("8b", "type of model, steps of building, method of validation"),
    ("8c", "heterogeneity of the parameters between clusters"),
    ("8d", "how predictions were computed"),
    ("8e", "measures of performance, and comparison of models"),
    ("8f", "how heterogeneity of performance is quantified"),
    ("8g", "updating of the model"),
    ("9", "planned analyses of subgroups and of sensitivity"),
    ("10a", "clusters and participants, from found to analysed"),
    ("10b", "characteristics, overall and of each source"),
    ("10c", "comparison with the development data"),
    ("11", "risk of bias in the single clusters"),
    ("12a", "heterogeneity that changed the development of the model"),
    ("12b", "final model, and how to use it"),
    ("13a", "performance with intervals, overall and of each cluster"),
    ("13b", "heterogeneity of performance between clusters"),
    ("14", "results of updating, overall and of each cluster"),
    ("15", "results of analyses of subgroups and of sensitivity"),
    ("16a", "interpretation, with heterogeneity between clusters"),
    ("16b", "comparison with development and earlier validations"),
    ("16c", "strengths and limitations"),
    ("17", "use of the model, generalisability, further research"),
    ("18", "supplementary resources: protocol, code, data"),
    ("19", "funding"),
)
OF_BOTH: Final[Items] = (
    ("1.1", "appropriate sources of data"),
    ("1.2", "appropriate design of the study"),
    ("1.3", "inclusions and exclusions that leave a representative data set"),
    ("2.1", "predictors defined and assessed alike for all"),
    ("2.2", "predictors processed alike for all"),
    ("2.3", "predictors assessed without knowledge of the outcome"),
    ("2.4", "predictors available when the model is to be used"),
    ("3.1", "outcome defined and assessed appropriately"),
    ("3.2", "outcome defined and assessed alike for all"),
    ("3.3", "outcome assessed without knowledge of the predictors"),
    ("3.4", "appropriate time between predictors and outcome"),
)
DEVELOPMENT: Final[Items] = (
    *OF_BOTH,
    ("4.1", "evidence of a reasonable sample size"),
    ("4.2", "continuous and categorical predictors handled appropriately"),
    ("4.3", "missing or censored data handled appropriately"),
    ("4.4", "recalibration after methods for class imbalance, if any"),
    ("4.5", "methods against overfitting"),
)
EVALUATION: Final[Items] = (
    *OF_BOTH,
    ("4.1", "evaluation not on apparent performance alone"),
    ("4.2", "evidence of a reasonable sample size"),
    ("4.3", "missing or censored data handled appropriately"),
    ("4.4", "evaluation on data without correction of class imbalance"),
    ("4.5", "no leakage between training and held-out records"),
    ("4.6", "all steps of development repeated in resampling"),
    ("4.7", "calibration, discrimination and net benefit evaluated"),
)


@dataclass(frozen=True)
class Guideline:
    """A reporting guideline.

    Attributes
    ----------
    name : str
    lists : tuple of (str, items)
        Its lists of items, each with a caption.
    work : str
        Key of the work that has the official list.
    """

    name: str
    lists: tuple[tuple[str, Items], ...]
    work: str


GUIDELINES: Final = {
    "tripod+ai": Guideline("TRIPOD+AI", (("items and sub-items", TRIPOD),), "tripod"),
    "probast+ai": Guideline(
        "PROBAST+AI",
        (
            ("questions of development", DEVELOPMENT),
            ("questions of evaluation", EVALUATION),
        ),
        "probast",
    ),
    "tripod-cluster": Guideline(
        "TRIPOD-Cluster", (("items and sub-items", CLUSTER),), "cluster"
    ),
}


def checklist(
    guideline: Guideline, answers: tuple[Mapping[str, Prose], ...]
) -> Section:
    """Return a checklist, with the items that are the author's named as such.

    Parameters
    ----------
    guideline : Guideline
    answers : tuple of mapping
        What the results say, by item; one mapping per list of items.
    """
    tables, said = [], []
    for (what, items), own in zip(guideline.lists, answers, strict=True):
        total, filled = len(items), [plain_text(words) for words in own.values()]
        in_part = sum(AUTHOR in text for text in filled)
        part = f" ({in_part} of them in part)" * bool(in_part)
        said.append(f"{len(filled)} of {total} {what}{part}")
        rows = tuple((name, topic, own.get(name, AUTHOR)) for name, topic in items)
        caption = f"{guideline.name}: {total} {what}"
        head = ("item", "topic", "from the result")
        tables.append(ReportTable(caption, head, rows))
    first: Prose = (f"{joined(said)} are filled from the result.",)
    last = (
        "The topics are short words of our own; the official list is binding. Whether "
        "an item is met is for the author and the reader to judge."
    )
    return Section(
        f"{guideline.name} checklist",
        prose=(first, last),
        items=(WORKS[guideline.work],),
        tables=tuple(tables),
    )
