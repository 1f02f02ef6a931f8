"""The benchmark: our operators inside ONNX Runtime against whatever else computes the same.

`rows` says what is timed, as data. `inputs` draws a row's tensors from a seed. A peer is a small module in `peers`;
`worker` runs one of them in a process of its own, `lockstep` lets the processes take turns, and `measure` makes results
of that. `overheads` times what needs no operator: creating a session, importing the package. `report` and `plot` show
`results`.

Why processes that take turns: see `lockstep`.
"""
