"""A conformance suite for the operators: what does a backend do?"""

from onnx_maxpool.conformance.backend_test import BackendTest
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.judge import Outcome, Result
from onnx_maxpool.conformance.runner import BackendRun, run_backend

__all__ = ["BackendRun", "BackendTest", "Case", "Outcome", "Result", "all_cases", "run_backend"]
