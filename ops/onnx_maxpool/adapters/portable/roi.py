"""MaxRoiPool and RoiPooling as ONNX text: rules M1 and M3 to M11, D1 and D2."""

from __future__ import annotations

MAX_ROI_POOL = """
MaxRoiPool <pooled_shape, spatial_scale: float = 1.0> (X, rois) => (Y)
{
    Y = portable.RoiMax <pooled = @pooled_shape, spatial_scale = @spatial_scale> (X, rois)
}"""

ROI_POOLING = """
RoiPooling <pooled_size, spatial_scale: float = 1.0> (X, rois) => (Y)
{
    # D1: the first two dimensions are 1.
    leading = Constant <value_ints = [0, 1]> ()
    one = Constant <value_ints = [1]> ()
    shape = Shape(rois)
    leads = Gather(shape, leading)
    are_one = Equal(leads, one)
    are_not_one = Not(are_one)
    rois_begin_with_two_dimensions_of_1 = portable.Require(are_not_one)
    tables = Gather(rois, rois_begin_with_two_dimensions_of_1)
    table = Gather(tables, rois_begin_with_two_dimensions_of_1)
    Y = portable.RoiMax <pooled = @pooled_size, spatial_scale = @spatial_scale> (X, table)
}"""

ROI_MAX = """
RoiMax <pooled, spatial_scale> (X, rois) => (Y)
{
    # Bins of ROIs (R, 5) on maps (N, C, H, W): (R, C, pooled...). Computed in float, doubles in double.
    nothing = Constant <value_int = 0> ()
    zero = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    x = Cast <to = $to> (X)
    table = Cast <to = $to> (rois)
    x_shape = Shape(x)
    table_shape = Shape(table)
    batches = Gather(x_shape, zero)
    channels = Gather(x_shape, one)
    rows = Gather(table_shape, zero)
    last_axis = Constant <value_ints = [-1]> ()
    columns = Gather(table_shape, last_axis)
    x_rank = Shape(x_shape)
    table_rank = Shape(table_shape)
    given = Concat <axis = 0> (x_rank, table_rank, columns)
    due = Constant <value_ints = [4, 2, 5]> ()
    are_due = Equal(given, due)
    are_not_due = Not(are_due)
    x_has_4_dimensions_and_rois_are_r_by_5 = portable.Require(are_not_due)
    count = Add(rows, x_has_4_dimensions_and_rois_are_r_by_5)
    batch = portable.RoiBatches(table, batches)
    first, last = portable.RoiEdges <spatial_scale = @spatial_scale> (table)

    sides = Constant <value_ints = @pooled> ()
    y_shape = Concat <axis = 0> (count, channels, sides)
    sizes = Concat <axis = 0> (count, x_shape)
    least = ReduceMin <keepdims = 0> (sizes)
    is_empty = Equal(least, nothing)
    y = If (is_empty) <
        then_branch = empty () => ($F[?, ?, ?, ?] none)
        {
            none = ConstantOfShape <value = $F[1] {0}> (y_shape)
        },
        else_branch = full () => ($F[?, ?, ?, ?] some)
        {
            some = portable.SomeRoisMax(x, batch, first, last, y_shape)
        }
    >
    Y = Cast <to = $T> (y)
}"""

ROI_BATCHES = """
RoiBatches (rois, batches) => (batch)
{
    # M10, M11: the batch numbers (R) of ROIs (R, 5). The run fails where one is not in range or a cell is NaN. Numbers
    # from -1 to 0 are 0, which without images is not in range either.
    flat = Constant <value_ints = [-1]> ()
    batch_column = Constant <value_ints = [0]> ()
    edge_columns = Constant <value_ints = [1, 2, 3, 4]> ()
    below = Constant <value = $F[1] {-1}> ()
    value = Gather <axis = 1> (rois, batch_column)
    count = Cast <to = $to> (batches)
    is_above = Less(below, value)
    row_of_zero = Constant <value = $F[1] {0}> ()
    whole_or_zero = Max(value, row_of_zero)
    is_under = Less(whole_or_zero, count)
    is_valid = And(is_above, is_under)
    is_bad = Not(is_valid)
    edges = Gather <axis = 1> (rois, edge_columns)
    is_nan = IsNaN(edges)
    every_batch_is_in_range = portable.Require(is_bad)
    no_coordinate_is_nan = portable.Require(is_nan)
    nothing = Add(every_batch_is_in_range, no_coordinate_is_nan)
    column = Cast <to = 7> (value)
    row = Reshape(column, flat)
    batch = Add(row, nothing)
}"""

