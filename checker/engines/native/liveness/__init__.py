"""The decision of liveness properties on the packed states of an exploration.

labels             the truth of goals, premises and constraints in each state
edges              the steps between explored states, by expanding the stored states again
classes            the fair classes of each step
strong_components  the strongly connected components of a graph
components         those that a fair behaviour can stay in
lassos             a shortest stem to such a component, and a short fair loop in it
memory_budget      the memory of each of these, which is checked before it is taken
decision           these parts in order, for each choice of a property's parameters
"""
