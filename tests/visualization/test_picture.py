"""Pictures without graphviz: files, notebooks, drawings."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import executorkit as mx
from tests._tools.work import count_calls
from tests.display._html import checked


@pytest.fixture(autouse=True)
def _without_graphviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)


def network():
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc <1>")
    return mx.sym.Activation(x, act_type="relu", name="relu")


def test_signatures_are_mxnets():
    assert str(inspect.signature(mx.viz.print_summary)).replace("collections.abc.", "") == (
        "(symbol: Any, shape: Mapping[str, tuple[int, ...]] | None = None, line_length: int = 120, "
        "positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0)) -> None"
    )
    defaults = {
        name: p.default for name, p in inspect.signature(mx.viz.plot_network).parameters.items()
    }
    assert defaults == {
        "symbol": inspect.Parameter.empty, "title": "plot", "save_format": "pdf", "shape": None,
        "dtype": None, "node_attrs": {}, "hide_weights": True,
    }  # fmt: skip
    assert mx.viz is mx.visualization


def test_a_notebook_shows_the_drawing_and_what_is_missing():
    picture = mx.viz.plot_network(network(), shape={"data": (2, 3)})
    words = checked(picture._repr_html_())
    assert "fc <1>" in words
    assert "(2, 10)" in words
    assert "pip install graphviz" in words
    assert set(picture._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert "fc_weight" not in words
    every = mx.viz.plot_network(network(), hide_weights=False)
    assert "fc <1>_weight" in checked(every._repr_html_())


def test_a_file_of_svg_stands_alone(tmp_path):
    picture = mx.viz.plot_network(network(), title="net", save_format="svg")
    path = picture.render(directory=str(tmp_path / "new"))
    assert path == str(tmp_path / "new" / "net.gv.svg")
    root = ElementTree.parse(path).getroot()
    style, *_ = root.iter("{http://www.w3.org/2000/svg}style")
    assert "--dense:" in (style.text or "")
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "fc <1>" in texts
    assert picture._repr_svg_() == Path(path).read_text("utf-8")


def test_other_formats_are_said_to_need_graphviz(tmp_path):
    picture = mx.viz.plot_network(network())
    with pytest.warns(UserWarning, match="^no pdf but SVG is written; drawn without"):
        picture.render(tmp_path / "a")
    with pytest.warns(UserWarning, match="^no png"):
        picture.render(tmp_path / "a", format="PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]


def test_sources_are_saved(tmp_path):
    picture = mx.viz.plot_network(network())
    path = picture.save(directory=str(tmp_path))
    assert path == str(tmp_path / "plot.gv")
    assert Path(path).read_text("utf-8") == picture.source == str(picture)


def test_view_opens_a_browser(tmp_path, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    picture = mx.viz.plot_network(network(), save_format="svg")
    path = picture.view(tmp_path / "a")
    assert opened == [(tmp_path / "a.svg").as_uri()]
    assert path == str(tmp_path / "a.svg")


def test_repeated_names_are_said():
    x = mx.sym.relu(mx.sym.relu(mx.sym.Variable("a"), name="x"), name="x")
    with pytest.warns(RuntimeWarning) as caught:
        mx.viz.plot_network(x)
    assert str(caught[0].message) == (
        "There are multiple variables with the same name in your graph, "
        "this may result in cyclic graph. Repeated names: x"
    )


def test_messages():
    with pytest.raises(TypeError) as caught:
        mx.viz.print_summary(3)
    assert str(caught.value) == (
        "print_summary: 3 (int) is not a Symbol\n  try: a network made with mx.sym"
    )
    with (
        pytest.warns(UserWarning, match="shapes do not follow for data"),
        pytest.raises(ValueError, match=r"^plot_network: ") as caught,
    ):
        mx.viz.plot_network(network(), shape={})
    assert str(caught.value) == (
        "plot_network: not all shapes follow from {}\n"
        "  try: the shapes of all inputs, as in shape={'data': (1, 3, 224, 224)}"
    )


def test_a_scalar_that_is_read_counts_as_no_channels(capsys):
    x = mx.sym.reshape(mx.sym.sum(mx.sym.Variable("data"), name="s"), shape=(1, 1), name="r")
    mx.viz.print_summary(mx.sym.FullyConnected(x, num_hidden=3, name="f"), {"data": (2, 3)})
    assert "Total params: 6" in capsys.readouterr().out


def _layers(count: int) -> mx.sym.Symbol:
    x = mx.sym.Variable("data")
    for i in range(count):
        x = mx.sym.relu(x, name=f"layer{i}")
    return x


def test_two_thousand_nodes_are_drawn_in_linear_time():
    assert len(mx.viz.plot_network(_layers(2000))._repr_svg_()) < 600_000
    short, long = (count_calls(mx.viz.plot_network(_layers(n))._repr_svg_) for n in (500, 2000))
    assert long < 4.5 * short
