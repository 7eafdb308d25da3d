"""A space: what is added stays, whatever happens to the files derived from it."""

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cuegraph.engine import space as space_module
from cuegraph.engine import vector_index
from cuegraph.engine.columns import Array
from cuegraph.engine.schema import DELETED, Kind
from cuegraph.engine.space import Space
from cuegraph.engine.vectors import passage
from cuegraph.io import StoreError, TurnRecord
from cuegraph.io.trust import Identity, trust

Maker = Callable[..., TurnRecord]
Opener = Callable[..., Space]


def arrays(space: Space) -> dict[str, Array]:
    return {name: array.copy() for name, array in space.graph.arrays().items()}


def assert_same(found: dict[str, Array], expected: dict[str, Array]) -> None:
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].tobytes() == array.tobytes(), name


def texts(space: Space) -> list[str]:
    """Of the turns that are not deleted."""
    snapshot = space.snapshot()
    live = (snapshot.nodes["kind"] == Kind.EPISODE) & (snapshot.nodes["status"] != DELETED)
    return [turn.text for turn in snapshot.turns(np.flatnonzero(live).tolist())]


def snapshots(space: Space) -> list[Path]:
    return sorted((space.directory / "snapshot").glob("*.arrow"))


@pytest.fixture
def published(open_space: Opener, conversation: list[TurnRecord]) -> dict[str, Array]:
    """Arrays of a space that was published twice, now closed."""
    space = open_space()
    space.add(conversation[:100])
    space.publish()
    space.add(conversation[100:])
    expected = arrays(space)
    space.close()
    return expected


def test_what_was_added_is_seen_at_once(open_space: Opener, record: Maker) -> None:
    space = open_space()
    outcomes = space.add([record("one", id="1"), record("two", id="2")])
    assert [(o.status, o.seq) for o in outcomes] == [("added", 1), ("added", 2)]
    assert texts(space) == ["one", "two"]
    assert space.snapshot().seq == 2
    vectors = space.embedder.passages(["one", "two"]).astype(np.float16)
    np.testing.assert_array_equal(space.snapshot().vectors.view(np.float16), vectors)


def test_the_same_turn_twice_is_one_episode(open_space: Opener, record: Maker) -> None:
    space = open_space()
    turn = record("one", id="1")
    assert [o.status for o in space.add([turn, turn])] == ["added", "unchanged"]
    before = arrays(space)
    assert [o.status for o in space.add([turn, record("other", id="1")])] == [
        "unchanged",
        "conflict",
    ]
    assert_same(arrays(space), before)
    assert [o.status for o in space.add([])] == []


def test_a_passage_says_who_and_what_is_shown(record: Maker) -> None:
    assert passage(record("Hi.")) == "Hi."
    assert passage(record("Hi.", speaker="Ada")) == "Ada: Hi."
    assert passage(record("Hi.", speaker="Ada", caption="a boat")) == "Ada: Hi. [shares a boat]"


def test_reopening_maps_the_snapshot(open_space: Opener, published: dict[str, Array]) -> None:
    again = open_space()
    assert again.notices == []
    assert_same(arrays(again), published)
    assert not again.graph.edges.base["dst"].flags.writeable  # the file itself
    assert [file.stem.lstrip("0") for file in snapshots(again)] == ["150"]


