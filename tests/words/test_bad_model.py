"""Model files that are no models, or not whole, through every interface; and models damaged at random."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from words.bad_models import BAD_CONTENTS, BAD_MODELS, BadContent, BadModel, of_an_opaque_type, with_data
from words.bad_models import model as small_model

import onnx_maxpool
from onnx_maxpool import ModelError, OperatorError
from onnx_maxpool.adapters.onnxruntime import ORT_ERRORS
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.reading import read_model

pytestmark = pytest.mark.slow("asks every form hundreds of bad models")

ROWS = {bad.what: bad for bad in BAD_MODELS}
each_row = pytest.mark.parametrize("bad", ROWS.values(), ids=ROWS)

INTERFACES: dict[str, Callable[[Any], Any]] = {
    "native": onnx_maxpool.load,
    "python": lambda model: onnx_maxpool.load(model, implementation="python"),
    "reference": reference_evaluator,
    "portable": onnx_maxpool.to_portable,
}
each_interface = pytest.mark.parametrize("interface", INTERFACES.values(), ids=INTERFACES)


def written(bad: BadModel, tmp_path: Path) -> tuple[Path, str]:
    """The model's path, and the message."""
    folder = tmp_path / "folder"
    folder.mkdir()
    bad.write(folder)
    return folder / bad.name, bad.said.format(path=folder / bad.name, outside=tmp_path)


@each_row
@each_interface
def test_what_is_no_model(bad: BadModel, interface: Callable[[Any], object], tmp_path: Path) -> None:
    path, said = written(bad, tmp_path)
    for given in (path, str(path)):
        with pytest.raises(bad.error) as refused:
            interface(given)
        assert str(refused.value) == said


@each_row
@pytest.mark.parametrize("command", ["run", "inspect", "compare", "convert"])
def test_on_the_command_line(bad: BadModel, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, said = written(bad, tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([command, str(path), *([str(tmp_path / "out.onnx")] if command == "convert" else [])])
    out, err = capsys.readouterr()
    if bad.about_data and command == "inspect":
        assert not ended.value.code
        assert "MaxRoiPool-22 in graph" in out
        return
    if issubclass(bad.error, OSError):
        reason = {FileNotFoundError: "no such file", IsADirectoryError: "is a directory"}[bad.error]
        assert (ended.value.code, out, err) == (2, "", f"{path}: {reason}\n")
        return
    assert (ended.value.code, out, err) == (1, "", f"{said}\n")
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("bad", BAD_CONTENTS, ids=[bad.what for bad in BAD_CONTENTS])
@each_interface
def test_bytes_and_a_proto(
    bad: BadContent, interface: Callable[[Any], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no folder, and the current one is not theirs: data that lies there is not read."""
    (tmp_path / "w.bin").write_bytes(np.float32(5).tobytes())
    monkeypatch.chdir(tmp_path)
    for given in (bad.content, *([bad.proto] if bad.proto is not None else [])):
        with pytest.raises(ModelError) as refused:
            interface(given)
        assert str(refused.value) == bad.said


@each_interface
def test_external_data_without_a_length(interface: Callable[[Any], Any], tmp_path: Path) -> None:
    """It is as long as its tensor, whatever the file has behind it."""
    (tmp_path / "model.onnx").write_bytes(with_data("w.bin", offset="4"))
    (tmp_path / "w.bin").write_bytes(np.float32([0, 5, 0]).tobytes())
    made = interface(tmp_path / "model.onnx")
    if isinstance(made, onnx.ModelProto):
        made = onnx_maxpool.load(made)
    feeds = {"X": np.ones((1, 1, 2, 2), np.float32), "rois": np.zeros((1, 5), np.float32)}
    np.testing.assert_array_equal(made.run(None, feeds)[0], np.full((1, 1, 2, 2), 6, np.float32))


@each_interface
def test_links_of_a_download_cache(interface: Callable[[Any], object], tmp_path: Path) -> None:
    """A model and its data that are links into one folder: the way of the Hugging Face hub."""
    contents, names = tmp_path / "contents", tmp_path / "names"
    for folder in (contents, names):
        folder.mkdir()
    model = small_model()
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.float32), "w"))
    onnx.save_model(model, contents / "1a", save_as_external_data=True, location="model.data", size_threshold=0)
    (contents / "model.data").rename(contents / "2b")
    (names / "model.onnx").symlink_to(contents / "1a")
    (names / "model.data").symlink_to(contents / "2b")
    read_model(names / "model.onnx", "check")
    interface(names / "model.onnx")


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without sockets everything works, and a URL is the path of a file that there is not."""

    def no_socket(*_: object, **__: object) -> None:
        raise AssertionError("a socket was asked for")

    monkeypatch.setattr(socket, "socket", no_socket)
    monkeypatch.setattr(socket, "create_connection", no_socket)
    monkeypatch.setattr(socket, "getaddrinfo", no_socket)
    monkeypatch.chdir(tmp_path)
    model = MODELS["max_roi_pool_22_float"]
    (path,) = model.write(tmp_path)
    for interface in INTERFACES.values():
        interface(path)
        for url in ("http://127.0.0.1/model.onnx", "https://example.org/model.onnx", f"file://{path}"):
            with pytest.raises(FileNotFoundError):
                interface(url)
    assert onnx_maxpool.load(path).run(None, model.inputs())


def test_text_that_is_not_utf8_without_the_check() -> None:
    """ONNX Runtime quotes it, and its interface cannot decode what it says, which older Pythons then lose."""
    content = of_an_opaque_type("kind_1").replace(b"kind_1", b"kind_\xff")
    with pytest.raises(
        ModelError, match=r"^the model is not an ONNX model: it has text that is not UTF-8: .*kind_\\xff"
    ):
        onnx_maxpool.load(content, check=False)


def quiet() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def damaged() -> list[bytes]:
    """Small models with some bytes changed, and one at every tenth of its lengths."""
    rng = np.random.default_rng(1)
    models = [MODELS[name].builder().SerializeToString() for name in ("max_pooling1_5_float", "roi_in_function")]
    changed = []
    models.append(MODELS["adaptive_max_pool_8_float_int32"].builder().SerializeToString())
    for good in models * 60:
        content = bytearray(good)
        for at in rng.integers(0, len(content), rng.integers(1, 5)):
            content[at] = rng.integers(256)
        changed.append(bytes(content))
    return [*changed, *(models[0][:length] for length in range(0, len(models[0]), 10))]


def test_damaged_models() -> None:
    """They load, or are rejected by an exception of the kinds that are promised."""
    promised = (ModelError, OperatorError, *ORT_ERRORS)
    interfaces = (
        lambda content: onnx_maxpool.load(content, quiet()),
        lambda content: onnx_maxpool.load(content, quiet(), implementation="python"),
        onnx_maxpool.to_portable,
        lambda content: inspect_model(read_model(content)),
    )
    loaded, refused = 0, set()
    for content in damaged():
        for interface in interfaces:
            try:
                interface(content)
                loaded += 1
            except promised as error:
                refused.add(type(error))
    assert loaded  # a changed byte may be one of a name
    assert refused >= {ModelError, OperatorError}
