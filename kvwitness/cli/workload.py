"""``kvwitness workload``: serve a production trace on a port and judge every step."""

import json
from pathlib import Path

import click

from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.model.kinds import MAMBA_MODES, ConfigError, Kind, Name
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import FORMS, resolve
from kvwitness.workload.drive import config_for, serve
from kvwitness.workload.report import Report
from kvwitness.workload.serving import Limits
from kvwitness.workload.trace_file import read_workload

BLOCKS: dict[Name, int] = {"full": 3000, "sliding": 700, "chunked": 700, "mamba": 100}
"""The kinds that are served, each with a pool that a trace of long prompts puts under pressure with the other defaults."""

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


def kind_of(name: Name, *, window: int, chunk: int, mode: str, drafts: int) -> Kind:
    """The kind with the sizes that matter to it."""
    if name == "sliding":
        return Kind(name, window=window)
    if name == "chunked":
        return Kind(name, chunk=chunk)
    if name == "mamba":
        return Kind(name, mode=next(each for each in MAMBA_MODES if each == mode), drafts=drafts)
    return Kind(name)


@click.command(epilog="A port is one of: " + ", ".join(f"{form} ({what})" for form, what in FORMS.items()) + ".")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(list(BLOCKS)), default="full", show_default=True, help="The kind of manager.")
@click.option("--blocks", type=click.IntRange(min=2), help=f"Blocks in the pool; default by kind: {', '.join(f'{k} {n}' for k, n in BLOCKS.items())}.")
@click.option("--block-size", type=POSITIVE, default=512, show_default=True, help="Tokens a block; any size, 512 is what the trace's ids stand for.")
@click.option("--requests", type=POSITIVE, help="Serve only so many, the first to arrive.")
@click.option("--port", default="impl", show_default=True, metavar="PORT", help="What the trace is served on.")
@click.option("--profile", type=click.Choice(list(PROFILES)), default="sound", show_default=True, help="The rules in force.")
@click.option("--window", type=POSITIVE, default=4096, show_default=True, help="Tokens of a sliding window.")
@click.option("--chunk", type=POSITIVE, default=8192, show_default=True, help="Tokens of an attention chunk.")
@click.option("--mode", type=click.Choice(MAMBA_MODES), default="align", show_default=True, help="Mamba's cache mode.")
@click.option("--drafts", type=click.IntRange(min=0), default=0, show_default=True, help="Draft tokens of a decode.")
@click.option("--batch-tokens", type=POSITIVE, default=8192, show_default=True, help="Tokens of an engine step.")
@click.option("--max-running", type=POSITIVE, default=128, show_default=True, help="Requests that run at once.")
@click.option("--refine", type=click.IntRange(min=0), default=500, show_default=True, metavar="STEPS", help="First steps that the model is run beside.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def workload(
    file: Path, port: str, profile: str, *, kind: Name, blocks: int | None, block_size: int, requests: int | None, window: int, chunk: int,
    mode: str, drafts: int, batch_tokens: int, max_running: int, refine: int, as_json: bool,
) -> int:  # fmt: skip
    """Serve the requests of the trace FILE, and judge every engine step.

    FILE is in the Mooncake format: JSON lines, plain or in a .gz, with timestamp (ms), input_length, output_length and hash_ids.
    Requests are admitted in order of arrival as capacity permits, with chunked prefill, continuous batching and preemption.
    """
    rules, limits = PROFILES[profile], Limits(batch_tokens, max_running)
    chosen = kind_of(kind, window=window, chunk=chunk, mode=mode, drafts=drafts)
    check_limits(chosen, block_size, limits)
    make_port = resolve(port)
    wanted = read_workload(file, requests or 0)
    config = config_for(wanted, chosen, blocks=blocks or BLOCKS[kind], block_size=block_size, drafts=drafts)
    driven = make_port(rules)
    level = driven.hello().level
    refined = refine if level in ("L2", "L3") else 0
    served = serve(
        driven, config, rules, wanted, limits, refined_steps=refined, level=level, say=lambda text: click.echo(f"kvwitness: {text}", err=True)
    )
    driven.close()
    report = Report(str(file), port, profile, limits, served)
    click.echo(json.dumps(report.as_json(), ensure_ascii=False) if as_json else report.as_text())
    return EXIT_CODES[report.verdict]
