import sys
from pathlib import Path

import pytest

from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND
from kvwitness.ports.model import ModelPort
from kvwitness.ports.resolve import PortError, resolve
from kvwitness.properties.defects.catalogue import DEFECTS

PORTS = """
from kvwitness.ports.model import ModelPort

class Fine(ModelPort):
    pass

class Moody(ModelPort):
    def call(self, call):
        raise RuntimeError("not today,\\n" + call.name)

class Stubborn(ModelPort):
    def reset(self, config):
        raise RuntimeError("never")

class Needy(ModelPort):
    def __init__(self):
        pass

class Half:
    def hello(self):
        pass

no_class = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"ports_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PORTS, encoding="utf-8")
    (tmp_path / f"broken_{name}.py").write_text("import\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return name


def error_of(name: str) -> str:
    with pytest.raises(PortError) as caught:
        resolve(name)(SOUND).reset(Config(4, 2, (Kind("full"),)))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("got ")
    assert "; allowed is " in message
    return message


def test_the_model_is_found() -> None:
    assert resolve("model") is ModelPort


def test_our_implementation_is_found() -> None:
    assert resolve("impl")(SOUND).hello().profile == "sound"


def test_a_class_in_the_current_folder_is_found(module: str) -> None:
    port = resolve(f"py:{module}:Fine")(SOUND)
    idle = port.reset(Config(4, 2, (Kind("full"),)))

    assert port.hello().name == "model"
    assert port.observe() == idle
    assert port.call(Call("get_num_free_blocks", ())).value == 3
    port.close()


@pytest.mark.parametrize("name", ["", "modell", "py", "py:", "py:a", "py:a:", "py::A", "mutant", "mutant:", "model:x:y", "cmd:./x"])
def test_a_name_of_no_form_is_refused_with_the_forms(name: str) -> None:
    assert error_of(name) == (
        f"got the port {name!r}; allowed is model, impl, py:module:Class, mutant:NAME, vllm, vllm==X, vllm:PATH, "
        "engine:vllm==X; choose one of these forms"
    )


def test_a_module_that_is_not_there_is_refused() -> None:
    assert "ModuleNotFoundError: No module named 'nowhere_at_all'" in error_of("py:nowhere_at_all:Port")


def test_a_module_that_does_not_load_is_refused(module: str) -> None:
    assert "SyntaxError: " in error_of(f"py:broken_{module}:Port")


def test_a_class_that_is_not_there_is_refused(module: str) -> None:
    assert f"but {module} has no Port" in error_of(f"py:{module}:Port")


def test_a_class_that_is_no_port_is_refused_with_what_it_lacks(module: str) -> None:
    assert f"'py:{module}:Half' without reset, call, observe, close;" in error_of(f"py:{module}:Half")
    assert "without hello, reset, call, observe, close;" in error_of(f"py:{module}:no_class")


def test_a_class_that_cannot_be_built_is_refused(module: str) -> None:
    assert "TypeError" in error_of(f"py:{module}:Needy")


def test_a_port_that_cannot_reset_is_refused(module: str) -> None:
    assert "got RuntimeError: never from the port" in error_of(f"py:{module}:Stubborn")


def test_an_exception_in_a_call_is_the_port_s_failure(module: str) -> None:
    port = resolve(f"py:{module}:Moody")(SOUND)
    port.reset(Config(4, 2, (Kind("full"),)))
    outcome = port.call(Call("free", ("A",)))

    assert outcome == ("failed", None, "RuntimeError: not today, free")


def test_an_unknown_mutant_is_refused() -> None:
    assert error_of("mutant:no-such-defect").startswith("got the defect 'no-such-defect'; allowed is ")


def test_a_seeded_defect_is_found() -> None:
    first = next(iter(DEFECTS))

    assert resolve(f"mutant:{first.name}")(SOUND).hello().name == f"mutant:{first.name}"
