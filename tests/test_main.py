"""The command line: printed text, exit statuses, and wrong inputs without a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime

import numpy as np
import pytest

import executorkit as mx
from executorkit.__main__ import main


@pytest.fixture
def network(tmp_path):
    """A small network in files: path of the symbol, path of its parameters."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.BatchNorm(x, name="bn")
    x = mx.sym.FullyConnected(x, num_hidden=5, name="fc")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    executor = net.simple_bind(mx.cpu(), data=(1, 2, 6, 6))
    params = {n: a for n, a in executor.arg_dict.items() if n.startswith(("conv", "bn", "fc"))}
    mx.model.save_checkpoint(tmp_path / "net", 1, net, params, executor.aux_dict)
    return tmp_path / "net-symbol.json", tmp_path / "net-0001.params"


def run(capsys, *arguments):
    """Exit status, stdout and stderr of a command."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as exit:
        status = exit.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Lines that are long enough for the paths of temporary files."""
    monkeypatch.setenv("COLUMNS", "300")


def table(out):
    """The rows of the table of layers, by their first word."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("layer "))
    return {line.split()[0]: line.split()[1:] for line in lines[start + 2 :]}


def test_inspect_tells_inputs_outputs_and_layers_from_the_parameters(capsys, network):
    symbol, params = network
    status, out, err = run(capsys, "inspect", symbol, params)
    assert (status, err) == (0, "")
    assert out.splitlines()[:7] == [
        f"{symbol}: 4 operators, written by MXNet 1.9.1",
        f"{params}: 8 arrays, float32, 1.63 KiB, written by MXNet 1.0 or newer",
        "the parameters fit the symbol",
        "inputs: data (N, 2, 6, 6), softmax_label (N,) (label)",
        "outputs: softmax_output (N, 5)",
        "parameters: 409 and 8 in auxiliary states, 1.63 KiB",
        "table for data=1,2,6,6",
    ]
    rows = table(out)
    assert rows["conv"] == ["Convolution", "(1,", "4,", "4,", "4)", "76", "2.37", "k", "256", "B"]
    # 2 per multiplication with addition, and the bias: 64 x 5; 5.
    assert rows["fc"] == ["FullyConnected", "(1,", "5)", "325", "645", "20", "B"]
    assert rows["bn"][-4:-2] == ["16", "212"]


def test_inspect_takes_shapes_options_and_prefixes(capsys, network):
    symbol, params = network
    _, out, _ = run(capsys, "inspect", symbol, "--shape", "data=3,2,6,6", "--params", params)
    assert "inputs: data (3, 2, 6, 6), softmax_label (3,) (label)" in out
    assert "table for data=3,2,6,6\n" in out
    by_prefix = run(capsys, "inspect", str(symbol).removesuffix("-symbol.json"))
    assert by_prefix == run(capsys, "inspect", params, symbol)
    assert by_prefix == run(capsys, "inspect", symbol.parent / "net", "--epoch", "1")
    status, out, err = run(capsys, "inspect", symbol.parent / "net", "--epoch", "7")
    assert (status, out) == (2, "")
    assert err.endswith("epoch 7 is missing\n  try: one of those there: 1\n")


def test_inspect_counts_shared_parameters_once(capsys, tmp_path):
    weight = mx.sym.Variable("w")
    x = mx.sym.Variable("data")
    for name in ("one", "two"):
        x = mx.sym.FullyConnected(x, weight, num_hidden=3, no_bias=True, name=name)
    x.save(str(tmp_path / "x.json"))
    _, out, _ = run(capsys, "inspect", tmp_path / "x.json", "--shape", "data=2,3")
    rows = table(out)
    assert [rows[name][3] for name in ("one", "two")] == ["9", "0"]
    assert rows["sum"][0] == "9"


def test_inspect_of_a_symbol_marks_unknown_numbers(capsys, network):
    status, out, _ = run(capsys, "inspect", network[0])
    assert status == 0
    assert "inputs: data (N, ?, ?, ?), softmax_label (N,) (label)\n" in out
    assert "sizes that are not known: data; give the inputs' sizes, such as --shape " in out
    assert "--shape data=1,3,224,224\n" in out
    assert table(out)["fc"] == ["FullyConnected", "(?,", "5)", "5", "+", "?", "?", "?"]
    _, out, _ = run(capsys, "inspect", network[0], "--shape", "data=0,2,6,6")
    assert table(out)["conv"] == ["Convolution", "(?,", "4,", "4,", "4)", "76", "?", "?"]


def test_inspect_of_parameters(capsys, network):
    status, out, _ = run(capsys, "inspect", network[1])
    assert status == 0
    assert out.splitlines()[1] == "  arg:conv_weight (4, 2, 3, 3) float32"
    assert len(out.splitlines()) == 9


def test_inspect_refuses_parameters_of_another_network(capsys, network, tmp_path):
    stored = mx.nd.load(str(network[1]))
    assert isinstance(stored, dict)
    path = tmp_path / "other.params"

    def inspect(entries):
        mx.nd.save(str(path), entries)
        status, out, err = run(capsys, "inspect", network[0], path)
        assert (status, err) == (1, "")
        assert "layer " not in out or "fit the symbol" in out
        return [line for line in out.splitlines() if line.startswith("  ")]

    other = {k: v for k, v in stored.items() if not k.startswith(("arg:fc", "aux"))}
    assert inspect({**other, "arg:head_weight": mx.nd.ones((3, 3))}) == [
        "  missing (4): fc_weight, fc_bias, bn_moving_mean, bn_moving_var",
        "  not in the symbol (1): head_weight",
    ]
    wide = {k: mx.nd.ones((7, *v.shape[1:])) if "conv" in k else v for k, v in stored.items()}
    assert inspect(wide) == [
        "  of another shape (2): conv_weight (7, 2, 3, 3), expected (4, ?, 3, 3); "
        "conv_bias (7,), expected (4,)"
    ]
    moved = {k.replace("aux:bn_moving_mean", "arg:bn_moving_mean"): v for k, v in stored.items()}
    problem = "stored as arg: instead of aux:, or the reverse"
    assert inspect(moved) == [f"  {problem} (1): bn_moving_mean"]
    last = {**stored, "arg:fc_weight": mx.nd.ones((5, 63))}
    assert inspect(last) == ["  of another shape (1): fc_weight (5, 63), expected (5, ?)"]


def test_inspect_counts_what_is_not_finite(capsys, network, tmp_path):
    stored = mx.nd.load(str(network[1]))
    assert isinstance(stored, dict)
    weight = stored["arg:fc_weight"].asnumpy().copy()
    weight[1, :3] = np.nan
    weight[2, 0] = -np.inf
    path = str(tmp_path / "nan.params")
    mx.nd.save(path, {**stored, "arg:fc_weight": mx.nd.array(weight, dtype="float16")})
    status, out, _ = run(capsys, "inspect", network[0], path)
    assert status == 1
    assert "  not finite (1): 3 NaN, 1 infinite in arg:fc_weight\n" in out
    assert "8 arrays, 7 float32, 1 float16, " in out
    assert run(capsys, "inspect", path)[0] == 1


def test_inspect_folds_repeated_layers_into_the_width_of_the_terminal(
    capsys, tmp_path, monkeypatch
):
    x = mx.sym.Variable("data")
    for unit in range(60):
        x = mx.sym.FullyConnected(x, num_hidden=8, name=f"stage{unit // 20}_unit{unit}_fc")
        x = mx.sym.Activation(x, act_type="tanh", name=f"stage{unit // 20}_unit{unit}_tanh")
    path = tmp_path / "deep-symbol.json"
    x.save(str(path))
    for columns in ("70", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        arguments = ("inspect", path, "--shape", "data=1,8")
        _, out, _ = run(capsys, *arguments)
        assert len(out.splitlines()) < 50
        assert max(map(len, out.splitlines()[1:])) <= int(columns)
    _, out, _ = run(capsys, *arguments, "--full")
    assert sum("FullyConnected" in line for line in out.splitlines()) == 60


def test_coverage_of_served_operators(capsys, network):
    status, out, err = run(capsys, "coverage", network[0])
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"{network[0]}: all 4 operators are served"
    assert [line.split() for line in out.splitlines()[3:7]] == [
        ["BatchNorm", "1", "served"],
        ["Convolution", "1", "served"],
        ["FullyConnected", "1", "served"],
        ["SoftmaxOutput", "1", "served"],
    ]


def test_coverage_names_everything_missing(capsys, network, tmp_path):
    document = json.loads(network[0].read_text())
    nodes = {node["name"]: node for node in document["nodes"]}
    nodes["bn"]["op"] = "Nonsense"
    nodes["conv"]["attrs"]["colour"] = "red"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document))
    status, out, err = run(capsys, "coverage", network[0], path)
    assert (status, err) == (1, "")
    table = out.splitlines()[out.splitlines().index(f"{path}: 2 of 4 operators are not served") :]
    assert [line.split(maxsplit=2)[2] for line in table[3:7]] == [
        "attribute not served  (colour='red': unknown attribute): conv",
        "served",
        "absent                bn",
        "served",
    ]
    assert out.splitlines()[-1] == "1 of 2 files are served whole"


def test_coverage_of_a_folder_has_a_total(capsys, network, tmp_path):
    (tmp_path / "deep").mkdir()
    broken = tmp_path / "deep" / "page-symbol.json"
    broken.write_text("<html></html>")
    (tmp_path / "settings.json").write_text('{"colour": "red"}')
    status, out, err = run(capsys, "coverage", tmp_path)
    assert (status, err) == (1, "")
    assert out.splitlines() == [
        f"{broken}: it is an HTML page, expected a symbol in JSON",
        "  try: the download again: the server answered with a page, not with the file",
        "",
        f"{network[0]}: all 4 operators are served",
        "1 of 2 files are served whole; 1 cannot be read",
    ]
    (tmp_path / "none").mkdir()
    assert run(capsys, "coverage", tmp_path / "none")[0] == 2


@pytest.fixture
def picture(tmp_path):
    """A picture, red on its left half and blue on its right."""
    cv2 = pytest.importorskip("cv2")
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, :30, 2] = 200
    pixels[:, 30:, 0] = 100
    cv2.imwrite(str(tmp_path / "picture.png"), pixels)
    return tmp_path / "picture.png"


def save(prefix, symbol, **params):
    arrays = {name: mx.nd.array(value) for name, value in params.items()}
    mx.model.save_checkpoint(prefix, 0, symbol, arrays, {})


def test_run_shows_the_top_classes_of_a_picture(capsys, tmp_path, picture):
    x = mx.sym.Pooling(mx.sym.Variable("data"), global_pool=True, pool_type="avg", kernel=(1, 1))
    x = mx.sym.Convolution(x, num_filter=3, kernel=(1, 1), no_bias=True, name="conv")
    scores = mx.sym.Flatten(x, name="flat")
    weight = np.eye(3).reshape(3, 3, 1, 1)
    save(tmp_path / "scores", scores, conv_weight=weight)
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    arguments = ["--image", picture, "--size", "20", "--labels", tmp_path / "labels.txt"]

    def top(prefix, *options):
        status, out, err = run(capsys, "run", tmp_path / prefix, *arguments, *options)
        assert (status, err) == (0, "")
        return [line.split() for line in out.splitlines()]

    # The middle third of the picture is cut out: as much red as blue.
    assert top("scores") == [
        ["flat_output", "(1,", "3):"], ["score", "class", "label"], ["-----", "-----", "-----"],
        ["100", "0", "red"], ["50", "2", "blue"], ["0", "1", "green"],
    ]  # fmt: skip
    assert top("scores", "--order", "bgr", "--top", "1")[3:] == [["100", "2", "blue"]]
    options = ["--mean", "0,-2,50", "--std", "10,1,1", "--scale", "0.5"]
    assert [row[:2] for row in top("scores", *options)[3:]] == [["5", "0"], ["1", "1"], ["0", "2"]]
    save(tmp_path / "shares", mx.sym.softmax(scores * 0.01, name="p"), conv_weight=weight)
    assert top("shares", "--top", "1")[1:] == [
        ["probability", "class", "label"], ["-----------", "-----", "-----"],
        ["50.65%", "0", "red"],
    ]  # fmt: skip


def test_run_describes_other_outputs(capsys, tmp_path, picture):
    data = mx.sym.Variable("data")
    boxes = mx.sym.reshape(mx.sym.Variable("boxes"), shape=(1, 3, 6))
    rows = [[1, 0.5, 0, 0, 0.5, 1], [-1, 1, 0, 0, 1, 1], [0, 0.75, 0.1, 0.2, 0.3, 0.4]]
    symbol, params = tmp_path / "net-symbol.json", tmp_path / "net"
    arguments = ["--image", picture, "--size", "40,60"]
    x = mx.sym.Convolution(data, num_filter=1, kernel=(1, 1), no_bias=True, name="conv")
    output = mx.sym.Group([mx.sym.identity(x, name="same"), mx.sym.identity(boxes, name="det")])
    save(tmp_path / "net", output, boxes=np.array(rows), conv_weight=np.ones((1, 3, 1, 1)))
    status, out, err = run(capsys, "run", symbol, params, *arguments)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "same_output (1, 1, 40, 60):",
        "minimum 100, mean 150, maximum 200; 2.4 k elements",
        "det_output (1, 3, 6):",
        "2 boxes",
        " score  class  label  left, top, right, bottom",
        "------  -----  -----  --------------------------",
        "75.00%      0         0.100, 0.200, 0.300, 0.400",
        "50.00%      1         0.000, 0.000, 0.500, 1.000",
    ]


def test_run_needs_a_picture(capsys, network, tmp_path, picture, monkeypatch):
    status, _, err = run(capsys, "run", network[0], "--image", network[0])
    assert status == 2
    assert err.startswith(f"error: {network[0]}: decoding an image: ")
    status, _, err = run(capsys, "run", network[0], "--image", picture)
    assert (status, err.partition(", expected")[0]) == (
        2, "error: a network for pictures: its inputs are data (?, 2, ?, ?)"
    )  # fmt: skip
    x = mx.sym.Convolution(
        mx.sym.Variable("data"), num_filter=1, kernel=(1, 1), no_bias=True, name="conv"
    )
    save(tmp_path / "x", x, conv_weight=np.ones((1, 3, 1, 1)))
    arguments = ["run", tmp_path / "x", "--image", picture]
    for option, number, problem in (
        ("--mean", "1,2", "2 numbers for 3 channels"),
        ("--std", "1,0,1", "it holds 0, and pixels are divided by it"),
    ):
        outcome = run(capsys, *arguments, option, number)
        assert outcome == (2, "", f"error: {option}: {problem}\n")
    monkeypatch.setitem(sys.modules, "cv2", None)
    status, _, err = run(capsys, "run", network[0], "--image", picture)
    assert status == 2
    assert "pip install 'executorkit[image]'" in err


@pytest.mark.parametrize("form", ["stablehlo", "onnx", "safetensors", "npz"])
def test_export_writes_loads_and_compares(capsys, network, form):
    if form == "onnx":
        pytest.importorskip("onnx")
    if form == "safetensors":
        pytest.importorskip("safetensors")
    status, out, err = run(capsys, "export", network[0], network[1], "--to", form)
    assert (status, err) == (0, "")
    path = network[1].with_suffix(f".{form}")
    assert path.stat().st_size > 1000
    first, second = out.splitlines()[:2]
    assert first.startswith(f"{path}: ")
    number = re.match(
        "loaded again and compared with executorkit: "
        r"(?:largest difference: (\S+) \(|\d+ (?:output|array)s? compared: all are equal$)",
        second,
    )
    assert number
    assert float(number[1] or 0) < 1e-5


WRONG = {
    "no such file": (
        ["inspect", "{tmp}/none.json"],
        "error: {tmp}/none.json: cannot be read: No such file or directory\n",
    ),
    "no such file to cover": (
        ["coverage", "{symbol}", "{tmp}/none.json"],
        "error: {tmp}/none.json: cannot be read: No such file or directory\n",
    ),
    "no argument of that name": (
        ["inspect", "{symbol}", "--shape", "image=1,2,6,6"],
        "error: the shape of 'image': it is not an argument of this symbol\n"
        "  try: one of: data, softmax_label\n",
    ),
    "two symbols": (
        ["inspect", "{symbol}", "{symbol}"],
        "error: {symbol}: a second symbol file, after {symbol}\n",
    ),
    "no checkpoint of that prefix": (
        ["run", "{tmp}/none", "--image", "x.jpg"],
        "error: x.jpg: cannot be read: No such file or directory\n",
    ),
    "parameters as a network": (
        ["export", "{symbol}", "{params}", "--to", "stablehlo", "--shape", "data=1,3,6,6"],
        "error: parameter 'conv_weight': it is (4, 2, 3, 3), expected (4, 3, 3, 3)\n",
    ),
    "no such platform": (
        ["export", "{symbol}", "{params}", "--to", "stablehlo", "--platforms", "cpu,abacus"],
        "error: export to StableHLO: platforms=('cpu', 'abacus')\n"
        "  try: one or more of cpu, cuda, tpu, rocm\n",
    ),
    "the file itself as output": (
        ["export", "{params}", "--to", "params"],
        "error: {params}: it would be written over the file that is exported\n"
        "  try: another --output\n",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_reported_on_stderr(capsys, network, tmp_path, case):
    places = {"tmp": tmp_path, "symbol": network[0], "params": network[1]}
    arguments, message = WRONG[case]
    outcome = run(capsys, *(argument.format(**places) for argument in arguments))
    assert outcome == (2, "", message.format(**places))


@pytest.mark.parametrize("text", ["data", "data=", "=1,2", "data=1,x", "data=-1,2"])
def test_wrong_shapes_are_reported_on_stderr(capsys, network, text):
    status, out, err = run(capsys, "inspect", network[0], "--shape", text)
    assert (status, out) == (2, "")
    assert err.endswith(
        f"error: argument --shape: {text!r} is not a named shape; write it as data=1,3,224,224 "
        "(0 for an unknown size)\n"
    )


@pytest.mark.parametrize("command", ["inspect", "coverage"])
@pytest.mark.parametrize("content", ["", "{", "[1, 2]", '{"nodes": 3}'])
def test_files_that_are_not_symbols(capsys, tmp_path, command, content):
    path = tmp_path / "broken.json"
    path.write_text(content)
    status, out, err = run(capsys, command, path)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"executorkit {mx.release}\n", "")


def test_commands_and_their_arguments_are_required(capsys):
    assert run(capsys)[0] == 2
    assert run(capsys, "inspect")[0] == 2
    assert run(capsys, "dance")[0] == 2
    assert run(capsys, "demo", "--epochs", "0")[2].endswith("'0' is not a positive number\n")


def test_the_demo_learns_and_saves(capsys, tmp_path):
    status, out, _ = run(capsys, "demo", "--output", tmp_path / "out", "--epochs", "10")
    assert status == 0
    accuracy = re.search(r"^accuracy on 360 digits never seen: ([\d.]+)%$", out, re.MULTILINE)
    assert float(accuracy[1]) > 97
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "digits-0010.params", "digits-symbol.json"
    ]  # fmt: skip
    assert out.count("this is a ") == 6
    assert all(f"epoch {i}/10: " in out for i in range(1, 11))


def test_run_as_a_module(network):
    done = subprocess.run(
        [sys.executable, "-m", "executorkit", "coverage", str(network[0])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "all 4 operators are served" in done.stdout


def test_a_closed_pipe_is_no_error(network):
    process = subprocess.Popen(
        [sys.executable, "-m", "executorkit", "inspect", str(network[0])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


@pytest.fixture
def disk_cache(tmp_path):
    """The directory of a disk cache with two files, used during the test."""
    mx.program.enable_disk_cache(tmp_path / "cache")
    for letter, kind in (("a", "program"), ("b", "answer")):
        path = tmp_path / "cache" / f"{letter * 48}.{kind}"
        path.write_bytes(bytes(5000))
        os.utime(path, (0, 1_000_000_000))
    yield tmp_path / "cache"
    mx.program.disable_disk_cache()


def test_cache_tells_what_is_in_it(capsys, disk_cache):
    status, out, err = run(capsys, "cache")
    assert (status, err) == (0, "")
    time = datetime.fromtimestamp(1_000_000_000).isoformat(" ")
    assert out.splitlines() == [
        f"directory: {disk_cache}",
        "on: enable_disk_cache names it",
        "1 program, 16 KiB of at most 1 GiB",
        f"last used: the oldest {time}, the newest {time}",
    ]


def test_cache_deletes_its_own_files_only(capsys, disk_cache):
    (disk_cache / "notes.txt").touch()
    _, out, _ = run(capsys, "cache", "--clear")
    assert out.splitlines()[0] == "1 program deleted"
    assert out.splitlines()[3:] == ["0 programs, 0 B of at most 1 GiB"]
    assert [path.name for path in disk_cache.iterdir()] == ["notes.txt"]


def test_cache_tells_why_it_is_off(capsys):
    mx.program.disable_disk_cache()
    _, out, _ = run(capsys, "cache", "--clear")
    assert out.splitlines() == [
        "0 programs deleted", "directory: none", "off: disable_disk_cache()",
    ]  # fmt: skip