ROI_EDGES = """
RoiEdges <spatial_scale> (rois) => (first, last)
{
    # M5, M6, M11: the first and last cell along x and along y, each (R, 2), of ROIs (R, 5); as doubles, which hold
    # these integers and their differences, where OpenVINO's 64-bit integers have 32 bits.
    starts = Constant <value_ints = [1, 2]> ()
    ends = Constant <value_ints = [3, 4]> ()
    float_scale = Constant <value_float = @spatial_scale> ()
    scale = Cast <to = $to> (float_scale)
    start = Gather <axis = 1> (rois, starts)
    end = Gather <axis = 1> (rois, ends)
    scaled_start = Mul(start, scale)
    scaled_end = Mul(end, scale)
    rounded_start = portable.RoundHalfAway(scaled_start)
    rounded_end = portable.RoundHalfAway(scaled_end)
    is_malformed = Less(rounded_end, rounded_start)
    held_end = Where(is_malformed, rounded_start, rounded_end)
    first = Cast <to = 11> (rounded_start)
    last = Cast <to = 11> (held_end)
}"""

ROUND_HALF_AWAY = """
RoundHalfAway (x) => (y)
{
    # M5, M11: Round would take halves to even, and floor(x + 0.5) would take 0.49999997 to 1.
    low = Constant <value = $F {-1099511627776}> ()
    high = Constant <value = $F {1099511627776}> ()
    half = Constant <value = $F {0.5}> ()
    capped = Min(x, high)
    held = Max(capped, low)
    size = Abs(held)
    whole = Floor(size)
    fraction = Sub(size, whole)
    is_smaller = Less(fraction, half)
    is_half_or_more = Not(is_smaller)
    up = Cast <to = $to> (is_half_or_more)
    rounded = Add(whole, up)
    sign = Sign(held)
    y = Mul(rounded, sign)
}"""

