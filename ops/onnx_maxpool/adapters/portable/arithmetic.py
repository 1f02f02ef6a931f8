"""Functions that the portable operators share, as ONNX text: window edges, tables of cells, maxima, and checks.

Each works in stock ONNX Runtime, OpenVINO and onnx.reference alike, around what these do differently. OpenVINO computes
64-bit integers in 32 bits, and divides, compares and reduces them in float32; so no value here leaves 32 bits, and
quotients are corrected. Its maximum over -inf is the lowest finite number, and a NaN wins nowhere but in the
reference; so a tensor is pooled together with a tensor that says what its cells are (see `Classified`).
"""

from __future__ import annotations

FLOOR_DIV = """
FloorDiv (a, n) => (quotient)
{
    # Of integers, n > 0. Div truncates, and where it goes through float32 it is off by a little: the second finds that.
    near = Div(a, n)
    near_product = Mul(near, n)
    rest = Sub(a, near_product)
    correction = Div(rest, n)
    truncated = Add(near, correction)
    product = Mul(truncated, n)
    remainder = Sub(a, product)
    zero = Constant <value_int = 0> ()
    is_negative = Less(remainder, zero)
    one_or_zero = Cast <to = 7> (is_negative)
    quotient = Sub(truncated, one_or_zero)
}"""

EVEN_WINDOWS = """
EvenWindows (first, last, count) => (start, end)
{
    # M7, A2: `count` windows that share out the cells from `first` to `last` (R, 1); start and end (R, count).
    # The extent L = last - first + 1 may need 33 bits. So it is never formed: L = quotient * count + remainder.
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    first_quotient = portable.FloorDiv(first, count)
    first_product = Mul(first_quotient, count)
    first_remainder = Sub(first, first_product)
    last_quotient = portable.FloorDiv(last, count)
    last_product = Mul(last_quotient, count)
    last_remainder = Sub(last, last_product)
    difference = Sub(last_remainder, first_remainder)
    part = Add(difference, one)
    carry = portable.FloorDiv(part, count)
    carried = Mul(carry, count)
    remainder = Sub(part, carried)
    whole = Sub(last_quotient, first_quotient)
    quotient = Add(whole, carry)

    i = Range(zero, count, one)
    before = portable.Share(i, quotient, remainder, count)
    start = Add(first, before)
    # ceil((i+1)*L / n) = L - floor((n-1-i)*L / n)
    largest = Sub(count, one)
    mirrored = Sub(largest, i)
    behind = portable.Share(mirrored, quotient, remainder, count)
    past = Add(last, one)
    end = Sub(past, behind)
}"""

SHARE = """
Share (i, quotient, remainder, count) => (share)
{
    # floor(i * (quotient*count + remainder) / count)
    whole = Mul(i, quotient)
    parts = Mul(i, remainder)
    part = portable.FloorDiv(parts, count)
    share = Add(whole, part)
}"""

CLAMP = """
Clamp (x, low, high) => (y)
{
    # Of integers; Clip, Min and Max take none in the oldest opsets.
    is_low = Less(x, low)
    raised = Where(is_low, low, x)
    is_high = Less(high, raised)
    y = Where(is_high, high, raised)
}"""

CELLS = """
Cells (start, end) => (cells)
{
    # The cells of windows [start, end), each (P), as rows (P, K) as long as the longest window. The shorter windows
    # repeat their last cell, which changes no maximum and no first index. An empty window has no valid cells.
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    least = Constant <value_ints = [1]> ()
    column = Constant <value_ints = [-1, 1]> ()
    length = Sub(end, start)
    lengths = Concat <axis = 0> (length, least)
    longest = ReduceMax <keepdims = 0> (lengths)
    offset = Range(zero, longest, one)
    first = Reshape(start, column)
    past = Reshape(end, column)
    last = Sub(past, one)
    cell = Add(first, offset)
    is_inside = Less(cell, past)
    cells = Where(is_inside, cell, last)
}"""

REQUIRE = """
Require (bad) => (zero)
{
    # 0 if the tensor `bad` of booleans is all false; else the run fails, as two parts of unequal width do not fit.
    # A Gather out of range or a Reshape to another size would do in ONNX Runtime, but OpenVINO lets both pass. `guards`
    # names the node that fails, by the name of the output.
    one = Constant <value_ints = [1]> ()
    part = Constant <value = int64[1, 1] {0}> ()
    flags = Cast <to = 1> (bad)
    sum = ReduceSum <keepdims = 0> (flags)
    nothing = Constant <value_float = 0.0> ()
    is_bad = Less(nothing, sum)
    excess = Cast <to = 7> (is_bad)
    width = Add(one, excess)
    shape = Concat <axis = 0> (one, width)
    zeros = ConstantOfShape <value = int64[1] {0}> (shape)
    fitted = Concat <axis = 0> (part, zeros)
    zero = ReduceSum <keepdims = 0> (fitted)
}"""

CLASSIFIED = """
Classified (x) => (both)
{
    # Numbers and -inf, with -inf for NaN; and behind them, along the last axis, what each cell of x is: 0 for -inf,
    # 1 for a number, 2 for NaN. The maximum of these says what the window's maximum is (see `Declassified`).
    low = Constant <value = $F {-inf}> ()
    one = Constant <value = $F {1}> ()
    is_nan = IsNaN(x)
    is_low = Equal(x, low)
    up = Cast <to = $to> (is_nan)
    down = Cast <to = $to> (is_low)
    raised = Add(one, up)
    class = Sub(raised, down)
    number = Where(is_nan, low, x)
    both = Concat <axis = -1> (number, class)
}"""

DECLASSIFIED = """
Declassified <axis> (both) => (y)
{
    # What `Classified` took apart, of maxima; `axis` is that of the halves.
    number, class = portable.Halves <axis = @axis> (both)
    low = Constant <value = $F {-inf}> ()
    nan = Constant <value = $F {nan}> ()
    one = Constant <value = $F {1}> ()
    is_nan = Less(one, class)
    is_low = Less(class, one)
    lowered = Where(is_low, low, number)
    y = Where(is_nan, nan, lowered)
}"""

HALVES = """
Halves <axis> (both) => (first, second)
{
    # Not Split, which takes no axis of length 0.
    zero = Constant <value_ints = [0]> ()
    two = Constant <value_ints = [2]> ()
    axes = Constant <value_ints = @axis> ()
    shape = Shape(both)
    size = Gather(shape, axes)
    half = Div(size, two)
    first = Slice(both, zero, half, axes)
    second = Slice(both, half, size, axes)
}"""

FOR_ANY = [FLOOR_DIV, EVEN_WINDOWS, SHARE, CLAMP, CELLS, REQUIRE, HALVES]
FOR_FLOATS = [CLASSIFIED, DECLASSIFIED]
