"""``kvwitness workload``: serve a production trace on a port and judge every step."""

import json
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.model.kinds import MAMBA_MODES, ConfigError, Kind, MambaMode, Name
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import FORMS, resolve
from kvwitness.workload.drive import config_for, serve
from kvwitness.workload.report import Report
from kvwitness.workload.serving import Limits
from kvwitness.workload.trace_file import read_workload

BLOCKS: dict[Name, int] = {"full": 3000, "sliding": 700, "chunked": 700, "mamba": 100}
"""The kinds that are served, each with a pool that a trace of long prompts puts under pressure with the other defaults."""

DEFAULT_BLOCKS = ", ".join(f"{blocks} for {kind}" for kind, blocks in BLOCKS.items())

EXIT_CODES = {"held": HELD, "failed": FAILED, "undecided": UNDECIDED}

POSITIVE = click.IntRange(min=1)


def check_limits(kind: Kind, block_size: int, limits: Limits) -> None:
    """Mode align computes whole blocks, so one must be left when everybody else decodes.

    Raises:
        ConfigError: It would wait for ever.
    """
    needed = block_size + (limits.max_running - 1) * (1 + kind.drafts)
    if kind.kind == "mamba" and kind.mode == "align" and limits.batch_tokens < needed:
        allowed = f"{needed} or more: one block of {block_size} beside {limits.max_running - 1} decodes"
        raise ConfigError(f"got batch-tokens {limits.batch_tokens}; allowed is {allowed}; raise it or lower max-running")


@frozen
class Asked:
    """The sizes that a command line asks for, by the names of its options; ``blocks`` and ``requests`` may be left out."""

    kind: Name
    blocks: int | None
    block_size: int
    requests: int | None
    window: int
    chunk: int
    mode: MambaMode
    drafts: int
    batch_tokens: int
    max_running: int
    refine: int

    @property
    def manager(self) -> Kind:
        """The kind with the sizes that matter to it."""
        if self.kind == "sliding":
            return Kind("sliding", window=self.window)
        if self.kind == "chunked":
            return Kind("chunked", chunk=self.chunk)
        if self.kind == "mamba":
            return Kind("mamba", mode=self.mode, drafts=self.drafts)
        return Kind(self.kind)


@click.command(epilog="A port is one of: " + ", ".join(f"{form} ({what})" for form, what in FORMS.items()) + ".")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(list(BLOCKS)), default="full", show_default=True, help="The kind of manager.")
@click.option("--blocks", type=click.IntRange(min=2), help=f"Blocks in the pool; default: {DEFAULT_BLOCKS}.")
@click.option("--block-size", type=POSITIVE, default=512, show_default=True, help="Tokens a block: any size.")
@click.option("--requests", type=POSITIVE, help="Serve only so many, the first to arrive.")
@click.option("--port", default="impl", show_default=True, metavar="PORT", help="What the trace is served on.")
@click.option("--profile", type=click.Choice(list(PROFILES)), default="sound", show_default=True, help="The rules in force.")
@click.option("--window", type=POSITIVE, default=4096, show_default=True, help="Tokens of a sliding window.")
@click.option("--chunk", type=POSITIVE, default=8192, show_default=True, help="Tokens of an attention chunk.")
@click.option("--mode", type=click.Choice(MAMBA_MODES), default="align", show_default=True, help="Mamba's cache mode.")
@click.option("--drafts", type=click.IntRange(min=0), default=0, show_default=True, help="Draft tokens of a decode.")
@click.option("--batch-tokens", type=POSITIVE, default=8192, show_default=True, help="Tokens of an engine step.")
@click.option("--max-running", type=POSITIVE, default=128, show_default=True, help="Requests that run at once.")
@click.option("--refine", type=click.IntRange(min=0), default=500, show_default=True, help="Steps that the model takes too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def workload(file: Path, port: str, profile: str, *, as_json: bool, **sizes: Any) -> int:
    """Serve the requests of the trace FILE, and judge every engine step.

    FILE is in the Mooncake format: JSON lines, plain or in a .gz, with timestamp (ms), input_length, output_length and hash_ids.
    Requests are admitted in order of arrival as capacity permits, with chunked prefill, continuous batching and preemption.
    """
    asked, rules, make_port = Asked(**sizes), PROFILES[profile], resolve(port)
    limits = Limits(asked.batch_tokens, asked.max_running)
    check_limits(asked.manager, asked.block_size, limits)
    wanted = read_workload(file, asked.requests or 0)
    blocks = asked.blocks or BLOCKS[asked.kind]
    config = config_for(wanted, asked.manager, blocks=blocks, block_size=asked.block_size, drafts=asked.drafts)
    driven = make_port(rules)
    level = driven.hello().level
    refined = asked.refine if level in ("L2", "L3") else 0
    served = serve(driven, config, rules, wanted, limits, refined_steps=refined, level=level, say=_say)
    driven.close()
    report = Report(str(file), port, profile, limits, served)
    click.echo(json.dumps(report.as_json(), ensure_ascii=False) if as_json else report.as_text())
    return EXIT_CODES[report.verdict]


def _say(text: str) -> None:
    click.echo(f"kvwitness: {text}", err=True)
