"""The command line: what can be asked, and its help. It loads no numpy, so that help is quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from owenshap import __version__
from owenshap.command.faults import faults_reported

CODES = """\b
Exit codes:
  0    done
  1    --check: importance has changed
  2    the command line is wrong
  3    a file, a folder or a setting cannot be used
  4    the model failed, or some rows could not be explained
  70   a fault of owenshap itself
  130  interrupted by Ctrl-C; the same command goes on"""

POSITIVE = click.FloatRange(min=0, min_open=True)
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=SETTINGS, epilog=CODES)
@click.version_option(__version__, prog_name="owenshap")
def app() -> None:
    """Explain what a model's predictions come from: Shapley values with true error bars.

    \b
    Start here:
      owenshap demo
      owenshap explain model.skops data.csv --background training.csv
      owenshap explain --help
    """


@app.command(epilog=CODES)
@click.argument("model")
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--background",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rows that stand in for absent features: the training data. Without it, trees follow "
    "their own cover, and other models have 100 rows of DATA.",
)
@click.option("--rows", metavar="ROWS", help="Which rows: 0:100, or 3,17,200:250, or sample:500.")
@click.option(
    "--ids",
    multiple=True,
    metavar="NAME",
    help="A column that is no feature; it is carried along. Columns that the model or the "
    "background does not have are so anyway.",
)
@click.option(
    "--output",
    metavar="NAME",
    help="What is explained: a class by its label, an output by its name or number, 'probability', "
    "'logit' or 'predicted'. By default all outputs.",
)
@click.option("--predict", metavar="NAME", help="The model's method or output, of several.")
@click.option(
    "--players",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='Groups of columns in TOML, a line each: address = ["city", "zip"].',
)
@click.option(
    "--tolerance",
    metavar="1%|NUMBER",
    help="How accurate: a share of the output's range, or a number. By default 1%.",
)
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="At most so many evaluations a row."
)
@click.option(
    "--seconds", type=POSITIVE, metavar="S", help="Stop after so long, all rows together."
)
@click.option("--method", default="auto", metavar="NAME", help="One that `owenshap methods` lists.")
@click.option(
    "--index",
    default="shapley",
    show_default=True,
    metavar="NAME",
    help="What is fair: shapley, banzhaf or beta(a,b). Sums are those of predictions for shapley "
    "alone.",
)
@click.option(
    "--interactions",
    is_flag=True,
    help="Also what pairs of features add together: interactions.parquet, and a section of the "
    "report. It takes no further evaluation.",
)
@click.option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    metavar="LEVEL",
    help="Of the intervals.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same numbers.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("explained"),
    show_default=True,
    metavar="DIR",
    help="The folder to write. One where the same command was interrupted goes on.",
)
@click.option("--force", is_flag=True, help="Write over what the command has made there.")
@click.option("--retry", is_flag=True, help="Try rows again that could not be explained.")
@click.option("--title", metavar="TEXT", help="Of the report.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary for machines.")
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    metavar="BASELINE",
    help="An earlier explanation of the same rows; exit with 1 where importance has changed.",
)
@click.option(
    "--min-change",
    default="5%",
    show_default=True,
    metavar="5%|NUMBER",
    help="The least change that counts: a share of all importance, or a number.",
)
@click.option(
    "--trust",
    multiple=True,
    metavar="TYPE",
    help="A type in a skops file that may be loaded; the error without it lists them.",
)
@click.option(
    "--trust-pickle",
    is_flag=True,
    help="Read a pickle or joblib file. It can run any program: only for files that you made.",
)
@click.option("--arrays", is_flag=True, help="Give a function arrays, not pandas frames.")
@click.option("--encoding", metavar="NAME", help="Of CSV files, as in cp1252. By default UTF-8.")
@click.option(
    "--memory",
    default="1GB",
    show_default=True,
    metavar="SIZE",
    help="The most that a model file may unpack to.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def explain(**options: Any) -> None:
    """Explain a model's predictions for a table of rows.

    MODEL is an ONNX file, a scikit-learn model saved by skops, a file of xgboost (.json, .ubj),
    lightgbm (.txt) or catboost (.cbm), or a function as in package.module:function. DATA is a CSV
    or Parquet file. What is written: report.html to read, explanation.parquet for other tools,
    explanation.npz for owenshap.load, and run/, which an interrupted command goes on from.

    \b
    Examples:
      owenshap explain model.onnx data.csv --background training.csv
      owenshap explain model.skops data.parquet --output malignant --rows sample:500
      owenshap explain model.ubj new.csv --tolerance 0.5% --out explained-may
      owenshap explain model.ubj new.csv --out june --check explained-may/explanation.npz
      owenshap explain shop.models:risk data.csv --json | jq .outputs[0].importance[0]
    """
    with faults_reported():
        from owenshap.command.screens import explained

        sys.exit(explained(options))


@app.command(epilog=CODES)
@click.argument("source", metavar="EXPLANATION|RUN", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page to write. By default report.html beside the explanation.",
)
@click.option("--title", metavar="TEXT", help="Of the report.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def report(source: Path, out: Path | None, title: str | None, force: bool) -> None:
    """Write the report of an explanation, or of a run, finished or not.

    EXPLANATION is a file that explanation.save wrote, or a folder that `owenshap explain` did.

    \b
    Examples:
      owenshap report explanation.npz --out page.html
      owenshap report explained/run --out so-far.html
    """
    with faults_reported():
        from owenshap.command.screens import reported

        reported(source, out, title, force)


@app.command(epilog=CODES)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it for machines.")
def status(run: Path, as_json: bool) -> None:
    """Say how far a run is, also one that another process works on.

    \b
    Example:
      owenshap status explained
    """
    with faults_reported():
        from owenshap.command.screens import status_of

        click.echo(status_of(run, as_json))


@app.command(short_help="List the methods that --method takes.")
@click.option("--json", "as_json", is_flag=True, help="Print them for machines.")
def methods(as_json: bool) -> None:
    """List the methods that --method takes, what each is, and where it comes from."""
    with faults_reported():
        from owenshap.command.screens import listed_methods

        listed = listed_methods()
        if as_json:
            click.echo(json.dumps(listed, indent=1, ensure_ascii=False))
            return
        width = max(len(each["name"]) for each in listed)
        for each in listed:
            click.echo(f"{each['name']:{width}}  {each['what']}")


@app.command(short_help="See it work: a model, a table, a report.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("owenshap-demo"),
    show_default=True,
    metavar="DIR",
    help="The folder to write.",
)
@click.option("--force", is_flag=True, help="Write over an earlier demo there.")
def demo(out: Path, force: bool) -> None:
    """Train a small network on tumours that scikit-learn brings along, and explain it."""
    with faults_reported():
        from owenshap.command.demo import run_demo

        run_demo(out, force)
