"""Fuzz the native library with libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer.

    python scripts/fuzz.py [operators|kernels] [--seconds N | --runs N] [--seed N] [--jobs N] [--corpus DIR]

Builds the CMake preset `fuzz`, for which it needs Clang with libFuzzer, and goes on from where the inputs of the corpus
directory and of tests/native/corpus have come to. On a failure it makes the input as small as it can, shows the case in
words, and says how to run it again. If no job failed, `--merge` then finds the inputs that reach something of their
own, on whichever of the instruction sets that this processor runs, and writes them to tests/native/corpus. Of the
corpus in build/corpus it removes all others; a folder that is given by --corpus only grows.

That holds one file for each fuzzer, an input a line in hexadecimal digits. libFuzzer reads and writes folders of a file
for each input: this script converts.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from onnx_maxpool.adapters.registration import targets

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "fuzz" / "tests" / "native"
SEEDS = ROOT / "tests" / "native" / "corpus"
DICTIONARY = ROOT / "tests" / "native" / "fuzz.dict"
PROGRESS_LINE = re.compile(rb"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+)")
LIMITS = ("-timeout=60", "-rss_limit_mb=3000")
"""Of an input, in whatever way it is run."""
DONE_LINE = re.compile(rb"stat::number_of_executed_units: (\d+)")


class Fuzzer(str, Enum):
    """What is fuzzed."""

    operators = "operators"
    kernels = "kernels"


@dataclass
class Job:
    """A fuzzer's process."""

    process: subprocess.Popen[bytes]
    log: Path
    runs: int = 0
    features: int = 0
    tail: bytes = field(default=b"", repr=False)

    def read(self) -> None:
        """Take from the log how far the process is."""
        text = self.log.read_bytes()
        for match in PROGRESS_LINE.finditer(text):
            self.runs, self.features = int(match[1]), int(match[3])
        for match in DONE_LINE.finditer(text):
            self.runs = int(match[1])
        self.tail = text[-4000:]


def compiler() -> str:
    """Clang, by its plain name or that of the newest version. Exits where there is none with libFuzzer."""
    body = b'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
    for name in ("clang++", *(f"clang++-{version}" for version in range(40, 13, -1))):
        found = shutil.which(name)
        test = [str(found), "-fsanitize=fuzzer", "-x", "c++", "-", "-o", os.devnull]
        if found and subprocess.run(test, input=body, capture_output=True, check=False).returncode == 0:
            return found
    sys.exit("no Clang with libFuzzer was found; on Debian: apt-get install clang-16 libclang-rt-16-dev")


def build() -> None:
    """Configure and build the preset, with the tools that were installed beside this Python before the system's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    choices = [f"-DCMAKE_CXX_COMPILER={compiler()}", f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (["cmake", "--preset", "fuzz", *choices], ["cmake", "--build", "--preset", "fuzz"]):
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PATH": path})


def targets_here() -> list[str]:
    """The instruction sets that this processor runs, best first, as the installed library tells."""
    return [target.name for target in reversed(targets()) if target.runs_here]


def start(command: list[str], log: Path, target: str) -> Job:
    with log.open("wb") as file:
        environment = {**os.environ, "ONNX_MAXPOOL_TARGET": target}
        return Job(subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment), log)


def report(console: Console, program: Path, crash: Path, target: str) -> None:
    """The case behind a failing input, smaller if libFuzzer finds a smaller one, and how to run it again."""
    smaller = crash.with_name(f"smallest-{crash.name}")
    environment = {**os.environ, "ONNX_MAXPOOL_TARGET": target}
    minimize = [program, "-minimize_crash=1", *LIMITS, "-max_total_time=60", f"-exact_artifact_path={smaller}", crash]
    subprocess.run(minimize, capture_output=True, check=False, env=environment)
    case = smaller if smaller.exists() else crash
    shown = subprocess.run(
        [program, *LIMITS, case], capture_output=True, check=False, env={**environment, "ONNX_MAXPOOL_SHOW_CASE": "1"}
    )
    console.print(shown.stderr.decode(errors="replace"), markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"again: ONNX_MAXPOOL_TARGET={target} {program} {' '.join(LIMITS)} {case}", markup=False, soft_wrap=True
    )


def unpack(lines: Path, folder: Path) -> None:
    """Fill libFuzzer's folder from a file of lines: a file for each input, by the name that libFuzzer gives it."""
    for number, line in enumerate(lines.read_text().splitlines(), 1):
        try:
            content = bytes.fromhex(line)
        except ValueError as error:
            sys.exit(f"{lines} line {number}: {error}")
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def pack(folder: Path, lines: Path) -> int:
    """Make a file of lines of libFuzzer's folder, the shortest input first; how many there are.

    The empty input is left out, which libFuzzer tries by itself.
    """
    inputs = {path.read_bytes() for path in folder.iterdir()} - {b""}
    ordered = sorted(inputs, key=lambda content: (len(content), content))
    lines.write_text("".join(f"{content.hex()}\n" for content in ordered))
    return len(ordered)


