"""Mixed groups behind the ports: ours equals the specification under every profile."""

from collections import Counter

import pytest

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import PROFILES, SOUND, Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.mixes import MIXES, mixes_not_offered
from kvwitness.properties.situations import not_offered

CONFIG = Config(blocks=20, block_size=2, groups=(Kind("full"), Kind("sliding", window=3, block_size=4)), max_model_len=32)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_our_coordinator_equals_the_specification(profile: Profile) -> None:
    port = ImplPort(profile)
    for mix in MIXES:
        if mix in mixes_not_offered(not_offered(profile)):
            continue
        setting, rng = setting_of(mix, profile, 11, 0, ("refinement",))
        _, violation = one_run(port, setting, rng, Counter())

        assert violation is None, (mix, violation)


def test_external_tokens_tell_what_each_group_took() -> None:
    port = ImplPort(SOUND)
    port.reset(CONFIG)
    taken = port.call(Call("allocate_new_computed_blocks", ("A", (), 0, 6)))
    again = port.call(Call("allocate_new_computed_blocks", ("A", (), 0, 6)))

    assert taken.value == ((1, 2, 3), (4,))
    assert port.observe().tables == ({"A": (1, 2, 3)}, {"A": (0, 4)})
    assert again.value == ((), ())


def test_a_port_goes_back_to_single_managers() -> None:
    port = ImplPort(SOUND)
    port.reset(CONFIG)
    port.reset(Config(blocks=9, block_size=2, groups=(Kind("full"),)))

    assert port.call(Call("allocate_new_blocks", ("A", 4, 4, 0))).value == ((1, 2),)


def test_a_mix_is_not_offered_where_one_of_its_kinds_is_not() -> None:
    missing = mixes_not_offered({"sink": "no sinks here"})

    assert missing["full+sink"] == "sink: no sinks here"
    assert set(missing) == {mix for mix in MIXES if "sink" in mix.split("+")}
