"""Check, run or compile a program in coNCePTuaL, the language for network benchmarks.
"run" is for mpiexec and compiles the program if it can; the arguments after the file are options of
the program (-? lists them)."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from scalatrace.cli.budget import add_budgets
from scalatrace.cli.output import add_json, print_json
from scalatrace.cli.registry import READING
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import read_text, write_file
from scalatrace.launched import launched_rank

ACTIONS = (
    ("check", "report errors and warnings of programs", "scalatrace ncptl check latency.ncptl"),
    (
        "run",
        "run a program on the tasks of mpiexec",
        "mpiexec -n 4 scalatrace ncptl run latency.ncptl --reps 1000",
    ),
    (
        "compile",
        "compile a program to one C file",
        "scalatrace ncptl compile latency.ncptl -o latency.c && mpicc latency.c -o latency -lm",
    ),
)
"""Name, summary and example."""

EXAMPLE = "\n  ".join(example for _, _, example in ACTIONS)
SEED_VARIABLE = "NCPTL_SEED"
MAX_CHECKED_STEPS = 1_000_000
"""Of a run of all tasks that `check --tasks` goes through: statements, tasks and events."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|run|compile")
    check, run, compile_ = (_action(actions, *action) for action in ACTIONS)
    check.add_argument("files", nargs="+", metavar="FILE")
    check.add_argument(
        "-n",
        "--tasks",
        type=int,
        metavar="N",
        help="report errors of a run on N tasks, too, up to a million steps",
    )
    add_json(check)
    add_budgets(check, READING)
    run.add_argument(
        "--seed", type=int, metavar="N", help=f"of random numbers (else ${SEED_VARIABLE}, else 1)"
    )
    run.add_argument(
        "--engine",
        choices=("auto", "compiled", "python"),
        default="auto",
        help="compiled: in C, built with mpicc on first use; python: interpret (default: C if possible)",
    )
    add_json(run, "task 0 prints facts about the run as JSON, on standard error")
    run.add_argument("file", metavar="FILE")
    run.add_argument("options", nargs=argparse.REMAINDER, help="the program's own options")
    compile_.add_argument("file", metavar="FILE")
    compile_.add_argument("-o", "--output", metavar="FILE.c", help="default: stdout")
    add_json(compile_)
    add_budgets(compile_, READING)


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str, example: str
) -> argparse.ArgumentParser:
    return actions.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def run(args: argparse.Namespace) -> int:
    """Run the action."""
    return {"check": _check, "run": _run, "compile": _compile}[args.action](args)


def _check(args: argparse.Namespace) -> int:
    reports = [_facts(path, args.tasks) for path in args.files]
    if args.json:
        print_json(reports)
    else:
        for facts in reports:
            for note in (*facts["errors"], *facts["warnings"]):
                mark = "warning: " if note in facts["warnings"] else ""
                print(f"{facts['file']}:{note['line']}:{note['column']}: {mark}{note['text']}")
            if not facts["errors"]:
                on = f" on {args.tasks} tasks" if args.tasks else ""
                command = f"mpiexec -n {args.tasks or 'N'} scalatrace ncptl run {facts['file']}"
                print(f"{facts['file']}: no errors{on}. Next: {command}")
    return 1 if any(facts["errors"] for facts in reports) else 0


def _facts(path: str, tasks: int | None) -> dict[str, Any]:
    from scalatrace.codegen.conceptual.checks.program import examine
    from scalatrace.codegen.conceptual.errors import CompileStage, Note, ProgramError

    report = examine(read_text(path), path)
    if tasks is not None and report.program is not None and not report.errors:
        _try(report, tasks, path)

    def plain(note: Note | ProgramError, text: str) -> dict[str, Any]:
        return {"line": note.place.line, "column": note.place.column, "text": text}

    return {
        "file": path,
        "syntax": _verdict(report.accepts(CompileStage.SYNTAX)),
        "front_end": _verdict(report.accepts(CompileStage.MEANING)),
        "execution": _verdict(report.accepts(CompileStage.EXECUTION)),
        "errors": [{**plain(error, error.reason), "stage": str(error.stage)} for error in report.errors],
        "warnings": [plain(note, note.text) for note in report.notes],
    }


def _verdict(accepted: bool) -> str:
    return "accept" if accepted else "reject"


def _try(report: Any, tasks: int, path: str) -> None:
    from scalatrace.codegen.conceptual.errors import Note, ProgramError
    from scalatrace.codegen.conceptual.lowering.collecting import TooManyEventsError
    from scalatrace.codegen.conceptual.lowering.faults import find_faults
    from scalatrace.codegen.conceptual.lowering.lower import lower

    if tasks < 1:
        raise UsageError("--tasks needs at least 1")
    place = report.program.place
    try:
        report.notes += find_faults(lower(report.program, tasks, most=MAX_CHECKED_STEPS))
    except ProgramError as error:
        error.path = path
        report.errors.append(error)
    except TooManyEventsError:
        reason = f"a run on {tasks} tasks takes over {MAX_CHECKED_STEPS:,} steps; it is not checked"
        report.notes.append(Note(reason, place))
    except RecursionError:
        report.errors.append(ProgramError("the program is nested too deeply", place, path=path))


def _run(args: argparse.Namespace) -> int:
    from scalatrace.codegen.conceptual.checks.program import check
    from scalatrace.codegen.conceptual.run.options import parse_options, usage
    from scalatrace.codegen.conceptual.run.run import run as run_program

    try:
        program = check(read_text(args.file), args.file)
        if parse_options(program, args.options).help:
            if not launched_rank():
                print(usage(program, f"scalatrace ncptl run {args.file}"))
            return 0
    except ScalatraceError as error:
        # All tasks find the same error; only one prints it.
        if launched_rank():
            return error.exit_status
        raise
    return run_program(program, args.file, args.options, _seed(args.seed), args.engine, as_json=args.json)


def _seed(seed: int | None) -> int:
    text = os.environ.get(SEED_VARIABLE, "1") if seed is None else str(seed)
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{SEED_VARIABLE} is {text!r}; expected a whole number") from None


def _compile(args: argparse.Namespace) -> int:
    from scalatrace.codegen.conceptual.checks.program import check
    from scalatrace.codegen.conceptual.compiler.compile import compile_program

    if args.json and not args.output:
        raise UsageError("--json writes to standard output: give the C file with -o FILE.c")
    text = compile_program(check(read_text(args.file), args.file), args.file)
    if args.output:
        write_file(args.output, text.encode())
        if args.json:
            print_json({"file": args.file, "output": args.output, "lines": text.count("\n")})
            return 0
        name = args.output.removesuffix(".c")
        print(f"{args.output}: {text.count(chr(10)):,} lines. Next: mpicc -O2 {args.output} -o {name} -lm")
    else:
        sys.stdout.write(text)
    return 0
