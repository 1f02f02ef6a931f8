"""What SECURITY.md promises: nothing is fetched or opened behind a user's back, and hostile text stays text.

And ROI operators need no more memory besides their outputs than it says, which is compared with a process's peak.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from builders import MODELS
from rich.console import Console

import onnx_maxpool
from onnx_maxpool.cli.conformance import print_run
from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.report.formats import html, junit, markdown
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import printable
from onnx_maxpool.operators.rules import RULES

ROOT = Path(__file__).parent.parent.parent

FORBIDDEN = {
    "files": """
        open creat fopen freopen fdopen tmpfile mkstemp mkostemp mkdtemp mktemp tmpnam tempnam read pread readv
        preadv write pwrite writev pwritev fread fgets fgetc getc getchar getline getdelim fscanf scanf dup pipe
        fcntl flock lockf ioctl lseek fseek truncate ftruncate fallocate sendfile splice tee copy_file_range
        opendir fdopendir readdir scandir ftw nftw fts_open glob wordexp stat fstat lstat xstat fxstat lxstat
        statx statfs fstatfs statvfs fstatvfs access eaccess euidaccess faccess realpath canonicalize_file_name
        readlink getcwd get_current_dir_name chdir fchdir chroot unlink remove rename link symlink mkdir rmdir
        mknod mkfifo chmod fchmod chown fchown lchown utime utimes futimes futimens mmap mremap mprotect
        shm_open memfd_create inotify_init fanotify_init io_setup aio_read aio_write select pselect poll ppoll
        epoll_create syslog openlog
    """,
    "network": """
        socket socketpair connect bind listen accept send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg
        getaddrinfo getnameinfo gethostbyname gethostbyaddr gethostent getservbyname res_init res_query
        res_search
    """,
    "processes": """
        execv execve execvp execvpe execl execle execlp fexecve fork vfork clone posix_spawn posix_spawnp popen
        system kill killpg tgkill raise sigqueue signal sigaction sigprocmask ptrace process_vm_readv
        process_vm_writev prctl setuid setgid wait waitpid waitid daemon setsid
    """,
    "code": "dlopen dlmopen",
    "threads": "pthread_create thrd_create",
    "settings": "setenv putenv unsetenv clearenv sched_setaffinity setrlimit setpriority nice",
}
"""Of libc, whatever reaches files, the network, processes, other code, threads of one's own, or a process's settings.

Not a list of what is allowed: the C++ library is linked statically, and what that wants of libc is another list with
every compiler. Clang's asks by dlsym what the libc has, which loads nothing.
"""
KIND = {name: kind for kind, names in FORBIDDEN.items() for name in names.split()}


def plain(name: str) -> str:
    """A libc function's name without what marks its variants: `__openat64_2` is `open`, `__fread_chk` is `fread`."""
    name = name.lstrip("_").removeprefix("IO_").removeprefix("libc_").removeprefix("isoc99_").removeprefix("isoc23_")
    while name not in KIND and (shorter := re.sub(r"(_chk|_nocancel|_2|_r|64|at|at2|[1-5])$", "", name)) != name:
        name = shorter
    return name


def symbols(kind: str) -> set[str]:
    """Of the native library's dynamic table, without their versions."""
    command = ["nm", "--dynamic", "--format=posix", kind, onnx_maxpool.library_path()]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0].partition("@")[0] for line in listed.splitlines()}


def test_the_native_library_has_two_exports() -> None:
    assert symbols("--defined-only") == {"RegisterCustomOps", "onnx_maxpool_targets"}


def test_the_names_of_libc_are_known_in_their_variants() -> None:
    variants = "__open64_2 openat __xstat64 __fxstatat readdir64_r __read_chk accept4 renameat2 pread64 __libc_fork"
    assert [plain(name) for name in variants.split()] == [
        *("open", "open", "xstat", "fxstat", "readdir", "read", "accept", "rename", "pread", "fork")
    ]
    assert not {plain(name) for name in ("memcpy", "__isoc99_sscanf", "__strtod_l", "get_nprocs")} & KIND.keys()


