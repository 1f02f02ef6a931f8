"""What a command replaces when it writes a file, and what it leaves as it is."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import onnx_maxpool
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.writing import NUMBERS, write_with_data

Command = Callable[..., tuple[int, str]]

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on Windows")
needs_links = pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")

INPUTS = {"X": np.ones((1, 1, 30, 30), np.float32), "rois": np.array([[0, 2, 3, 20, 25]], np.float32)}


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `onnx-maxpool` in this process: exit code, and stdout or stderr, of which one is empty."""

    def called(*arguments: str | Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert not (out and err)
        return int(stopped.value.code or 0), out or err

    return called


def model(bias: int = 0) -> onnx.ModelProto:
    """A MaxRoiPool on the sum of its input and of 3,600 bytes of weights."""
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
        g (float[1,1,30,30] X, float[R,5] rois) => (float[R,1,2,2] Y) {
            sum = Add (X, w)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (sum, rois)
        }""")
    weights = np.arange(900, dtype=np.float32).reshape(1, 1, 30, 30) + bias
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return proto


def with_data(path: Path, location: str, bias: int = 0) -> Path:
    """The model with its weights in another file. Not by onnx, which looks for the location in the current folder."""
    proto = model(bias)
    (weights,) = proto.graph.initializer
    path.with_name(location).write_bytes(weights.raw_data)
    onnx.external_data_helper.set_external_data(weights, location)
    weights.ClearField("raw_data")
    path.write_bytes(proto.SerializeToString())
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def outputs(path: Path) -> np.ndarray:
    """Of a converted model, or of one that is not."""
    (output,) = onnx_maxpool.load(path).run(None, INPUTS)
    return np.asarray(output)


@pytest.mark.parametrize(
    ("location", "out", "lost"),
    [
        ("rcnn.onnx.data", "rcnn.onnx", "rcnn.onnx.data"),
        ("weights.onnx", "weights.onnx", "weights.onnx"),
        ("w", "rcnn_v1", "rcnn_v1.data"),
    ],
    ids=["data over data", "model over data", "data over model"],
)
def test_convert_leaves_the_original_its_data(
    location: str, out: str, lost: str, tmp_path: Path, command: Command
) -> None:
    path = with_data(tmp_path / ("rcnn_v1.data" if lost == "rcnn_v1.data" else "rcnn_v1.onnx"), location)
    before = contents(tmp_path)
    assert command("convert", path, tmp_path / out) == (
        2,
        f"cannot write {tmp_path / out}: this would replace {tmp_path / lost}, which {path} needs, "
        "expected another name or folder\n",
    )
    assert contents(tmp_path) == before


def test_convert_replaces_a_model_with_its_data(tmp_path: Path, command: Command) -> None:
    path = with_data(tmp_path / "rcnn.onnx", "rcnn.onnx.data")
    expected = outputs(path)
    code, said = command("convert", path, path, "--check", "--overwrite")
    assert (code, said.splitlines()[-1]) == (0, "equal in every cell")
    assert sorted(contents(tmp_path)) == ["rcnn.onnx", "rcnn.onnx.data"]
    assert path.stat().st_mode == path.with_name("rcnn.onnx.data").stat().st_mode  # who may read one reads both
    assert "MaxRoiPool" not in {node.op_type for node in onnx.load(path).graph.node}
    np.testing.assert_array_equal(outputs(path), expected)


@pytest.mark.parametrize("there", ["m.onnx", "out.onnx", "out.onnx.data"])
def test_convert_replaces_only_what_it_is_told_to(there: str, tmp_path: Path, command: Command) -> None:
    path, out = with_data(tmp_path / "m.onnx", "w.data"), tmp_path / there.removesuffix(".data")
    if there != path.name:
        (tmp_path / there).write_text("of another")
    before = contents(tmp_path)
    said = f"{tmp_path / there} exists: give --overwrite to replace it\n"
    assert command("convert", path, out) == (2, said)
    assert contents(tmp_path) == before
    assert command("convert", path, out, "--overwrite") == (0, f"wrote {out}: 1 operator replaced\n")


def test_convert_writes_data_whatever_the_current_folder_has(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    big = with_data(Path("big.onnx"), "big.data", bias=5)
    for out in ("out.onnx", "out.onnx", "sub/out.onnx"):  # the data of the first is there from then on
        assert command("convert", big, out, "--overwrite") == (0, f"wrote {out}: 1 operator replaced\n")
        np.testing.assert_array_equal(outputs(Path(out)), outputs(big))
        assert Path(f"{out}.data").stat().st_size == 3600


def test_numbers_that_are_no_bytes_go_to_the_data(tmp_path: Path) -> None:
    """As helper.make_tensor writes them."""
    values = {kind: (np.arange(1100) % 2).astype(onnx.helper.tensor_dtype_to_np_dtype(kind)) for kind in NUMBERS}
    proto = onnx.ModelProto()
    for kind, array in values.items():
        proto.graph.initializer.append(onnx.helper.make_tensor(str(kind), kind, array.shape, array.tolist()))
    write_with_data(proto, tmp_path / "m.onnx", "data")
    assert (tmp_path / "m.onnx").stat().st_size < 100 * len(NUMBERS)
    for tensor in onnx.load(tmp_path / "m.onnx").graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), values[tensor.data_type])


def test_a_name_as_long_as_names_may_be(tmp_path: Path, command: Command) -> None:
    path = with_data(tmp_path / "m.onnx", "w.data")
    for out in (tmp_path / f"{'a' * 245}.onnx", tmp_path / f"{'b' * 251}.npz"):
        to_npz = ("run", path, "--dim", "R=1", "--out", out)
        assert command(*(to_npz if out.suffix == ".npz" else ("convert", path, out)))[0] == 0
        assert out.is_file()
    assert len(list(tmp_path.iterdir())) == 5  # two models with their data, and outputs


def test_outputs_are_replaced_whole(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save_model(model(), tmp_path / "m.onnx")
    run = ("run", tmp_path / "m.onnx", "--dim", "R=3", "--out")
    assert command(*run, tmp_path / "y.npz")[0] == 0
    (tmp_path / "y.npz").chmod(0o600)
    assert command(*run, tmp_path / "y.npz")[0] == 0
    assert stat.S_IMODE((tmp_path / "y.npz").stat().st_mode) == 0o600
    before = (tmp_path / "y.npz").read_bytes()

    def is_full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", is_full)
    with pytest.raises(SystemExit):
        main(list(map(str, (*run, tmp_path / "y.npz"))))
    assert (tmp_path / "y.npz").read_bytes() == before
    assert sorted(contents(tmp_path)) == ["m.onnx", "y.npz"]


def test_outputs_do_not_go_beside_those_of_another_model(tmp_path: Path, command: Command) -> None:
    onnx.save_model(model(), tmp_path / "m.onnx")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "output_1.pb").write_bytes(b"of another")
    code, said = command("run", tmp_path / "m.onnx", "--dim", "R=3", "--out", tmp_path / "data")
    expected = f"{tmp_path}/data has output_1.pb, expected only outputs of this model: give another folder\n"
    assert (code, said) == (2, expected)


@needs_links
def test_convert_writes_where_a_link_leads(tmp_path: Path, command: Command) -> None:
    onnx.save_model(model(), tmp_path / "m.onnx")
    (tmp_path / "sub").mkdir()
    target = tmp_path / "sub" / "target.onnx"
    target.write_text("what was there")
    for name, to in {"there": target, "new": tmp_path / "sub" / "new.onnx"}.items():
        link = tmp_path / name
        link.symlink_to(to)
        assert command("convert", tmp_path / "m.onnx", link, "--overwrite")[0] == 0
        assert link.is_symlink()
        assert not to.is_symlink()
        np.testing.assert_array_equal(outputs(to), outputs(tmp_path / "m.onnx"))
    assert sorted(contents(tmp_path / "sub")) == ["new.onnx", "target.onnx"]


@needs_links
def test_convert_rejects_links_that_its_data_cannot_follow(tmp_path: Path, command: Command) -> None:
    path = with_data(tmp_path / "m.onnx", "w.data")
    target, link, circle = tmp_path / "sub" / "target.onnx", tmp_path / "out.onnx", tmp_path / "circle.onnx"
    link.symlink_to(target)
    circle.symlink_to(circle)
    assert command("convert", path, link) == (
        2,
        f"{link} is a link to {target}, expected no link, because external data lies beside the model\n",
    )
    assert not target.exists()
    assert command("convert", path, circle) == (2, f"{circle} is a link in a circle of links, expected a file\n")
    assert circle.is_symlink()


@needs_links
def test_other_commands_write_where_a_link_leads(tmp_path: Path, command: Command) -> None:
    sample = tmp_path / "inputs.npz"
    (tmp_path / "there").write_text("what was there")
    sample.symlink_to("there")
    assert command("sample", sample.name, "--folder", tmp_path, "--overwrite")[0] == 0
    assert (sample.is_symlink(), sorted(np.load(tmp_path / "there"))) == (True, ["features", "rois"])


@needs_pipes
@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "m.onnx", "pipe"],
        ["convert", "m.onnx", "link"],
        ["sample", "inputs.npz", "--overwrite"],
        ["bench", "--quick", "--json", "pipe"],
        ["bench", "--grid", "--json", "pipe"],
    ],
    ids=" ".join,
)
def test_no_file_takes_the_place_of_a_pipe(
    arguments: list[str], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save_model(model(), "m.onnx")
    for name in ("pipe", "inputs.npz"):
        os.mkfifo(name)
    Path("link").symlink_to("pipe")
    named = next(name for name in ("link", "inputs.npz", "pipe") if name in arguments)
    assert command(*arguments) == (2, f"{named} is a device or a pipe, expected a file\n")
    assert all(stat.S_ISFIFO(Path(name).stat().st_mode) for name in ("pipe", "inputs.npz"))


@needs_pipes
def test_convert_rejects_a_pipe_in_its_datas_place(tmp_path: Path, command: Command) -> None:
    path, out = with_data(tmp_path / "m.onnx", "w.data"), tmp_path / "out.onnx"
    data = tmp_path / "out.onnx.data"
    os.mkfifo(data)
    assert command("convert", path, out) == (
        2,
        f"cannot write {out}: {data} is no file, expected none or a file, in which its data goes\n",
    )
    assert not out.exists()


@needs_pipes
def test_a_report_goes_through_a_pipe(tmp_path: Path, command: Command) -> None:
    """It is written from its start to its end, and replaces nothing."""
    pipe = tmp_path / "cases.json"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert command("conformance", "--list", "--json", pipe) == (0, "")
    reader.join(60)
    assert read[0].startswith("{")
