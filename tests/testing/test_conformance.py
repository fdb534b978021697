"""Conformance: a shortest difference, forbidden steps, hidden state, copies, and the bounds of a search."""

import collections
import threading

import pytest

from checker.errors import InputError, SpecError
from checker.language import Constant, Domain, Map, Range, SetOf, Spec, action, require
from checker.testing import Adapter, conform
from examples.replicated_log.implementation import HastyCluster
from examples.replicated_log.specification import ReplicatedLog
from examples.replicated_log.test_replicated_log import ClusterAdapter
from tests.toy import Bounded, Counter


class HastyAdapter(ClusterAdapter):
    cluster_class = HastyCluster


class Key(Domain):
    size, prefix = 3, "k"


class Cache(Spec):
    """A cache of two entries that evicts the one that was used longest ago: `age` 0 is the newest."""

    held = SetOf(Key)
    age = Map(Key, Range(0, 1))

    def _use(self, key):
        self.age[key] = 0
        for other in Key:
            if other in self.held and other != key:
                self.age[other] = 1

    @action
    def put(self, key: Key):
        if key not in self.held and len(self.held) == 2:
            oldest = max(self.held, key=lambda each: self.age[each])
            self.held.remove(oldest)
            self.age[oldest] = 0
        self.held.add(key)
        self._use(key)

    @action
    def get(self, key: Key):
        require(key in self.held)
        self._use(key)


class LruCache:
    """A cache that a standard OrderedDict keeps in the order of use."""

    def __init__(self):
        self.entries = collections.OrderedDict()

    def put(self, key):
        self.entries[key] = True
        self.entries.move_to_end(key)
        if len(self.entries) > 2:
            self.entries.popitem(last=False)

    def get(self, key):
        value = self.entries[key]
        self.entries.move_to_end(key)
        return value


class CacheAdapter(Adapter):
    cache_class = LruCache
    refuses = (KeyError,)

    def start(self, state):
        self.cache = self.cache_class()

    def put(self, key):
        self.cache.put(str(key))

    def get(self, key):
        self.cache.get(str(key))

    def identity(self):
        return [*self.cache.entries], getattr(self.cache, "missed", 0)

    def observe(self):
        return sorted(self.cache.entries)

    def project(self, state):
        return sorted(map(str, state.held))


def test_a_correct_implementation_has_as_many_pairs_as_the_spec_has_states():
    result = conform(ReplicatedLog(replicas=2), ClusterAdapter)
    assert result.is_complete and not result.difference and result.refusals == 0
    result.check()
    assert str(result).startswith("replicated_log: no difference is possible: ")


def test_the_difference_is_shortest():
    result = conform(ReplicatedLog, HastyAdapter)
    assert len(result.calls) == 4 and result.calls[-1].startswith("fetch(")
    with pytest.raises(AssertionError, match=r"differs from replicated_log after 4 calls[\s\S]*, but in the spec \[\]"):
        result.check()


def test_a_cache_of_the_standard_library_conforms():
    result = conform(Cache, CacheAdapter)
    # 1 empty cache, 3 of one key, and 3 pairs of keys in 2 orders.
    assert (result.pairs, result.steps, result.refusals, result.difference) == (10, 45, 15, "")


def test_a_bug_that_only_later_steps_show_is_found():
    class Forgetful(LruCache):
        def get(self, key):
            return self.entries[key]

    class ForgetfulAdapter(CacheAdapter):
        cache_class = Forgetful

    result = conform(Cache, ForgetfulAdapter)
    assert result.calls == ("put(k1)", "put(k2)", "get(k1)", "put(k3)")
    assert "['k2', 'k3'], but in the spec ['k1', 'k3']" in result.difference


def test_an_accepted_step_that_the_spec_forbids_is_a_difference():
    class Lenient(LruCache):
        def get(self, key):
            return super().get(key) if key in self.entries else None

    class LenientAdapter(CacheAdapter):
        cache_class = Lenient

    result = conform(Cache, LenientAdapter)
    assert result.calls == ("get(k1), which the spec forbids",)
    assert result.difference.startswith(
        "  it accepts a step that the spec forbids: require(key in self.held) is false ("
    )

    class Silent(LenientAdapter):
        refuses = ()

    assert not conform(Cache, Silent).difference


def test_a_refused_step_may_change_what_the_spec_does_not_see():
    class Counting(LruCache):
        missed = 0

        def get(self, key):
            if key not in self.entries:
                self.missed += 1
                if self.missed == 2:
                    self.entries["k9"] = True
            return super().get(key)

    class CountingAdapter(CacheAdapter):
        cache_class = Counting

    result = conform(Cache, CountingAdapter)
    assert [call.endswith("forbids") for call in result.calls] == [True, True]
    assert "['k9'], but in the spec []" in result.difference


@pytest.mark.parametrize(
    ("error", "says"), [(KeyError, "it refuses the step: KeyError"), (ValueError, "it fails: Val")]
)
def test_a_step_that_the_implementation_does_not_take_is_a_difference(error, says):
    class Failing(LruCache):
        def put(self, key):
            raise error(key)

    class FailingAdapter(CacheAdapter):
        cache_class = Failing

    result = conform(Cache, FailingAdapter)
    assert result.calls == ("put(k1)",) and result.difference.startswith(f"  {says}")


