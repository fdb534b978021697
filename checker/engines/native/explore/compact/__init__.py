"""The compact store: the place of a state in a hash table carries a part of the state, so less is stored.

state_code      a packed state -> an integer of as few bits as its variables need
quotient        this integer -> (home slot, remainder), reversibly; the sizes of a table
table_record    the description of a shard's table, which the kernels and the search share
table_kernels   machine code: search and insert, grow in place, rebuild
state_files     the states of a shard in the order in which they were found, in a file
compact_store   the store of a search
origins         the parents of some states, which are not stored but found again
forecast        how many states are to come, from the growth of the levels
"""
