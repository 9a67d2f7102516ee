"""Stars, chains and subsets of a model whose first step is linear, valued from columns: no input row is ever built.

h(S) = h(∅) + Σ of the columns C_j of the players in S, with C_j = Σ over the player's features of W_f (x_f − b_f).
"""