def test_an_implementation_that_cannot_be_copied_takes_its_steps_again():
    class Locked(LruCache):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

    class LockedAdapter(CacheAdapter):
        cache_class = Locked

    result = conform(Cache, LockedAdapter)
    assert (result.pairs, result.steps, result.refusals, result.difference) == (10, 45, 15, "")

    class Unknown(LockedAdapter):
        identity = Adapter.identity

    with pytest.raises(InputError, match=r"the state of Unknown cannot be compared \(.*: .*define identity"):
        conform(Cache, Unknown)


class CountingUp(Adapter):
    closed = opened = 0

    def start(self, state):
        self.count = state.value
        type(self).opened += 1

    def fork(self):
        type(self).opened += 1
        return super().fork()

    def increment(self):
        self.count += 1

    def stay(self):
        pass

    def reset(self):
        self.count = 0

    def observe(self):
        return self.count

    def project(self, state):
        return state.value

    def close(self):
        type(self).closed += 1


def test_a_search_beyond_its_bound_is_undecided():
    result = conform(Counter(limit=3), CountingUp, most_pairs=2)
    assert (result.pairs, result.is_complete) == (2, False)
    with pytest.raises(AssertionError, match="counter: undecided, no difference so far: 2 pairs"):
        result.check()


def test_each_implementation_is_closed():
    class Jumping(CountingUp):
        def increment(self):
            self.count += 1 + (self.count == 1)

    for spec, adapter in ((Counter(limit=3), CountingUp), (Bounded, CountingUp), (Counter(limit=3), Jumping)):
        adapter.closed = adapter.opened = 0
        assert bool(conform(spec, adapter).difference) is (adapter is Jumping)
        assert adapter.closed == adapter.opened > 0


def test_the_result_names_the_actions_that_no_run_takes():
    class Writing(CacheAdapter):
        leaves_out = ("get",)

    result = conform(Cache, Writing)
    assert result.refusals == 0 and str(result).startswith("cache: no difference is possible without get: ")


def test_a_missing_method_is_an_error():
    class Incomplete(CacheAdapter):
        get = None

    with pytest.raises(SpecError, match=r"Incomplete has no method for get: add def get\(self, key\)"):
        conform(Cache, Incomplete)


class Parcel(Range):
    low, high = 0, 400


class Post(Spec):
    """Parcels that are delivered once; there are too many to try each one in every state."""

    rooms = Constant(1)
    sent = SetOf(Parcel, 1)

    def init(self):
        require(self.rooms > 0)

    @action
    def send(self):
        self.sent = {3}

    @action
    def deliver(self, parcel: Parcel):
        require(parcel in self.sent)
        self.sent.remove(parcel)


class PostAdapter(Adapter):
    refuses = (KeyError,)

    def start(self, state):
        self.sent = set()

    def send(self):
        self.sent.add(3)

    def deliver(self, parcel):
        self.sent.remove(parcel)

    def observe(self):
        return self.sent

    def project(self, state):
        return set(state.sent)


def test_a_message_that_is_gone_is_delivered_again():
    class TwiceAdapter(PostAdapter):
        def deliver(self, parcel):
            self.sent.discard(parcel)

    assert conform(Post, TwiceAdapter).calls == ("deliver(3), which the spec forbids",)
    right = conform(Post, PostAdapter)
    assert (right.pairs, right.steps, right.refusals, right.difference) == (2, 3, 1, "")


def test_state_in_slots_is_state():
    class Slotted(PostAdapter):
        __slots__ = ("deliveries",)

        def start(self, state):
            super().start(state)
            self.deliveries = 0

        def deliver(self, parcel):
            super().deliver(parcel)
            self.deliveries += 1
            if self.deliveries == 3:
                self.sent.add(3)

    assert conform(Post, Slotted).calls == ("send()", "deliver(3)") * 3


def test_copies_that_share_state_are_refused():
    class Shared(PostAdapter):
        def start(self, state):
            super().start(state)
            self.add = self.sent.add  # deepcopy copies no bound method of a built-in type

        def send(self):
            self.add(3)

    with pytest.raises(InputError, match="a copy of Shared shares state with its original: define fork"):
        conform(Post, Shared)


def test_a_state_that_is_nested_too_deep_is_an_error():
    class Nested(PostAdapter):
        def start(self, state):
            super().start(state)
            self.chain = []
            for _ in range(100_000):
                self.chain = [self.chain]

    with pytest.raises(InputError, match=r"the state of Nested cannot be compared .*: define identity"):
        conform(Post, Nested)


def test_a_spec_without_initial_states_is_an_error():
    with pytest.raises(SpecError, match="post has no initial state"):
        conform(Post(rooms=0), PostAdapter)


def test_an_action_with_a_name_of_the_adapter_is_an_error():
    class Shop(Spec):
        is_open = Parcel

        @action
        def close(self):
            self.is_open = 0

    with pytest.raises(SpecError, match="shop has the action close, which is a name of Adapter: rename the action"):
        conform(Shop, PostAdapter)
