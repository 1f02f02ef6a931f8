"""The texts of which a program that shows one difference is put together."""

from __future__ import annotations

from onnx_maxpool.conformance.run.judge import Outcome

TEMPLATE = '''"""{title}

It needs {packages}. Exit code: 1 where the difference shows, 0 where it does not, 2 where it cannot be tried.
"""

import importlib.metadata
import platform
import sys
import traceback
{imports}
try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"{{error}}: this program needs {packages}")
    sys.exit(2)

{runner}

inf, nan = float("inf"), float("nan")


def model():
{model}


def inputs():
{inputs}


{expected}

{main}
'''

MAIN = """def main():
    try:
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*PACKAGES, "onnx", "numpy"))
    except importlib.metadata.PackageNotFoundError as error:
        print(f"{error} is not installed: this program needs {packages}")
        return 2
    print(f"{versions}, Python {platform.python_version()}, {platform.platform()}")
    given = inputs()
{shows}


if __name__ == "__main__":
    try:
        code = main()
    except Exception:
        traceback.print_exc()
        code = 2
    sys.exit(code)"""

COMPARES = """    outputs = [np.asarray(output) for output in run(model(), given) or ()]
    shows = False
    for name, wanted, got in zip(NAMES, expected(), outputs):
        print(f"{name}: expected {wanted.dtype} {list(wanted.shape)}, got {got.dtype} {list(got.shape)}")
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            shows = True
            continue
        differs = (got != wanted) & ~((got != got) & (wanted != wanted))
        for cell in np.argwhere(differs)[:10]:
            print(f"  {name}{cell.tolist()} is {got[tuple(cell)]}, expected {wanted[tuple(cell)]}")
        shows = shows or bool(differs.any())
    if len(outputs) != len(NAMES):
        print(f"{len(outputs)} outputs, expected {len(NAMES)}")
        shows = True
    print("The difference shows." if shows else "Equal: the difference does not show.")
    return int(shows)"""

RAISES = """    try:
        [np.asarray(output) for output in run(model(), given) or ()]
    except ImportError:
        raise
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        print("The difference shows: an error where the model is valid.")
        return 1
    print("No error: the difference does not show.")
    return 0"""

ANSWERS = """    try:
        outputs = [np.asarray(output) for output in run(model(), given) or ()]
    except ImportError:
        raise
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        print("An error, as expected: the difference does not show.")
        return 0
    print("expected an error, got", len(outputs), "outputs" if len(outputs) != 1 else "output")
    for output in outputs:
        print(f"  {output.dtype} {list(output.shape)}: {output.tolist()}")
    print("The difference shows.")
    return 1"""

CHILD = """    done, cannot = 77, 78
    if sys.argv[1:] == ["run"]:
        try:
            [np.asarray(output) for output in run(model(), given) or ()]
        except ImportError:
            traceback.print_exc()
            return cannot
        except Exception:
            traceback.print_exc()
        return done
"""
"""What another process does, which ends with `done` unless it dies or lacks a package."""

CRASHES = (
    f"""    # What runs it may die or hang: that is another process. Its exit code says whether it came to its end.
{CHILD}"""
    + """    for i in range(RUNS):
        try:
            code = subprocess.run([sys.executable, __file__, "run"], env=memory(i), timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = f"none: it does not end within {SECONDS} s"
        print(f"exit code of the process that runs the model: {code}")
        if code == cannot:
            return 2
        if code != done:
            print("The difference shows.")
            return 1
    print("The difference does not show.")
    return 0"""
)

VARIES = """    # Each process answers twice.
    if sys.argv[1:] == ["run"]:
        for _ in range(2):
            print(f"answer: {answer(given)}", flush=True)
        return 0
    answers = set()
    for i in range(RUNS):
        command = [sys.executable, __file__, "run"]
        done = subprocess.run(command, env=memory(i), timeout=SECONDS, stdout=subprocess.PIPE, text=True)
        if done.returncode == 2:
            print(done.stdout)
            return 2
        found = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
        found += [f"exit code {done.returncode}"] if done.returncode else []
        answers.update(found)
        print(f"process {i + 1}:", *(line[:200] for line in found), sep="\\n  ")
    print(f"{len(answers)} different answers to the same model and inputs")
    print("The difference shows." if len(answers) > 1 else "The difference does not show.")
    return int(len(answers) > 1)"""

GROWS = (
    f"""    # Another process runs it, which is ended where it takes more than LIMIT bytes.
{CHILD}"""
    + """    process = subprocess.Popen([sys.executable, __file__, "run"])
    most, end = 0, time.monotonic() + SECONDS
    while process.poll() is None and most <= LIMIT and time.monotonic() < end:
        most = max(most, resident(process.pid))
        time.sleep(0.05)
    process.kill()
    if process.wait() == cannot:
        return 2
    print(f"the process that runs the model took {most / 1e9:.3g} GB of memory, expected {LIMIT / 1e9:.3g} at most")
    print("The difference shows." if most > LIMIT else "The difference does not show.")
    return int(most > LIMIT)"""
)

RESIDENT = """LIMIT, SECONDS = {limit}, {seconds}


def resident(process):
    # The bytes of memory that a process takes.
    try:
        with open(f"/proc/{{process}}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        done = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], stdout=subprocess.PIPE, text=True)
        return 1024 * int(done.stdout or 0)

"""

MEMORY = """RUNS, SECONDS = {runs}, {seconds}


def memory(i):
    # From the second run on, glibc fills memory with a byte of the run's own: what is read out of bounds differs.
    return {{**os.environ, **({{"MALLOC_PERTURB_": str(0x55 * i % 255 or 1)}} if i else {{}})}}

"""

ANSWER = """def answer(given):
    try:
        outputs = [np.asarray(y) for y in run(model(), given) or ()]
    except ImportError:
        raise
    except Exception:
        return "an error"  # its text may have addresses
    # 0 is added because -0 and 0 are one answer.
    return "; ".join(f"{y.dtype} {list(y.shape)} {(y + y.dtype.type(0)).tolist()}" for y in outputs)

"""

SHOWS = {
    Outcome.ERROR: RAISES,
    Outcome.CRASH: CRASHES,
    Outcome.TIMEOUT: CRASHES,
    Outcome.UNSTABLE: VARIES,
}
"""What `main` does, by the outcome. Else a refusal has `ANSWERS`, and what has outputs `COMPARES`."""

IMPORTS = {
    CRASHES: "import os\nimport subprocess\n",
    VARIES: "import os\nimport subprocess\n",
    GROWS: "import os\nimport subprocess\nimport time\n",
}
"""What `main` and its helpers need."""

RUNS = {Outcome.CRASH: 3, Outcome.TIMEOUT: 1, Outcome.UNSTABLE: 5}
"""How many processes a program starts, at most."""

LONGEST_RUN = 60
"""Seconds that each of them may take."""
