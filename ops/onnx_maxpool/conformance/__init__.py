"""A conformance suite for the operators: what does a backend do?"""

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun, run_backend
from onnx_maxpool.conformance.testcases import BackendTest

__all__ = ["BackendRun", "BackendTest", "Case", "Outcome", "Result", "all_cases", "run_backend"]
