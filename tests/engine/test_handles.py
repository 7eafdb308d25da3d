"""Open spaces: bounded, reused, closed when nobody uses them any more."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cuegraph.engine.handles import Handles
from cuegraph.engine.space import Space
from cuegraph.io import StoreError
from cuegraph.llm import Embedder

Opener = Callable[[], Space]


@pytest.fixture
def opener(tmp_path: Path, embedder: Embedder) -> Callable[[str], Opener]:
    """Opener of the space of a name; spaces count how often they were opened by their notices."""
    return lambda name: lambda: Space(tmp_path / name, embedder)


def closed(space: Space) -> bool:
    try:
        space.journal.last_seq()
    except StoreError:
        return True
    return False


def test_no_more_than_the_bound_stay_open(opener: Callable[[str], Opener]) -> None:
    handles = Handles(max_open=2)
    spaces = {}
    for name in "abc":
        with handles.lease(name, opener(name)) as spaces[name]:
            assert not closed(spaces[name])
        assert len(handles) <= 2
    assert [closed(spaces[name]) for name in "abc"] == [True, False, False]
    with handles.lease("a", opener("a")) as again:
        assert again is not spaces["a"]
    # The least recently used of the others had to go.
    assert [closed(spaces[name]) for name in "bc"] == [True, False]
    for name in "abc":
        handles.drop(name)
    assert len(handles) == 0


def test_an_open_space_is_reused(opener: Callable[[str], Opener]) -> None:
    handles = Handles(max_open=1)
    with handles.lease("a", opener("a")) as first, handles.lease("a", opener("a")) as second:
        assert first is second
    with handles.lease("a", opener("a")) as third:
        assert first is third
    handles.drop("a")
    assert closed(first)


def test_spaces_in_use_are_not_closed_to_make_room(opener: Callable[[str], Opener]) -> None:
    handles = Handles(max_open=1)
    with handles.lease("a", opener("a")) as a, handles.lease("b", opener("b")) as b:
        assert len(handles) == 2
        assert not closed(a)
        assert not closed(b)
    assert len(handles) == 1
    handles.drop("a")
    handles.drop("b")


def test_a_bound_of_none_keeps_nothing_open(opener: Callable[[str], Opener]) -> None:
    handles = Handles(max_open=0)
    with handles.lease("a", opener("a")) as space:
        assert not closed(space)
    assert closed(space)
    assert len(handles) == 0


def test_a_dropped_space_is_closed_after_its_last_use(opener: Callable[[str], Opener]) -> None:
    handles = Handles()
    with handles.lease("a", opener("a")) as space:
        with handles.lease("a", opener("a")):
            handles.drop("a")
            assert not closed(space)
        assert not closed(space)
    assert closed(space)
    handles.drop("a")
    handles.drop("never leased")


def test_an_opener_that_fails_leaves_nothing_behind(opener: Callable[[str], Opener]) -> None:
    handles = Handles()

    def fail() -> Space:
        raise StoreError("no disk")

    with pytest.raises(StoreError, match="no disk"), handles.lease("a", fail):
        pass
    assert len(handles) == 0
    assert not handles._handles  # nor a place for a space that never was
    with handles.lease("a", opener("a")) as space:
        assert not closed(space)
    handles.drop("a")


def test_an_error_of_a_user_gives_the_space_back(opener: Callable[[str], Opener]) -> None:
    handles = Handles(max_open=0)
    with pytest.raises(ZeroDivisionError), handles.lease("a", opener("a")) as space:
        _ = 1 // 0
    assert closed(space)


def test_two_threads_share_one_space(opener: Callable[[str], Opener]) -> None:
    handles = Handles()
    both, found = threading.Barrier(2, timeout=10), []

    def use() -> None:
        with handles.lease("a", opener("a")) as space:
            both.wait()
            found.append(space)
            both.wait()

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]
    assert len(handles) == 1
    handles.drop("a")
    assert closed(found[0])


def test_many_threads_over_few_handles(opener: Callable[[str], Opener]) -> None:
    handles, errors = Handles(max_open=2), []

    def use(seed: int) -> None:
        try:
            for i in range(12):
                name = "abcd"[(seed + i) % 4]
                with handles.lease(name, opener(name)) as space:
                    space.snapshot()
        except Exception as problem:
            errors.append(problem)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(handles) <= 2
    for name in "abcd":
        handles.drop(name)
    assert len(handles) == 0