def test_the_native_library_reaches_nothing_but_memory() -> None:
    imported = symbols("--undefined-only")
    assert "memcpy" in imported
    assert {name: KIND[plain(name)] for name in imported if plain(name) in KIND} == {}


def test_the_native_library_asks_the_kernel_for_nothing() -> None:
    """The C++ library imports `syscall`, as its locks sleep in the kernel. No source of ours names it.

    Nor has one a system call of its own: the only instruction that is written out asks what registers are saved. Three
    texts without an instruction keep a value in a register.
    """
    sources = "".join(path.read_text() for path in (ROOT / "ops" / "native").rglob("*.[ch]*"))
    assert "syscall" not in sources
    assert sorted(re.findall(r"asm[\w ]*\(\"(.*?)\"", sources)) == ["", "", "", "xgetbv"]
    assert len(re.findall(r"asm", sources)) == 4


def test_the_native_library_reads_one_environment_variable() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "ops" / "native").rglob("*.[ch]*"))
    assert re.findall(r"getenv\((.*?)\)", sources) == ['"ONNX_MAXPOOL_TARGET"']


HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> \"'> &amp; [red]markup[/red] | [link](javascript:alert(3)) "
    "`code` \x1b[2J\x1b]0;title\x07 \r\b\u202egnp\u2028"
)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile_run() -> BackendRun:
    """A backend that says something hostile wherever it can: its name, its description, its answer."""
    cases = [case for case in all_cases() if case.name.startswith("max_roi_pool_22_half")]
    results = tuple(judge(case, Execution("raised", text=HOSTILE)) for case in cases)
    assert all(result.detail == HOSTILE for result in results)
    return BackendRun(HOSTILE, {HOSTILE: HOSTILE}, results)


SOURCES = {source.document.url for rule in RULES.values() for source in rule.sources}
"""The published texts, to which the pages link."""


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.suspicious: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag in ("img", "iframe", "object", "embed") or any(name.startswith("on") for name, _ in attrs):
            self.suspicious.append(self.get_starttag_text() or tag)
        links = [str(value) for name, value in attrs if name == "href" and not str(value).startswith("#")]
        self.suspicious += [link for link in links if link not in SOURCES]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_html_report_escapes(hostile_run: BackendRun) -> None:
    page = Page()
    page.feed(html([hostile_run]))
    assert page.scripts == 1  # its own
    assert page.suspicious == []
    assert "<script>alert(1)</script>" in page.text


def test_the_markdown_report_escapes(hostile_run: BackendRun) -> None:
    page = markdown([hostile_run])
    assert "\\<script\\>alert(1)" in page
    assert not CONTROL.search(page)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)
    # Without what is escaped, and without the page's own links.
    bare = re.sub(r"\\.|\[[\w]+\]\(#\w+\)", "", "".join(rows))
    assert not re.search(r"[<`]|\]\(", bare)


def test_the_reports_for_programs_are_well_formed(hostile_run: BackendRun) -> None:
    (suite,) = ElementTree.fromstring(junit([hostile_run]))
    assert suite.get("name") == printable(HOSTILE)
    (backend,) = json.loads(json.dumps(json_report([hostile_run])))["backends"]
    assert backend["name"] == HOSTILE


