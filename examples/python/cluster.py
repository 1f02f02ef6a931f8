"""Run a model on rows, each with its own number of ROIs, on a Ray cluster: `python cluster.py MODEL ROWS [ADDRESS]`.

`onnx-maxpool sample fast_rcnn.onnx rows.parquet` makes the two files. ADDRESS is that of a
cluster. Without it, Ray starts one on this machine. Needs this package with the extra `ray`.
"""

import sys

import pyarrow.parquet
import ray

import onnx_maxpool


def main(model: str, rows: str, address: str = "local") -> None:
    ray.init(address, num_cpus=2 if address == "local" else None, log_to_driver=False)
    table = pyarrow.parquet.read_table(rows)
    dataset = ray.data.from_arrow([table.slice(start, 2) for start in range(0, len(table), 2)])
    pooled = dataset.map_batches(
        onnx_maxpool.Predictor,
        fn_constructor_kwargs={"model": model},
        compute=ray.data.ActorPoolStrategy(size=2),
        batch_size=2,
        num_cpus=1,
    )
    count = 0
    for row in pooled.iter_rows():
        count += len(row["pooled"])
    print(f"{count} ROIs pooled, of {dataset.count()} rows")
    ray.shutdown()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python cluster.py MODEL ROWS [ADDRESS]")
    main(*sys.argv[1:])
