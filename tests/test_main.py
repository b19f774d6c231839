"""The command line: printed text, exit statuses, and wrong inputs without a traceback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types

import pytest

import executorkit as mx
from executorkit.__main__ import main
from executorkit._cli import _demo_command as _demo


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


@pytest.mark.parametrize("with_params", [False, True])
def test_inspect_prints_a_table_of_layers(capsys, network, with_params):
    symbol, params = network
    options = ["--params", params] if with_params else []
    status, out, err = run(capsys, "inspect", symbol, "--shape", "data=1,2,6,6", *options)
    assert (status, err) == (0, "")
    assert out == f"{mx.sym.load(str(symbol)).summary(data=(1, 2, 6, 6))}\n"
    conv, bn, fc, softmax = (line.split() for line in out.splitlines()[4:8])
    assert conv[-3:] == ["k", "256", "B"]
    assert [row[6] for row in (conv, bn)] == ["76", "16"]
    # 2 per multiplication with addition, and the bias: 64 x 5; 5.
    assert fc[-4:] == ["325", "645", "20", "B"]
    assert softmax[:4] == ["softmax", "SoftmaxOutput", "(1,", "5)"]


def test_inspect_counts_shared_parameters_once(capsys, tmp_path):
    weight = mx.sym.Variable("w")
    x = mx.sym.Variable("data")
    for name in ("one", "two"):
        x = mx.sym.FullyConnected(x, weight, num_hidden=3, no_bias=True, name=name)
    x.save(str(tmp_path / "x.json"))
    _, out, _ = run(capsys, "inspect", tmp_path / "x.json", "--shape", "data=2,3")
    assert [line.split()[4] for line in out.splitlines()[4:6]] == ["9", "0"]
    assert out.splitlines()[7].split()[1] == "9"


def test_inspect_marks_unknown_numbers(capsys, network):
    status, out, _ = run(capsys, "inspect", network[0])
    assert status == 0
    assert out.splitlines()[6].split() == ["fc", "FullyConnected", "?", "5", "+", "?", "?", "?"]
    assert out.endswith("give those of the inputs, such as data=(1, 3, 224, 224)\n")
    _, out, _ = run(capsys, "inspect", network[0], "--shape", "data=0,2,6,6")
    assert "conv     Convolution     (?, 4, 4, 4)          76      ?       ?" in out


def test_inspect_lists_parameters_that_are_not_in_the_symbol(capsys, network, tmp_path):
    path = tmp_path / "more.params"
    mx.nd.save(str(path), {"arg:zzz": mx.nd.ones((1,))})
    status, out, _ = run(capsys, "inspect", network[0], "--params", path)
    assert out.startswith(f"{path}: not in the symbol: 1 entries, such as 'zzz'\n")
    assert status == 1


@pytest.mark.parametrize("shape", [[], ["--shape", "data=1,2,6,6"]])
def test_inspect_refuses_parameters_of_another_network(capsys, network, tmp_path, shape):
    stored = mx.nd.load(str(network[1]))
    assert isinstance(stored, dict)
    path = tmp_path / "other.params"

    def inspect(entries):
        mx.nd.save(str(path), entries)
        status, out, err = run(capsys, "inspect", network[0], "--params", path, *shape)
        assert err == ""
        return status, out.splitlines()

    other = {k: v for k, v in stored.items() if not k.startswith(("arg:fc", "aux"))}
    assert inspect({**other, "arg:head_weight": mx.nd.ones((3, 3))}) == (1, [
        f"{path}: not in the symbol: 1 entries, such as 'head_weight'",
        f"{path}: missing: 4 entries, such as 'fc_weight', 'fc_bias', 'bn_moving_mean', "
        "'bn_moving_var'",
    ])  # fmt: skip
    wide = {k: mx.nd.ones((7, *v.shape[1:])) if "conv" in k else v for k, v in stored.items()}
    assert inspect(wide) == (
        1, [f"{path}: of another shape: 2 entries, such as 'conv_weight', 'conv_bias'"]
    )  # fmt: skip
    status, lines = inspect({**stored, "arg:extra": mx.nd.ones((1,))})
    assert (status, lines[0]) == (1, f"{path}: not in the symbol: 1 entries, such as 'extra'")
    assert any("Convolution" in line for line in lines)


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
        "error: --shape image: it is not an argument of this symbol\n"
        "  try: one of: data, softmax_label\n",
    ),
    "shapes that contradict the parameters": (
        ["inspect", "{symbol}", "--params", "{params}", "--shape", "data=1,3,6,6"],
        "error: node 'conv' (Convolution): 'weight' is (4, 2, 3, 3), expected (4, 3, 3, 3)\n"
        "  because data is (1, 3, 6, 6), kernel=(3, 3), num_filter=4\n"
        "  given by: argument 'conv_weight'\n"
        "  try: give 'conv_weight' as (4, 3, 3, 3), or leave it out to have it inferred\n",
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
        f"error: argument --shape: {text!r} is no named shape; write it as data=1,3,224,224 "
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
    assert run(capsys, "--version") == (0, f"executorkit {mx.__version__}\n", "")


def test_commands_and_their_arguments_are_required(capsys):
    assert run(capsys)[0] == 2
    assert run(capsys, "inspect")[0] == 2
    assert run(capsys, "dance")[0] == 2
    assert run(capsys, "demo", "--epochs", "0")[2].endswith("'0' is no positive number\n")


def test_the_demo_learns_compares_and_saves(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(_demo, "PAIRS", 4)
    status, out, _ = run(capsys, "demo", "--output", tmp_path / "out", "--epochs", "10")
    assert status == 0
    accuracy = re.search(r"^accuracy on 360 digits never seen: ([\d.]+)%$", out, re.MULTILINE)
    assert float(accuracy[1]) > 97
    assert re.search(
        r"^training step of 64 digits: .* by hand / executorkit \d+\.\d\d$", out, re.MULTILINE
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "digits-0010.params", "digits-symbol.json"
    ]  # fmt: skip
    assert out.count("this is a ") == 6
    assert all(f"epoch {i}/10: " in out for i in range(1, 11))


def test_progress_is_a_bar_only_where_tqdm_is_installed(monkeypatch):
    shown = []

    def tqdm(items, desc, leave):
        shown.append(desc)
        return items

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=tqdm))
    assert list(_demo.progress([1, 2], "epoch 1")) == [1, 2]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(_demo.progress([1, 2], "epoch 2")) == [1, 2]
    assert shown == ["epoch 1"]


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
