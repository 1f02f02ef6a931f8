"""The benchmark on shapes that nobody chose: rows drawn from the ranges that users have.

`shapes` draws them from a seed. `race` times one in every runtime that takes it, for about half a second. `summary`
says how often we lose, and by how much. `records` keeps what was timed. `report.grid` writes that down, and
`report.plots` draws it.
"""
