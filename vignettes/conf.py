"""Sphinx settings: ``sphinx-build -W -n -b html vignettes build/html``."""

import hashlib
import os
import re
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from jupyter_cache import get_cache
from sphinx.errors import SphinxError
from sphinx.util.parallel import make_chunks

import statcv

os.environ.setdefault("OMP_NUM_THREADS", "1")  # pages are executed beside other work

HERE = Path(__file__).resolve().parent
there = os.environ.get("PYTHONPATH")  # pages in any folder import `studies`
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), there] if there else [str(HERE)])

project = "statcv"
author = "The statcv developers"
copyright = author
version = release = statcv.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
]
exclude_patterns = ["_*", "studies"]
nitpicky = True
add_module_names = False
toc_object_entries_show_parents = "hide"

# ---- reference ----

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types in words
numpydoc_show_class_members = False
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|pandas|matplotlib|patsy|sklearn|statsmodels)\..*")
]

# ---- executed documents ----

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_execution_mode = "cache"
nb_execution_show_tb = True
nb_merge_streams = True
os.environ["PYTHONSTARTUP"] = str(HERE / "_notebook.py")  # run before the first cell


def _what_outputs_hang_on() -> str:
    """Return a hash of all that changes the outputs of a cell but its own text.

    The cache of outputs looks at the text of the cells alone; a folder of its own
    for each state of the package keeps it from showing what is no longer true.
    """
    package = Path(statcv.__file__).parent
    digest = hashlib.sha256(repr(statcv.available_data()["here"].tolist()).encode())
    measured = [
        *(HERE.parent / "benchmarks" / "results").glob("*"),
        *(HERE.parent / "tests" / "reference").glob("idioms_*.csv"),
    ]
    studies = [*(HERE / "studies").rglob("*.py"), *(HERE / "studies").rglob("*.csv")]
    own = [*package.rglob("*.py"), *studies, HERE / "_notebook.py"]
    for file in sorted([*own, *measured]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


nb_execution_cache_path = str(
    HERE.parent / "build" / "jupyter_cache" / _what_outputs_hang_on()
)
get_cache(nb_execution_cache_path).list_cache_records()  # makes it, for all processes

# Processes read pages in few portions, and the longest pages would be in one of them.
_SECONDS = {
    "more-predictors-than-records": 21,
    "which-stratifier": 20,
    "how-to/trees-over-sites": 20,
    "large-runs": 20,
    "bias-of-cross-validation": 19,
    "gallery": 17,
    "fold-plans": 17,
    "five-hospitals": 16,
    "which-scheme": 15,
    "inference": 15,
    "index": 14,
    "cheatsheet": 14,
    "austin2024": 14,
    "writing-a-paper": 13,
    "stratified-kfold": 12,
    "tuning": 11,
    "bey2020": 10,
    "survival": 7,
}


def _spread(app, env, docnames):
    """Order pages so that all portions take about the same time."""
    room = [len(portion) for portion in make_chunks(docnames, app.parallel)]
    portions = [[] for _ in room]
    took = [0] * len(room)
    for name in sorted(docnames, key=lambda name: -_SECONDS.get(name, 4)):
        open_ = [i for i, most in enumerate(room) if len(portions[i]) < most]
        least = min(open_, key=took.__getitem__)
        portions[least].append(name)
        took[least] += _SECONDS.get(name, 4)
    docnames[:] = [name for portion in portions for name in portion]


# ---- pages ----

html_theme = "pydata_sphinx_theme"
html_title = "statcv"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["custom.css"]
html_js_files = ["accessible.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_domain_indices = False
html_theme_options = {
    "logo": {"text": "statcv"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_nav_level": 2,
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "glossary": []},
}
html_sidebars = {"index": []}
html_math_renderer = "mathml"

# Where several versions are served side by side, such as /stable and /dev, a menu of
# them: the address of the site, and the path of this version.
if root := os.environ.get("STATCV_DOCS_ROOT"):
    version_path = os.environ.get("STATCV_DOCS_VERSION", "dev")
    html_baseurl = f"{root}/{version_path}/"
    html_theme_options["switcher"] = {
        "json_url": f"{root}/versions.json",
        "version_match": version_path,
    }
    html_theme_options["check_switcher"] = False
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher"]

# Made by the verbs, never by hand: their fields are not how a user makes them.
_NOT_MADE_BY_HAND = {
    "statcv.results.comparison.comparison.Comparison",
    "statcv.results.comparison.pooled_comparison.PooledComparison",
    "statcv.results.writing.export.PaperTable",
    "statcv.inference.Estimate",
    "statcv.inference.HTest",
    "statcv.results.final.Equation",
    "statcv.results.final.FullModel",
    "statcv.results.final.PointScore",
    "statcv.results.final.UpdatedModel",
    "statcv.results.final.WrittenModel",
    "statcv.results.pooling.Pooled",
    "statcv.results.result.CVResult",
    "statcv.results.stability.Stability",
    "statcv.results.stratifier_bias.bias.StratifierBias",
    "statcv.results.summary.Summary",
    "statcv.folds.FoldPlan",
    "statcv.sites.result.SitesResult",
}


def _hide_signature(app, what, name, obj, options, signature, returned):
    if name in _NOT_MADE_BY_HAND or (what == "class" and signature == "(*args)"):
        return "", None
    return None


# ---- what pages of the reference say once, at their beginning ----

SETUP = (
    ">>> import numpy as np",
    ">>> import pandas as pd",
    ">>> import statcv as scv",
    ">>> from statcv import sites",
    '>>> df = scv.load_data("spector")',
    '>>> ehr = scv.load_data("ehr")',
    '>>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)',
    '>>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)',
    ">>> ridge = res.update(model=scv.models.Logit(C=1.0))",
    '>>> large = scv.cv("y ~ x1 + x3", ehr, k=5, seed=1)',
    '>>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))',
    '>>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)',
    '>>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}',
    '>>> plan = sites.agree("y ~ x1 + x2", seed=1)',
    ">>> transport = sites.InProcess()",
    ">>> over = sites.run(plan, at, transport)",
)

SHARED = (
    r"Confidence level of the (?:pointwise )?(?:bands?|intervals?)(?: of [\w ]+)?\.",
    r"Confidence level of the bands? and (?:the )?intervals?\.",
    r"Metric and way of combining, as in :meth:`estimate`\.",
    r"Name of the metric; the headline metric unless given\.",
    r"Number of processes and progress bar, as in :func:`statcv\.cv`\.",
    r"As in :meth:`(?:estimate|null_distribution)`\.",
    r"Seed, number of processes and progress bar, as in :meth:`estimate`\.",
    r"Seed for [\w ]+; the seed of the result if None\.",
    r"Seed for the (?:permutations|bootstrap)\.",
    r"Number of (?:permutations|bootstrap samples|folds)\.",
    r"Grouping of the records, as in :meth:`metrics`"
    r"(?:; optional after ``validate\(by=\)``)?\.",
    r"Grouping of the records: a column of the data, or one value per row of it\.",
    r"Records with the outcome and the columns of the model\. "
    r"Rows in which one of these is missing are left out, and counted\.",
    r"Outcome, 0 or 1 \(or bool\)\.",
    r"(?:Any increasing function of the p|P)robability of 1\.",
    r"Relative difference below which two scores tie\.",
    r"Cluster labels, for the cluster sandwich estimator\.",
    r"Cluster labels, equal for records that belong together\.",
    r"Axes to draw on; (?:those of a new figure by default|new axes unless given)\.",
    r"Plan that was made with an outcome, or a result\.",
    r"Repeat to draw, from 1\. The default is the first repeat; if each repeat is a "
    r"single split \(``montecarlo``, ``bootstrap``\), all are drawn side by side\.",
    r"Seed for the folds and the dropped records\.",
    r"Whether records are dropped or repeated\.",
    r"The data of each site\.",
    r"Least number of records behind any [\w ]+\.",
    r"A new data frame at each call\.",
)
TEXTS = "|".join(SHARED).replace(" ", r"\s+")
NAME = r"^\w+(?:, \w+)*(?: : .*)?"
SAID = re.compile(
    rf"{NAME}\n {{4}}(?:{TEXTS})\n(?! )"
    r"|^(?:ax : matplotlib\.axes\.Axes, optional|plan : SitesPlan"
    r"|level : float, default 0\.95)\n(?! )"
    r"|^Returns\n-+\nmatplotlib\.axes\.Axes\n {4}The Axes\.\n"
    r"|^Returns\n-+\npandas\.DataFrame\n {4}A new data frame at each call\.\n",
    re.MULTILINE,
)


def _say_once(app, what, name, obj, options, lines):
    """Leave out what help() shows: shared lines of examples and arguments, errors."""
    kept, section = [], ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            section = line
        if section not in ("Raises", "Warns") and line.strip() not in SETUP:
            kept.append(line)
    lines[:] = SAID.sub("", "\n".join(kept)).split("\n")


# ---- no more words than people read ----

MOST_WORDS = 90_000  # on all pages together, with code and outputs


def _words_per_page(app, exception):
    """Write words_per_page.csv beside the pages, and fail if there are too many."""
    if exception or app.builder.name != "html":
        return
    words = {}
    for name in app.env.found_docs:
        page = Path(app.builder.get_outfilename(name)).read_text("utf-8")
        article = BeautifulSoup(page, "html.parser").article
        words[name] = len(article.get_text(" ").split())
    rows = sorted(words.items(), key=lambda row: (-row[1], row[0]))
    table = "".join(f"{name},{count}\n" for name, count in rows)
    Path(app.outdir, "words_per_page.csv").write_text(f"page,words\n{table}", "utf-8")
    if (total := sum(words.values())) > MOST_WORDS:
        raise SphinxError(
            f"The pages have {total:,} words, more than {MOST_WORDS:,}: shorten the "
            "longest in words_per_page.csv."
        )


# ---- formulas, as MathML, which browsers typeset without a script ----


def _mathml(display):
    def visit(self, node):
        from latex2mathml.converter import convert

        made = convert(node.astext(), display=display)
        if display == "block":
            made = f'<div class="math" role="math">{made}</div>'
        self.body.append(made)
        raise nodes.SkipNode

    return visit


def setup(app):
    app.add_html_math_renderer(
        "mathml", (_mathml("inline"), None), (_mathml("block"), None)
    )
    app.connect("autodoc-process-signature", _hide_signature)
    app.connect("autodoc-process-docstring", _say_once, priority=400)  # before numpydoc
    app.connect("env-before-read-docs", _spread)
    app.connect("build-finished", _words_per_page)