SOME_ROIS_MAX = """
SomeRoisMax (x, batch, first, last, y_shape) => (y)
{
    # M7 to M9, G2, G3: one ROI after the other, so that no more than the cells of one are gathered at a time.
    zero = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    axis_2 = Constant <value_ints = [2]> ()
    axis_3 = Constant <value_ints = [3]> ()
    x_shape = Shape(x)
    batches = Gather(x_shape, zero)
    height = Gather(x_shape, axis_2)
    width = Gather(x_shape, axis_3)
    roi_count = Gather(y_shape, zero)
    bins_y = Gather(y_shape, axis_2)
    bins_x = Gather(y_shape, axis_3)
    first_x = Gather <axis = 1> (first, zero)
    first_y = Gather <axis = 1> (first, one)
    last_x = Gather <axis = 1> (last, zero)
    last_y = Gather <axis = 1> (last, one)
    y_start, y_end = portable.RoiWindows(first_y, last_y, bins_y, height)
    x_start, x_end = portable.RoiWindows(first_x, last_x, bins_x, width)

    # A row of channels per cell, and behind them a cell that holds 0 for the empty bins.
    channels_last = Transpose <perm = [0, 2, 3, 1]> (x)
    rows = Flatten <axis = 3> (channels_last)
    channels = Gather(x_shape, one)
    cell_shape = Concat <axis = 0> (one, channels)
    zero_cell = ConstantOfShape <value = $F[1] {0}> (cell_shape)
    cells = Concat <axis = 0> (rows, zero_cell)
    area = Mul(height, width)
    volume = Mul(batches, area)

    # NaN and infinities, which are rare, make this sum no finite number: then the cells' classes are pooled too.
    sum = ReduceL1 <keepdims = 0> (cells)
    infinity = Constant <value = $F {inf}> ()
    is_finite = Less(sum, infinity)
    pooled_cells = If (is_finite) <
        then_branch = finite () => ($F[?, ?] plain) { plain = Identity(cells) },
        else_branch = special () => ($F[?, ?] both) { both = portable.Classified(cells) }
    >

    scalar = Constant <value = int64[0] {}> ()
    trips = Reshape(roi_count, scalar)
    always = Constant <value = bool {1}> ()
    rois = Loop (trips, always) <
        body = pool_roi (int64 r, bool go_on) => (bool keep_on, $F[?, ?, ?] bins)
        {
            keep_on = Identity(go_on)
            roi_batch = Gather(batch, r)
            roi_y_start = Gather(y_start, r)
            roi_y_end = Gather(y_end, r)
            roi_x_start = Gather(x_start, r)
            roi_x_end = Gather(x_end, r)
            index = portable.RoiCells(roi_batch, roi_y_start, roi_y_end, roi_x_start, roi_x_end, height, width, volume)
            windows = Gather(pooled_cells, index)
            columns_max = portable.ReduceMaxAlong <axes = [1]> (windows)
            windows_max = portable.ReduceMaxAlong <axes = [2]> (columns_max)
            bins = Transpose <perm = [2, 0, 1]> (windows_max)
        }
    >

    # Runtimes stack the bins along a new axis, onnx.reference strings them together: the same cells in another shape.
    any = Constant <value_ints = [-1]> ()
    cell_axes = Shape(pooled_cells)
    pooled_channels = Gather(cell_axes, one)
    stacked_shape = Concat <axis = 0> (any, pooled_channels, bins_y, bins_x)
    stacked = Reshape(rois, stacked_shape)
    y = If (is_finite) <
        then_branch = was_finite () => ($F[?, ?, ?, ?] as_is) { as_is = Identity(stacked) },
        else_branch = was_special () => ($F[?, ?, ?, ?] joined)
        {
            joined = portable.Declassified <axis = [1]> (stacked)
        }
    >
}"""

ROI_WINDOWS = """
RoiWindows (first, last, count, size) => (start, end)
{
    # M7, M8: the bins of ROIs from the cells `first` to the cells `last`, (R, 1); start and end (R, count).
    scalar = Constant <value = int64[0] {}> ()
    bins = Reshape(count, scalar)
    free_start, free_end = portable.RoiBins(first, last, bins)
    nothing = Constant <value = double {0}> ()
    limit = Cast <to = 11> (size)
    capped_start = Min(free_start, limit)
    capped_end = Min(free_end, limit)
    held_start = Max(capped_start, nothing)
    held_end = Max(capped_end, nothing)
    start = Cast <to = 7> (held_start)
    end = Cast <to = 7> (held_end)
}"""

ROUNDED_BINS = """
RoiBins (first, last, count) => (start, end)
{
    # M7's `onnx` and `double`: the quotient and the products are each rounded in one float type.
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    unit = Constant <value = double {1}> ()
    span = Sub(last, first)
    extent = Add(span, unit)
    size = Cast <to = $edge> (extent)
    parts = Cast <to = $edge> (count)
    bin = portable.Quotient(size, parts)
    i = Range(zero, count, one)
    next = Add(i, one)
    at = Cast <to = $edge> (i)
    until = Cast <to = $edge> (next)
    low = Mul(at, bin)
    high = Mul(until, bin)
    floor = Floor(low)
    ceiling = Ceil(high)
    before = Cast <to = 11> (floor)
    through = Cast <to = 11> (ceiling)
    start = Add(first, before)
    end = Add(first, through)
}"""

QUOTIENT = """
Quotient (a, n) => (quotient) { quotient = Div(a, n) }"""

FLOAT_QUOTIENT = """
Quotient (a, n) => (quotient)
{
    # a / n, rounded once: OpenVINO multiplies by 1 / n in place of it, which rounds twice. So what is left over is
    # divided too. It is exact, as `near` comes apart into halves of 12 bits, whose products with n are floats; and no
    # quotient is so close to the middle of two floats that dividing it in two steps would matter. For n below 2^11.
    near = Div(a, n)
    splitter = Constant <value = float {4097}> ()
    spread = Mul(near, splitter)
    excess = Sub(spread, near)
    high = Sub(spread, excess)
    low = Sub(near, high)
    high_product = Mul(high, n)
    low_product = Mul(low, n)
    rest = Sub(a, high_product)
    remainder = Sub(rest, low_product)
    correction = Div(remainder, n)
    corrected = Add(near, correction)
    limit = Constant <value = float {2048}> ()
    is_small = Less(n, limit)
    quotient = Where(is_small, corrected, near)
}"""

