import json

import pytest

from kvwitness.cli.main import run


@pytest.mark.slow
def test_the_source_of_our_implementation_is_proved_claim_by_claim(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["prove", "--port", "impl", "PATHS.ESTIMATE.ADMIT.FULL", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert [(claim["id"], claim["verdict"]) for claim in told["claims"]] == [("PATHS.ESTIMATE.ADMIT.FULL", "proved")]
    assert told["profile"] == "sound"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--port", "mutant:touch-forgotten"], "allowed is impl, vllm"), (["--port", "impl", "NOBODY"], "no claim about a port's source")],
)
def test_a_port_without_source_or_an_unknown_claim_is_bad_input(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", *arguments]) == 2
    assert says in capsys.readouterr().err
