"""`python -m onnx_maxpool`: the command `onnx-maxpool`."""

from onnx_maxpool.cli.main import main

main()