EXACT_BINS = """
RoiBins (first, last, count) => (start, end)
{
    # M7's `exact`. With L = quotient * count + remainder no number here is beyond 2^53, as long as count is below 2^26.
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    unit = Constant <value = double {1}> ()
    span = Sub(last, first)
    extent = Add(span, unit)
    parts = Cast <to = 11> (count)
    quotient = portable.WholeQuotient(extent, parts)
    product = Mul(quotient, parts)
    remainder = Sub(extent, product)
    i = Range(zero, count, one)
    at = Cast <to = 11> (i)
    before = portable.CellsBefore(at, quotient, remainder, parts)
    start = Add(first, before)
    # ceil((i+1)*L / n) = L - floor((n-1-i)*L / n)
    largest = Sub(parts, unit)
    mirrored = Sub(largest, at)
    behind = portable.CellsBefore(mirrored, quotient, remainder, parts)
    past = Add(last, unit)
    end = Sub(past, behind)
}"""

CELLS_BEFORE = """
CellsBefore (i, quotient, remainder, count) => (cells)
{
    # floor(i * (quotient*count + remainder) / count)
    whole = Mul(i, quotient)
    parts = Mul(i, remainder)
    part = portable.WholeQuotient(parts, count)
    cells = Add(whole, part)
}"""

WHOLE_QUOTIENT = """
WholeQuotient (a, n) => (quotient)
{
    # floor(a / n) of doubles that are integers, a >= 0 and n > 0. The rounded quotient is off by one at most.
    nothing = Constant <value = double {0}> ()
    ratio = Div(a, n)
    near = Floor(ratio)
    product = Mul(near, n)
    rest = Sub(a, product)
    is_above = Less(rest, nothing)
    is_right = Less(rest, n)
    is_below = Not(is_right)
    down = Cast <to = 11> (is_above)
    up = Cast <to = 11> (is_below)
    raised = Add(near, up)
    quotient = Sub(raised, down)
}"""

ROI_CELLS = """
RoiCells (batch, y_start, y_end, x_start, x_end, height, width, vacant) => (cells)
{
    # The flat cells of every bin of one ROI, (bins_y, K, bins_x, L); `vacant` for those of an empty bin (M9).
    y_shape = Constant <value_ints = [0, 0, 1, 1]> ()
    y_bin_shape = Constant <value_ints = [-1, 1, 1, 1]> ()
    x_bin_shape = Constant <value_ints = [-1, 1]> ()
    y_cells = portable.Cells(y_start, y_end)
    x_cells = portable.Cells(x_start, x_end)
    first_row = Mul(batch, height)
    row = Add(first_row, y_cells)
    first_cell = Mul(row, width)
    grid = Reshape(first_cell, y_shape)
    occupied = Add(grid, x_cells)
    has_rows = Less(y_start, y_end)
    has_columns = Less(x_start, x_end)
    rows = Reshape(has_rows, y_bin_shape)
    columns = Reshape(has_columns, x_bin_shape)
    is_occupied = And(rows, columns)
    cells = Where(is_occupied, occupied, vacant)
}"""

TEXTS = [
    *(MAX_ROI_POOL, ROI_POOLING, ROI_MAX, ROI_BATCHES, ROI_EDGES),
    *(ROUND_HALF_AWAY, SOME_ROIS_MAX, ROI_WINDOWS, ROI_CELLS),
]
BINS = {
    "float": [ROUNDED_BINS, FLOAT_QUOTIENT],
    "double": [ROUNDED_BINS, QUOTIENT],
    "exact": [EXACT_BINS, CELLS_BEFORE, WHOLE_QUOTIENT],
}
"""What cuts ROIs into bins (M7), by the type that edges are rounded in, or exactly."""