def test_the_terminal_obeys_nothing(hostile_run: BackendRun) -> None:
    console = Console(force_terminal=False, width=400, record=True, highlight=False)
    with console.capture() as captured:
        print_run(console, hostile_run)
    assert "[red]markup[/red]" in captured.get()
    assert not CONTROL.search(captured.get())


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_names_in_a_model_are_text(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In what is printed about a model, and in what is printed of its refusal."""
    model = MODELS["max_roi_pool_22_float"].builder()
    model.graph.node[0].name = HOSTILE
    if command == "run":
        model.graph.node[0].attribute[0].name = HOSTILE
    onnx.save_model(model, tmp_path / "model.onnx")
    with pytest.raises(SystemExit):
        main([command, str(tmp_path / "model.onnx")])
    printed = "".join(capsys.readouterr())
    assert "[red]markup[/red]" in printed
    assert not CONTROL.search(printed)


def test_output_names_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = MODELS["max_roi_pool_22_float"].builder()
    model.graph.node[0].output[0] = model.graph.output[0].name = "[red]Y[/red]\x1b[2J"
    onnx.save_model(model, tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", **MODELS["max_roi_pool_22_float"].inputs())
    for command in ("run", "compare"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(tmp_path / "model.onnx"), "--input", str(tmp_path / "inputs.npz")])
        out = capsys.readouterr().out
        assert not ended.value.code
        assert "[red]Y[/red]\\x1b[2J" in out.replace("\n", "")


measures_memory = pytest.mark.slow("compares the memory of large runs with what is promised")

MIB = 2**20

RUN = """
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

import onnx_maxpool

model, inputs = sys.argv[1:]
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.enable_cpu_mem_arena = False
session = onnx_maxpool.load(model, options)
given = dict(np.load(inputs))
few = {name: array[:1] for name, array in given.items()}
few["rois"] = few["rois"] * 0
session.run(None, few)


def memory(line):
    return 1024 * int(Path("/proc/self/status").read_text().split(line)[1].split()[0])


Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
before = memory("VmRSS:")
(y,) = session.run(None, given)
print(memory("VmHWM:") - before - y.nbytes)
"""


def allowed(x: np.ndarray, rois: int, bins: tuple[int, int]) -> int:
    """As docs/reference/settings-and-limits.md has it, for one thread; and what Python and malloc round up."""
    rows, columns = bins
    blocks = math.ceil(x.shape[1] * x.itemsize / 16)
    windows = 8 * rois * (2 * rows + columns)
    tables = min(max(x.nbytes, 4 * MIB), 32 * MIB)
    thread = 8 * MIB + tables + 64 * (x.shape[3] + 3 * rows * columns)
    return windows + 48 * rois + 32 * rois * blocks + thread + 2 * MIB


@measures_memory
@pytest.mark.skipif(sys.platform != "linux", reason="a process's peak is read from /proc")
@pytest.mark.parametrize(
    ("shape", "dtype", "rois", "bins"),
    [
        ((8_000_000, 1, 1, 1), "float16", 10, (1, 1)),  # images without ROIs
        ((400_000, 1, 1, 1), "float", 400_000, (1, 1)),  # an ROI for each image
        ((100_000, 2, 3, 3), "float", 100_000, (4, 4)),
        ((1, 4, 8, 8), "float", 300_000, (2, 2)),  # many ROIs in one image
    ],
)
def test_roi_operators_want_no_more(
    tmp_path: Path, shape: tuple[int, ...], dtype: str, rois: int, bins: tuple[int, int]
) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> pool ({dtype}[n, c, h, w] X, {dtype}[r, 5] rois)
        => ({dtype}[r, c, y, x] Y) {{ Y = MaxRoiPool <pooled_shape = [{bins[0]}, {bins[1]}]> (X, rois) }}"""
    )
    onnx.save_model(model, tmp_path / "model.onnx")
    x = np.ones(shape, {"float": "float32"}.get(dtype, dtype))
    table = np.zeros((rois, 5), x.dtype)
    table[:, 0] = np.random.default_rng(0).permutation(rois) % min(shape[0], 2048 if dtype == "float16" else 2**24)
    table[:, 3:] = shape[2] - 1
    np.savez(tmp_path / "inputs.npz", X=x, rois=table)
    command = [sys.executable, "-c", RUN, str(tmp_path / "model.onnx"), str(tmp_path / "inputs.npz")]
    taken = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert taken <= allowed(x, rois, bins)


@measures_memory
def test_the_docs_say_it() -> None:
    promised = re.sub(r"\s+", " ", (ROOT / "docs" / "reference" / "settings-and-limits.md").read_text())
    assert "8 bytes for each row of bins and each column of bins of an ROI, twice for rows" in promised
    assert "48 bytes for each ROI, and 32 for each ROI and 16 bytes of channels" in promised
    assert "Tables of at most the size of X (or 4 MiB, if X is smaller), and at most 32 MiB" in promised