def test_the_tail_behind_the_snapshot_is_replayed(
    open_space: Opener, conversation: list[TurnRecord], tmp_path: Path
) -> None:
    space = open_space()
    space.add(conversation[:100])
    space.publish()
    space.add(conversation[100:])
    shutil.copytree(space.directory, tmp_path / "as it was")
    again = open_space(tmp_path / "as it was")
    assert [file.stem.lstrip("0") for file in snapshots(again)] == ["100"]
    assert again.notices == []
    assert again.graph.seq == 150
    assert_same(arrays(again), arrays(space))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_snapshot_is_noticed_and_made_good(
    open_space: Opener, published: dict[str, Array], tmp_path: Path, damage: str
) -> None:
    (file,) = (tmp_path / "space" / "snapshot").glob("*.arrow")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    kept = {"flip": len(data), "cut": len(data) // 2, "empty": 0}[damage]
    file.write_bytes(data[:kept])
    again = open_space()
    (notice,) = again.notices
    assert "passed over" in notice
    assert again.verified
    assert_same(arrays(again), published)
    again.close()
    assert open_space().notices == []


def test_rules_of_another_version_rebuild_the_graph(
    open_space: Opener, published: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_module, "GRAPH_VERSION", "another")
    again = open_space()
    assert len(again.notices) == 1
    assert_same(arrays(again), published)


def test_a_damaged_vector_is_embedded_anew(
    open_space: Opener, published: dict[str, Array], tmp_path: Path
) -> None:
    directory = tmp_path / "space"
    for file in (directory / "snapshot").iterdir():
        file.unlink()
    sound = (directory / "vectors.f16").read_bytes()
    damaged = bytearray(sound)
    damaged[-1] ^= 1
    damaged[64 + 5 * 512] ^= 1  # a header of 64 bytes, rows of 256 float16
    (directory / "vectors.f16").write_bytes(damaged)
    again = open_space()
    assert [notice.split(",")[0] for notice in again.notices] == ["2 damaged vectors embedded anew"]
    assert_same(arrays(again), published)
    assert (directory / "vectors.f16").read_bytes() == sound
    again.close()
    assert open_space().notices == []


def test_a_lost_vector_file_is_embedded_anew(
    open_space: Opener, published: dict[str, Array], tmp_path: Path
) -> None:
    directory = tmp_path / "space"
    sound = (directory / "vectors.f16").read_bytes()
    for file in (directory / "snapshot").iterdir():
        file.unlink()
    (directory / "vectors.f16").unlink()
    again = open_space()
    assert "150 damaged vectors embedded anew" in again.notices[0]
    assert_same(arrays(again), published)
    assert (directory / "vectors.f16").read_bytes() == sound


@pytest.fixture
def checks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are trusted, and looked at when a test says so."""
    monkeypatch.setattr("cuegraph.io.trust.SMALL_BYTES", 0)
    monkeypatch.setattr("cuegraph.engine.vectors.SMALL_BYTES", 0)
    monkeypatch.setattr("cuegraph.engine.checks._DELAY_S", 3600)


def lose_a_bit(directory: Path, what: str) -> bytes:
    """Flip a bit as a disk would, without a trace; the content of the file before."""
    if what == "vectors":
        file, at = directory / "vectors.f16", 64 + 5 * 512
    else:
        (file,) = (directory / "snapshot").glob("*.arrow")
        at = file.stat().st_size // 2
    sound = file.read_bytes()
    damaged = bytearray(sound)
    damaged[at] ^= 1
    file.write_bytes(damaged)
    if what == "snapshot":
        trust(file, Identity.of(file))
    return sound


NOTICES = {"snapshot": "snapshot passed over", "vectors": "1 damaged vectors embedded anew"}


@pytest.mark.usefixtures("checks_wait")
def test_a_sound_space_is_verified_in_the_background(
    open_space: Opener, published: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = open_space(read_only=True)
    assert not waiting.verified
    assert_same(arrays(waiting), published)
    monkeypatch.setattr("cuegraph.engine.checks._DELAY_S", 0)
    space = open_space()
    for _ in range(500):
        if space.verified:
            break
        time.sleep(0.01)
    assert space.verified
    space.snapshot()
    assert_same(arrays(space), published)
    assert space.notices == []


@pytest.mark.usefixtures("checks_wait", "published")
def test_closing_does_not_wait_for_the_checks(open_space: Opener) -> None:
    space = open_space()
    start = time.monotonic()
    space.close()
    assert time.monotonic() - start < 5
    assert not space.verified


@pytest.mark.usefixtures("checks_wait")
@pytest.mark.parametrize("what", ["snapshot", "vectors"])
def test_damage_found_later_is_made_good(
    open_space: Opener, published: dict[str, Array], what: str
) -> None:
    space = open_space()
    space.close()
    sound = lose_a_bit(space.directory, what)
    again = open_space()
    assert again.notices == []
    assert not again.verified
    again._checks.finish()
    assert not again.verified
    again.snapshot()
    assert again.verified
    assert [NOTICES[what] in notice for notice in again.notices] == [True]
    assert_same(arrays(again), published)
    if what == "vectors":
        assert (space.directory / "vectors.f16").read_bytes() == sound
    again.close()
    last = open_space()
    last._checks.finish()
    last.snapshot()
    assert (last.notices, last.verified) == ([], True)


@pytest.mark.usefixtures("checks_wait")
@pytest.mark.parametrize("what", ["snapshot", "vectors"])
def test_nothing_is_derived_from_damaged_files(
    open_space: Opener, conversation: list[TurnRecord], what: str, tmp_path: Path
) -> None:
    whole = open_space(tmp_path / "whole")
    whole.add(conversation)
    space = open_space()
    space.add(conversation[:100])
    space.close()
    lose_a_bit(space.directory, what)
    again = open_space()
    again.add(conversation[100:])
    assert [NOTICES[what] in notice for notice in again.notices] == [True]
    assert_same(arrays(again), arrays(whole))


@pytest.mark.usefixtures("checks_wait")
def test_a_reader_rebuilds_for_itself_but_embeds_nothing(
    open_space: Opener, published: dict[str, Array]
) -> None:
    space = open_space()
    space.close()
    lose_a_bit(space.directory, "snapshot")
    reader = open_space(read_only=True)
    reader._checks.finish()
    reader.snapshot()
    assert_same(arrays(reader), published)
    assert len(reader.notices) == 1
    lose_a_bit(space.directory, "vectors")
    other = open_space(read_only=True)
    other._checks.finish()
    for _ in range(2):
        with pytest.raises(StoreError, match="expected sound vectors, or a memory opened for writ"):
            other.snapshot()


@pytest.mark.usefixtures("checks_wait", "published")
def test_a_fault_outlives_its_process(open_space: Opener) -> None:
    """Where nobody came to make it good, the next opening looks first."""
    space = open_space()
    space.close()
    lose_a_bit(space.directory, "snapshot")
    again = open_space()
    again._checks.finish()
    again.close()
    last = open_space()
    assert [NOTICES["snapshot"] in notice for notice in last.notices] == [True]


def test_read_only_reads_and_writes_nothing(
    open_space: Opener, published: dict[str, Array], record: Maker, tmp_path: Path
) -> None:
    def on_disk() -> dict[str, bytes]:
        files = [
            p for p in (tmp_path / "space").rglob("*") if not p.name.endswith(("-wal", "-shm"))
        ]
        return {str(p): p.read_bytes() for p in files if p.is_file()}

    before = on_disk()
    reader = open_space(read_only=True)
    assert_same(arrays(reader), published)
    reader.publish()
    with pytest.raises(StoreError):
        reader.add([record("new")])
    reader.close()
    assert on_disk() == before


def test_read_only_needs_a_memory(open_space: Opener, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="expected a journal"):
        open_space(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_another_process_is_seen_at_the_next_look(open_space: Opener, record: Maker) -> None:
    one, other, reader = open_space(), open_space(), open_space(read_only=True)
    one.add([record("first", id="1")])
    assert texts(other) == texts(reader) == ["first"]
    other.add([record("second", id="2"), record("third", id="3")])
    assert texts(one) == texts(reader) == ["first", "second", "third"]
    assert one.add([record("second", id="2")])[0].status == "unchanged"
    assert_same(arrays(one), arrays(other))


def test_deletion_marks_are_honoured_by_all(open_space: Opener, record: Maker) -> None:
    one, other = open_space(), open_space()
    one.add([record(f"turn {i}", id=str(i)) for i in range(5)])
    one.journal.append_delete([2, 5], None)
    assert texts(other) == ["turn 0", "turn 2", "turn 3"]
    # The one that wrote the mark follows with its next write or its next opening.
    one.add([record("turn 5", id="5")])
    assert texts(one) == texts(other) == ["turn 0", "turn 2", "turn 3", "turn 5"]
    expected = arrays(one)
    one.close()
    other.close()
    again = open_space()
    assert texts(again) == ["turn 0", "turn 2", "turn 3", "turn 5"]
    assert_same(arrays(again), expected)
    again.journal.append_delete([1], None)
    again.close()
    assert texts(open_space()) == ["turn 2", "turn 3", "turn 5"]


def test_kinds_of_rows_that_it_does_not_know_are_skipped(
    open_space: Opener, record: Maker, tmp_path: Path
) -> None:
    space = open_space()
    space.add([record("one", id="1")])
    before = arrays(space)
    with sqlite3.connect(tmp_path / "space" / "journal.sqlite") as database:
        database.execute(
            "INSERT INTO record (kind, key, digest, recorded_us, body) VALUES (?, ?, ?, ?, ?)",
            ("dream", "k", b"\0" * 16, 0, b"\xc1 not a record"),
        )
    database.close()
    assert texts(space) == ["one"]
    assert space.snapshot().seq == 2
    after = arrays(space)
    assert after.pop("totals").tolist() == [2, *before.pop("totals").tolist()[1:]]
    assert_same(after, before)
    space.add([record("two", id="2")])
    assert texts(space) == ["one", "two"]
    space.close()
    assert texts(open_space()) == ["one", "two"]


def test_snapshots_are_published_every_few_rows(
    open_space: Opener, conversation: list[TurnRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_module, "PUBLISH_ROWS", 20)
    space = open_space()
    space.add(conversation[:19])
    assert snapshots(space) == []
    space.add(conversation[19:20])
    assert [file.stem.lstrip("0") for file in snapshots(space)] == ["20"]
    space.add(conversation[20:])
    assert snapshots(space)[-1].stem.lstrip("0") == "150"


def test_bytes_on_disk_are_by_file(open_space: Opener, published: dict[str, Array]) -> None:
    space = open_space()
    sizes = space.bytes_on_disk()
    assert sizes["vectors.f16"] == 64 + 150 * 512
    assert {"journal.sqlite", "vectors.f16", "snapshot/00000000000000000150.arrow"} <= set(sizes)
    assert all((space.directory / name).stat().st_size == size for name, size in sizes.items())


def test_the_vector_index_is_published_and_read_again(
    open_space: Opener, conversation: list[TurnRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT_BELOW", 64)
    monkeypatch.setattr(vector_index, "BLOCK", 32)
    space = open_space()
    space.add(conversation[:100])
    expected = arrays(space)
    space.close()
    again = open_space()
    assert again.notices == []
    # Three whole blocks of 32, but for the newest, which the background is still linking.
    assert again.index.indexed == 64
    assert_same(arrays(again), expected)


def test_readers_and_a_writer_side_by_side(
    open_space: Opener, conversation: list[TurnRecord]
) -> None:
    space = open_space()
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                snapshot = space.snapshot()
                episodes = np.flatnonzero(snapshot.nodes["kind"] == Kind.EPISODE)
                assert len(episodes) == snapshot.seq == len(snapshot.vectors)
                cue = snapshot.graph.find(Kind.CUE, "mira haddad")
                if cue >= 0:
                    snapshot.graph.edges.row(cue)
        except BaseException as problem:
            errors.append(problem)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(0, 150, 10):
        space.add(conversation[start : start + 10])
        space.publish()
    done.set()
    for reader in readers:
        reader.join()
    assert errors == []
    assert len(texts(space)) == 150


def test_closing_twice_and_using_a_closed_one(open_space: Opener, record: Maker) -> None:
    space = open_space()
    space.add([record("one")])
    space.close()
    space.close()
    with pytest.raises(StoreError):
        space.add([record("two")])