def merge(program: Path, corpus: Path, seeds: Path, targets: list[str], kept: Path) -> None:
    """Copy to `kept` what of corpus and seeds reaches something that nothing smaller does, on one target at least.

    Exits with libFuzzer's words where it fails.
    """
    for target in targets:
        environment = {**os.environ, "ONNX_MAXPOOL_TARGET": target}
        command = [program, "-merge=1", *LIMITS, kept, corpus, seeds]
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
        if done.returncode:
            words = (done.stdout + done.stderr).decode(errors="replace")
            sys.exit(f"{words}\nexit code {done.returncode}: {' '.join(map(str, command))}; the corpus is as it was")


def reduce_to(kept: Path, corpus: Path) -> None:
    """Make of the corpus what is kept. Broken off at any time, it has too much rather than too little."""
    names = {path.name for path in kept.iterdir()}
    for name in names:
        shutil.copyfile(kept / name, corpus / name)
    for path in corpus.iterdir():
        if path.name not in names:
            path.unlink()


def watch(console: Console, started: Sequence[Job], title: str, runs: int | None, seconds: int) -> None:
    """Show how far the jobs are until all have ended, and read what they said."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[found]}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=runs or seconds, found="")
        begin = time.monotonic()
        while any(job.process.poll() is None for job in started):
            time.sleep(0.5)
            for job in started:
                job.read()
            count = sum(job.runs for job in started)
            features = max(job.features for job in started)
            done = count if runs else min(time.monotonic() - begin, seconds)
            progress.update(task, completed=done, found=f"{count:,} inputs, {features:,} features")
    for job in started:
        job.read()


def main(
    fuzzer: Annotated[Fuzzer, typer.Argument(help="What is fuzzed.")] = Fuzzer.operators,
    seconds: Annotated[int, typer.Option(min=1, help="How long to go on, if --runs does not say it.")] = 60,
    runs: Annotated[int | None, typer.Option(min=1, help="How many inputs each job runs.")] = None,
    seed: Annotated[int, typer.Option(min=1, help="Of the first job; the others' follow.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, which share the corpus.")] = 1,
    corpus: Annotated[
        Path | None, typer.Option(help="Where inputs are kept; build/corpus unless given. It only grows.")
    ] = None,
    merge_after: Annotated[
        bool,
        typer.Option(
            "--merge", help="In the end write what the corpus needs to tests/native/corpus, and reduce build/corpus."
        ),
    ] = False,
) -> None:
    """Fuzz the native library, and say how many inputs ran."""
    console = Console()
    build()
    program = PROGRAMS / f"fuzz_{fuzzer.value}"
    # The jobs take turns with them. The kernels' fuzzer runs each input on all by itself.
    here = targets_here() if fuzzer is Fuzzer.operators else ["baseline"]
    own = ROOT / "build" / "corpus" / fuzzer.value
    folder = corpus or own
    failures = folder.with_name(f"{folder.name}-failures")
    for each in (folder, failures):
        each.mkdir(parents=True, exist_ok=True)
    lines = SEEDS / f"{fuzzer.value}.hex"
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as temporary:
        seeds, kept = Path(temporary) / "seeds", Path(temporary) / "kept"
        seeds.mkdir()
        kept.mkdir()
        unpack(lines, seeds)
        limit = f"-runs={runs}" if runs else f"-max_total_time={seconds}"
        options = [limit, "-max_len=600", "-reload=5", *LIMITS, "-print_final_stats=1"]
        options += [f"-dict={DICTIONARY}", f"-artifact_prefix={failures}/"]
        command = [str(program), str(folder), str(seeds), *options]
        started = [
            start([*command, f"-seed={seed + job}"], failures / f"job-{job}.log", here[job % len(here)])
            for job in range(jobs)
        ]
        watch(console, started, f"fuzzing {fuzzer.value}", runs * jobs if runs else None, seconds)
        failed = [(number, job) for number, job in enumerate(started) if job.process.returncode]
        for number, job in failed:
            crashes = re.findall(rb"Test unit written to (\S+)", job.tail)
            console.print(job.tail.decode(errors="replace"), markup=False, highlight=False, soft_wrap=True)
            if crashes:
                report(console, program, Path(crashes[-1].decode()), here[number % len(here)])
        if merge_after and failed:
            console.print(f"not merged, as jobs failed: {lines} is as it was", markup=False, soft_wrap=True)
        elif merge_after:
            merge(program, folder, seeds, here, kept)
            console.print(f"{pack(kept, lines):,} inputs written to {lines}", markup=False, soft_wrap=True)
            if folder == own:
                reduce_to(kept, folder)
    console.print(f"{sum(job.runs for job in started):,} inputs ran, {len(failed)} of {jobs} jobs failed")
    console.print(f"corpus: {len(list(folder.iterdir())):,} inputs in {folder}", markup=False, soft_wrap=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
