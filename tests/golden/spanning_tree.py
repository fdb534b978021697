"""The module SpanTree of tlaplus/Examples, to compare its states and its length with those of the TLA+ text."""

from checker.language import Constant, Domain, Map, Range, Spec, action, assume, eventually, invariant, require


class Vertex(Domain):
    size, prefix = "vertices", "n"


class SpanningTree(Spec):
    """Vertices look for a shorter way to the root, along the edges of a graph."""

    vertices = Constant(4, at_least=1)
    root = Constant(Vertex[0])
    edges = Constant({frozenset({Vertex[i], Vertex[j]}) for i, j in ((0, 1), (0, 2), (1, 2), (2, 3))})
    farthest = Constant(5, at_least="vertices")

    mother = Map(Vertex, Vertex)
    distance = Map(Vertex, Range(0, "farthest"))

    @assume
    def edges_have_two_ends(self):
        return all(len(edge) == 2 for edge in self.edges)

    def init(self):
        self.mother = {v: v for v in Vertex}
        self.distance = {v: 0 if v == self.root else self.farthest for v in Vertex}

    @action(fair="weak", for_each=())
    def approach(self, v: Vertex, neighbour: Vertex, distance: Range(0, "farthest")):
        require({v, neighbour} in self.edges and self.distance[neighbour] < distance < self.distance[v])
        self.distance[v], self.mother[v] = distance, neighbour

    def is_done(self):
        return not any(self.distance[u] + 1 < self.distance[v] for u in Vertex for v in Vertex if {u, v} in self.edges)

    @invariant
    def distances_are_right(self):
        return not self.is_done() or all(
            (v == self.root and self.distance[v] == 0 and self.mother[v] == v)
            or self.distance[v] == self.farthest
            or (self.distance[v] > 0 and self.distance[v] == self.distance[self.mother[v]] + 1)
            for v in Vertex
        )

    @eventually
    def stops(self):
        return self.is_done()
