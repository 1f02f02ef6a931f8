"""`onnx-maxpool batch`: a model over the rows of Parquet or .npz files, in parts that several processes compute.

A part is a range of an input's rows, and a Parquet file of the output. Whoever computes a part reads its rows, runs the
model on batches of them, writes a file of another name and gives it the part's name at the end: so a part that is there
is whole, computing it twice does no harm, and nothing is lost where a process is killed. Engines decide only where the
parts are computed: `local`, in processes of this machine, or `cluster`, by Ray Data.

Needs pyarrow, the extra `batch`.
"""
