"""The LRU cache of the library cachetools beside a spec: `python -m checker conform examples/lru_cache.py`.

A cache shows what it holds, but not the order in which it drops its entries. `conform` takes every step in every pair
of states, so that a wrong order ends in a wrong entry. `HastyCache` is the cache with a deliberate bug.
"""

from cachetools import Cache, LRUCache

from checker.language import Constant, Domain, Map, Option, Range, Seq, Spec, action, invariant, require
from checker.testing import Adapter


class Key(Domain):
    """A key."""

    size, prefix = "keys", "k"


class Value(Range):
    """A value."""

    low, high = 0, "max_value"


class BoundedCache(Spec):
    """A cache that makes room by dropping the entry that was used longest ago."""

    keys = Constant(3, at_least=1)
    capacity = Constant(2, at_least=1)
    max_value = Constant(1, at_least=0)

    values = Map(Key, Option(Value))
    order = Seq(Key, "capacity")  # used longest ago first

    @action
    def put(self, key: Key, value: Value):
        """Store a value."""
        if self.values[key] is None and len(self.order) == self.capacity:
            self.drop(self.order[0])
        self.values[key] = value
        self.use(key)

    @action
    def get(self, key: Key):
        """Read a value."""
        require(self.values[key] is not None)
        self.use(key)

    @action
    def remove(self, key: Key):
        """Remove an entry by its key."""
        require(self.values[key] is not None)
        self.drop(key)

    @action
    def evict(self):
        """Remove the entry that was used longest ago."""
        require(len(self.order) > 0)
        self.drop(self.order[0])

    def use(self, key: Key):
        """Make a key the last one to be dropped."""
        self.order = [each for each in self.order if each != key]
        self.order.append(key)

    def drop(self, key: Key):
        """Drop an entry."""
        self.values[key] = None
        self.order = [each for each in self.order if each != key]

    @invariant
    def keeps_to_its_capacity(self):
        """The cache never holds more than it may."""
        return sum(1 for key in Key if self.values[key] is not None) <= self.capacity


class CacheAdapter(Adapter):
    """Takes the steps of the spec on a cache of the library."""

    spec = BoundedCache
    refuses = (KeyError,)
    cache_class = LRUCache

    def start(self, state):
        """Create an empty cache."""
        self.cache = self.cache_class(state.capacity)

    def put(self, key, value):
        """Store a value."""
        self.cache[str(key)] = value

    def get(self, key):
        """Read a value."""
        return self.cache[str(key)]

    def remove(self, key):
        """Remove an entry by its key."""
        del self.cache[str(key)]

    def evict(self):
        """Remove the entry that was used longest ago."""
        self.cache.popitem()

    def observe(self):
        """Return the entries, without counting as a use: `items` of an LRUCache does."""
        return {key: Cache.__getitem__(self.cache, key) for key in self.cache}

    def project(self, state):
        """Return the same of the spec."""
        return {str(key): state.values[key] for key in Key if state.values[key] is not None}


class HastyCache(LRUCache):
    """The deliberate bug: an entry that is written again keeps its place."""

    def __setitem__(self, key, value):
        """Store a value."""
        if key in self:
            Cache.__setitem__(self, key, value)
        else:
            super().__setitem__(key, value)


class HastyAdapter(CacheAdapter):
    """The same, with the bug."""

    cache_class = HastyCache
