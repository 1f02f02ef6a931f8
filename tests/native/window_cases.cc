#include "window_cases.h"

using window_axis::even;
using window_axis::sliding;

onnx_maxpool::PoolJob WindowCase::job() const {
  onnx_maxpool::PoolJob job{};
  job.planes = planes;
  job.depth = depth.listed();
  job.rows = rows.listed();
  job.columns = columns.listed();
  return job;
}

// Each way to read cells, by vectors of 2 to 32 lanes: whole ones, and what is left of a row, a map or the tensor.
const std::vector<WindowCase>& window_cases() {
  static const std::vector<WindowCase> all = {
      {"a line that slides by one", 1, sliding(1), sliding(6, 2), sliding(40, 4, 1, 1)},
      {"by two", 2, sliding(1), sliding(7, 3, 2, 1), sliding(37, 2, 2)},
      {"by three", 1, sliding(1), sliding(9, 4, 3), sliding(53, 3, 3)},
      {"by four", 2, sliding(1), sliding(8, 4, 4), sliding(75, 4, 4)},
      {"two cells by four", 1, sliding(1), sliding(7, 3, 1, 1), sliding(43, 2, 4)},
      {"three cells by four", 1, sliding(1), sliding(5, 3, 2, 1), sliding(150, 3, 4, 1)},
      {"seven cells by four", 1, sliding(3, 2), sliding(9, 7, 4, 3), sliding(66, 7, 4, 3)},
      {"by five", 2, sliding(1), sliding(6, 2, 2), sliding(93, 5, 5)},
      {"nine cells by five", 1, sliding(1), sliding(12, 5, 5, 2), sliding(64, 9, 5, 4)},
      {"by six", 1, sliding(1), sliding(9, 3, 3), sliding(121, 6, 6)},
      {"two cells by six", 1, sliding(2, 2), sliding(7, 2, 1, 1), sliding(80, 2, 6)},
      {"by seven", 1, sliding(1), sliding(7, 7, 7), sliding(140, 7, 7)},
      {"three cells by seven", 2, sliding(1), sliding(5, 3, 2, 1), sliding(60, 3, 7, 1)},
      {"by eight", 1, sliding(1), sliding(8, 8, 8), sliding(160, 8, 8)},
      {"four cells by eight", 1, sliding(1), sliding(9, 4, 1, 1), sliding(75, 4, 8, 2)},
      {"many taps of rows", 1, sliding(1), sliding(14, 10, 1, 5), sliding(40, 5, 4, 2)},
      {"short windows", 2, sliding(1), sliding(8, 3, 1, 1), sliding(21, 3, 1, 1)},
      {"short windows of long lines", 1, sliding(1), sliding(11, 2), sliding(50, 2, 1, 1)},
      {"short windows of volumes", 1, sliding(4, 3, 1, 1), sliding(9, 2), sliding(18, 3, 1, 1)},
      {"larger windows", 3, sliding(1), sliding(12, 5, 1, 2), sliding(14, 5, 1, 2)},
      {"windows of six cells", 1, sliding(1), sliding(9, 6, 1, 3), sliding(33, 6, 1, 3)},
      {"windows of seven cells", 2, sliding(1), sliding(8, 7, 1, 3), sliding(19, 7, 1, 3)},
      {"higher ones than they are wide", 1, sliding(1), sliding(8, 5, 1, 2), sliding(35, 2, 1, 1)},
      {"more lines than are walked at once", 1, sliding(1), sliding(140, 3, 1, 1), sliding(5, 3, 1, 1)},
      {"the same by two", 1, sliding(1), sliding(135, 3, 2, 1), sliding(6, 3, 2, 1)},
      {"lines of several walks", 1, sliding(1), sliding(5, 3, 1, 1), sliding(130, 3, 1, 1)},
      {"squares by two", 2, sliding(1), sliding(9, 3, 2, 1), sliding(75, 3, 2, 1)},
      {"squares by two that reach another vector", 1, sliding(1), sliding(6, 3, 2), sliding(65, 3, 2)},
      {"squares by one row and two columns", 2, sliding(1), sliding(6, 3, 1, 1), sliding(20, 3, 2, 1)},
      {"pairs by one row and two columns", 1, sliding(1), sliding(5, 2), sliding(64, 2, 2)},
      {"windows of eight cells", 2, sliding(1), sliding(11, 8, 1, 4), sliding(37, 8, 1, 4)},
      {"windows of up to 16 groups", 1, sliding(1), sliding(39, 33, 2, 16), sliding(70, 16, 2, 8)},
      {"four columns, two apart", 1, sliding(1), sliding(7, 4, 2, 1), sliding(73, 4, 2, 1)},
      {"five columns, two apart", 1, sliding(1), sliding(9, 5, 2, 2), sliding(50, 5, 2, 2)},
      {"wide windows, two apart, and all rows", 1, sliding(1), sliding(5, 3, 1, 1), sliding(66, 7, 2, 3)},
      {"columns three apart", 1, sliding(1), sliding(10, 4, 3, 1), sliding(101, 5, 3, 2)},
      {"columns three apart that are windows", 2, sliding(1), sliding(8, 2, 3), sliding(55, 1, 3)},
      {"seven columns, three apart", 1, sliding(3, 2, 1), sliding(8, 7, 4, 3), sliding(53, 7, 3, 3)},
      {"two walks of lanes of 16 bits", 1, sliding(1), sliding(7, 6, 1, 2), sliding(90, 6, 1, 3)},
      {"several slices, rows two apart", 1, sliding(3, 2), sliding(9, 5, 2, 1), sliding(21, 4, 2, 1)},
      {"several slices, eight rows", 1, sliding(2, 2), sliding(12, 8, 1, 3), sliding(19, 2)},
      {"ten columns, of which the last vector would be padding", 1, sliding(1), sliding(9, 10, 1, 5),
       sliding(27, 10, 1, 5)},
      {"the same two apart", 1, sliding(1), sliding(11, 10, 2, 5), sliding(56, 10, 2, 5)},
      {"five columns, of which the last vector has one cell", 1, sliding(1), sliding(7, 5, 1, 2), sliding(31, 5, 1, 2)},
      {"three apart, of which the last vector would be padding", 1, sliding(1), sliding(7, 4, 3, 1),
       sliding(46, 6, 3, 3)},
      {"one vector, of which both ends are padding", 1, sliding(1), sliding(11, 10, 1, 5), sliding(11, 10, 1, 5)},
      {"a square whose last vector would be padding", 1, sliding(1), sliding(5, 3, 1, 1), sliding(127, 3, 1, 1)},
      {"planes whose last vector has one window", 7, sliding(1), sliding(9, 3, 2, 1), sliding(34, 3, 2, 1)},
      {"two windows", 6, sliding(1), sliding(5, 3, 1, 1), sliding(18, 3, 1, 1)},
      {"four windows", 5, sliding(1), sliding(7, 5, 1, 2), sliding(36, 5, 1, 2)},
      {"no window", 6, sliding(1), sliding(6, 5, 1, 2), sliding(31, 5, 1, 2)},
      {"a window of seven columns, two apart", 6, sliding(1), sliding(9, 7, 2, 3), sliding(34, 7, 2, 3)},
      {"two windows, three apart", 5, sliding(1), sliding(8, 4, 2, 1), sliding(55, 4, 3, 1)},
      {"one window, of rows four apart", 9, sliding(1), sliding(11, 5, 4), sliding(35, 3, 2)},
      {"planes of one row, whose last vector has two windows", 5, sliding(1), sliding(1, 3, 1, 1),
       sliding(18, 3, 1, 1)},
      {"fewer planes than a vector has room for", 2, sliding(1), sliding(6, 3, 1, 1), sliding(18, 3, 1, 1)},
      {"rows three apart, two of which are kept", 1, sliding(1), sliding(14, 5, 3, 1), sliding(40, 3, 2, 1)},
      {"a tensor of few cells", 1, sliding(1), sliding(3, 3, 1, 1), sliding(5, 3, 1, 1)},
      {"a gathered line", 2, sliding(1), sliding(7, 3, 2), sliding(60, 12, 9)},
      {"one to four vectors of tall windows", 1, sliding(1), sliding(20, 9, 9), sliding(60, 20, 20)},
      {"the same of one vector", 2, sliding(1), sliding(15, 6, 6), sliding(4, 4, 4)},
      {"the same of two slices", 2, sliding(2, 2), sliding(8, 4, 4), sliding(19, 19, 19)},
      {"windows of one row", 3, sliding(1), sliding(2), sliding(150, 40, 13)},
      {"long windows of one row", 1, sliding(1), sliding(1), sliding(500, 200, 100)},
      {"picked columns", 3, sliding(1), sliding(9, 3, 1, 1), sliding(31, 7, 6)},
      {"small maps of five taps", 19, sliding(1), sliding(9, 5, 2, 2), sliding(8, 5, 3, 2)},
      {"small maps of four taps", 33, sliding(1), sliding(9, 4, 3, 1), sliding(10, 4, 3, 1)},
      {"small volumes of five taps", 17, sliding(7, 5, 2, 2), sliding(6, 5, 2, 2), sliding(5, 5, 1, 2)},
      {"small maps", 19, sliding(1), sliding(5, 3, 2, 1), sliding(5, 3, 2, 1)},
      {"maps of three cells", 18, sliding(1), sliding(1), sliding(3, 2)},
      {"small volumes", 17, sliding(3, 2), sliding(4, 2, 2), sliding(3, 2)},
      {"even windows", 2, sliding(1), even(9, 4), even(31, 7)},
      {"even windows of volumes", 2, even(5, 3), even(6, 4), even(17, 5)},
  };
  return all;
}
