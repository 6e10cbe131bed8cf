--- Rows of linear algebra: products, diagonals, norms, and what LAPACK does.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole

local INF <const> = math.huge

local rows = {}

-- -- products ----------------------------------------------------------------

rows.mm = {
  cases = {
    {real {2, 3}, other {3, 4}}, {real {0, 3}, other {3, 2}},
    {real {2, 0}, other {0, 3}}, {real {1, 1}, other {1, 1}},
  },
  errors = {
    {{real {2, 3}, real {2, 3}},
      "mm: a [2 3] and b [2 3]: inner sizes 3 and 2 differ"},
    {{real {3}, real {3, 2}},
      "mm: a must have 2 dimensions, got float64 [3]"},
    {{whole({2, 2}, 1, 3), whole({2, 2}, 1, 3)},
      "mm: a must be float32 or float64, got int64 [2 2]"},
  },
}

rows.mv = {
  cases = {
    {real {2, 3}, other {3}}, {real {0, 3}, other {3}},
    {real {2, 0}, other {0}}, {real {1, 1}, other {1}},
  },
  errors = {
    {{real {2, 3}, real {2}},
      "mv: a [2 3] and b [2]: inner sizes 3 and 2 differ"},
    {{real {2, 3}, real {3, 1}},
      "mv: b must have 1 dimension, got float64 [3 1]"},
  },
}

rows.dot = {
  cases = {{real {3}, other {3}}, {real {0}, other {0}}, {real {1}, other {1}}},
  errors = {
    {{real {2}, real {3}},
      "dot: a [2] and b [3]: inner sizes 2 and 3 differ"},
    {{real {2, 1}, real {2}},
      "dot: a must have 1 dimension, got float64 [2 1]"},
  },
}

rows.bmm = {
  cases = {
    {real {2, 2, 3}, other {2, 3, 4}}, {real {0, 2, 3}, other {0, 3, 2}},
    {real {2, 2, 0}, other {2, 0, 2}}, {real {1, 1, 1}, other {1, 1, 1}},
  },
  errors = {
    {{real {2, 2, 3}, real {1, 3, 2}},
      "bmm: a [2 2 3] and b [1 3 2] must have one batch size"},
    {{real {2, 2, 3}, real {2, 2, 2}},
      "bmm: a [2 2 3] and b [2 2 2]: inner sizes 3 and 2 differ"},
    {{real {2, 3}, real {3, 2}},
      "bmm: a must have 3 dimensions, got float64 [2 3]"},
  },
}

rows.addmm = {
  cases = {
    {real {2, 4}, other {2, 3}, positive {3, 4}},
    {real {4}, other {2, 3}, positive {3, 4}, {beta = 0.5, alpha = -2}},
    {real {2, 1}, other {2, 3}, positive {3, 4}, 0, 3},
    {real {}, other {2, 0}, positive {0, 2}, {beta = 3}},
    {real {2}, other {0, 3}, positive {3, 2}},
  },
  errors = {
    {{real {3}, real {2, 3}, real {3, 2}},
      "addmm: input [3] cannot be broadcast to the product [2 2]"},
    {{real {1, 2, 2}, real {2, 3}, real {3, 2}},
      "addmm: input [1 2 2] cannot be broadcast to the product [2 2]"},
    {{real {2}, real {2, 3}, real {2, 2}},
      "addmm: a [2 3] and b [2 2]: inner sizes 3 and 2 differ"},
    {{real {2}, real {2, 2, 3}, real {3, 2}},
      "addmm: a must have 2 dimensions, got float64 [2 2 3]"},
  },
}

rows.baddbmm = {
  cases = {
    {real {2, 2, 4}, other {2, 2, 3}, positive {2, 3, 4}},
    {real {4}, other {2, 2, 3}, positive {2, 3, 4},
      {beta = 0.5, alpha = -2}},
    {real {2, 1, 1}, other {2, 2, 3}, positive {2, 3, 4}, 0},
    {real {2}, other {0, 2, 3}, positive {0, 3, 2}},
  },
  errors = {
    {{real {2}, real {2, 2, 3}, real {3, 3, 2}},
      "baddbmm: a [2 2 3] and b [3 3 2] must have one batch size"},
    {{real {3}, real {1, 2, 3}, real {1, 3, 2}},
      "baddbmm: input [3] cannot be broadcast to the product [1 2 2]"},
  },
}

-- -- diagonals ---------------------------------------------------------------

rows.diagonal = {
  cases = {
    {real {3, 3}}, {real {2, 4}, 1}, {real {4, 2}, -2}, {real {2, 3}, 5},
    {real {2, 3, 4}, {dim1 = -1, dim2 = 1}}, {real {0, 3}}, {real {1, 1}},
    {whole({2, 2}, 1, 9)}, {sample.bool {3, 2}},
  },
  errors = {
    {{real {3}},
      "diagonal: x must have at least 2 dimensions, got float64 [3]"},
    {{real {2, 3}, 0, 1, 3},
      "diagonal: dim2 must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{real {2, 3}, 0, 2, -1},
      "diagonal: dim1 and dim2 must differ, both are 2"},
  },
}

rows.diag_embed = {
  cases = {
    {real {3}}, {real {2, 3}, 1}, {real {2}, -2},
    {real {2, 3}, {dim1 = 1, dim2 = -1}}, {real {2, 3}, {dim1 = 3, dim2 = 1}},
    {real {0}}, {real {2, 0}, 1}, {whole({3}, 1, 9)},
  },
  errors = {
    {{real {}},
      "diag_embed: x must have at least 1 dimension, got float64 []"},
    {{real {3}, 0, 1, 3},
      "diag_embed: dim2 must be 1..2 or -2..-1 for x [3], got 3"},
    {{real {1, 1, 1, 1, 1, 1, 1, 1}},
      "diag_embed: x [1 1 1 1 1 1 1 1] has 8 dimensions already"},
    {{real {3}, math.mininteger},
      "diag_embed: offset -9223372036854775808 is too large"},
  },
}

-- -- norms and distances -----------------------------------------------------

rows.vector_norm = {
  cases = {
    {real {2, 3, 4}}, {real {2, 3}, 1, 2}, {real {2, 3}, 3, -2, true},
    {real {2, 3, 4}, 0.5, {1, 3}}, {real {2, 3}, INF, 1},
    {real {2, 3}, -INF, 2}, {real {2, 3}, 0}, {real {2, 3}, -1, 1},
    {real {}, 2}, {real {0, 3}, 2, 1}, {real {0, 3}, INF, 2},
    {real {2, 3}, {ord = 4, keepdim = true}},
  },
  errors = {
    {{real {0, 3}, INF, 1},
      "vector_norm: x [0 3] has no elements, of which ord inf has no value"},
    {{real {0}, -1},
      "vector_norm: x [0] has no elements, of which ord -1 has no value"},
    {{real {2}, 0 / 0},
      "vector_norm: ord must be a number, got nan"},
    {{real {2, 3}, 2, 3},
      "vector_norm: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{whole({2}, 1, 3)},
      "vector_norm: x must be float32 or float64, got int64 [2]"},
  },
}

rows.cdist = {
  cases = {
    {real {3, 4}, other {2, 4}}, {real {3, 4}, other {2, 4}, 1},
    {real {2, 3, 2}, other {4, 2}, 3}, {real {3, 4}, other {2, 4}, INF},
    {real {3, 2}, other {2, 2}, 0}, {real {3, 2}, other {2, 2, 2}, 1.5},
    {real {0, 2}, other {3, 2}}, {real {2, 0}, other {3, 0}},
    {real {1, 1}, other {1, 1}}, {real {2, 300}, other {1, 300}},
  },
  errors = {
    {{real {2, 3}, real {2, 4}},
      "cdist: a [2 3] and b [2 4]: rows have 3 and 4 elements"},
    {{real {2, 2, 3}, real {3, 2, 3}},
      "cdist: a [2 2 3] and b [3 2 3]: batch sizes [2] and [3] cannot be " ..
        "broadcast together"},
    {{real {2, 3}, real {2, 3}, -1},
      "cdist: p must not be negative, got -1"},
    {{real {3}, real {2, 3}},
      "cdist: a must have at least 2 dimensions, got float64 [3]"},
  },
}

-- -- decompositions ----------------------------------------------------------

-- The same arguments with the first one made of what is there.
local function with_first(make)
  return function(args)
    local copy = {n = args.n}
    for key, value in pairs(args) do copy[key] = value end
    copy[1] = make(args[1])
    return copy
  end
end

local function identity(x) return heed.eye(x:size(-1), {dtype = x.dtype}) end

-- x x^T + 1, for the last two dimensions: symmetric, positive definite.
local from_symmetric = with_first(function(x)
  return x:matmul(x:transpose()) + identity(x)
end)

-- x + 3: far from singular.
local from_regular = with_first(function(x) return x + identity(x) * 3 end)

local function one_nan(shape)
  local x = sample.real(shape)
  x[#x] = 0 / 0
  return x
end

rows.cholesky = {
  from = from_symmetric,
  cases = {
    {real {3, 3}}, {real {2, 3, 3}, true}, {real {2, 2, 2, 2}}, {real {0, 0}},
    {real {0, 2, 2}}, {real {1, 1}},
  },
  errors = {
    {{real {3}},
      "cholesky: x must have at least 2 dimensions, got float64 [3]"},
    {{real {2, 3}},
      "cholesky: x must be square matrices (..., n, n), got float64 [2 3]"},
    {{heed.tensor {{1.0, 2.0}, {2.0, 1.0}}},
      "cholesky: x [2 2] is not positive definite: its leading minor of " ..
        "order 2 is not positive"},
    {{heed.stack {heed.eye(2), -heed.eye(2)}},
      "cholesky: matrix 2 of x [2 2 2] is not positive definite: its " ..
        "leading minor of order 1 is not positive"},
    {{heed.stack {heed.eye(2), -heed.eye(2)}:unsqueeze(1)},
      "cholesky: matrix [1 2] of x [1 2 2 2] is not positive definite: its " ..
        "leading minor of order 1 is not positive"},
    {{one_nan {2, 2, 2}},
      "cholesky: matrix 2 of x [2 2 2] has a NaN or an infinity"},
    {{whole({2, 2}, 1, 3)},
      "cholesky: x must be float32 or float64, got int64 [2 2]"},
  },
}

rows.qr = {
  cases = {
    {real {3, 3}}, {real {4, 2}}, {real {2, 4}}, {real {2, 3, 2}},
    {real {2, 2, 3}, "complete"}, {real {0, 2}}, {real {2, 0}},
    {real {0, 3, 2}}, {real {1, 1}},
  },
  errors = {
    {{real {3}},
      "qr: x must have at least 2 dimensions, got float64 [3]"},
    {{real {3, 2}, "full"},
      "qr: mode must be one of reduced|complete, got full"},
    {{one_nan {2, 2}},
      "qr: x [2 2] has a NaN or an infinity"},
    {{(real {3, 2}:clone() + heed.zeros(2, {requires_grad = true})),
      "complete"},
      'qr: x [3 2] has more rows than columns: with mode "complete", Q has ' ..
        "no gradient"},
  },
}

rows.svd = {
  cases = {
    {real {3, 3}}, {real {4, 2}, false}, {real {2, 4}, false},
    {real {2, 3, 2}, false}, {real {0, 2}}, {real {2, 0}}, {real {0, 2, 2}},
    {real {1, 1}},
  },
  errors = {
    {{real {3}},
      "svd: x must have at least 2 dimensions, got float64 [3]"},
    {{one_nan {2, 2}},
      "svd: x [2 2] has a NaN or an infinity"},
  },
  atol32 = 1e-4,
}

rows.svdvals = {
  cases = {
    {real {3, 3}}, {real {4, 2}}, {real {2, 2, 4}}, {real {0, 2}},
    {real {0, 2, 2}}, {real {1, 1}},
  },
  errors = {
    {{real {3}},
      "svdvals: x must have at least 2 dimensions, got float64 [3]"},
    {{one_nan {2, 2}},
      "svdvals: x [2 2] has a NaN or an infinity"},
  },
}

rows.eigh = {
  from = from_symmetric,
  cases = {
    {real {3, 3}}, {real {2, 3, 3}, "U"}, {real {0, 0}}, {real {0, 2, 2}},
    {real {1, 1}},
  },
  errors = {
    {{real {2, 3}},
      "eigh: x must be square matrices (..., n, n), got float64 [2 3]"},
    {{real {2, 2}, "x"},
      "eigh: UPLO must be one of L|U, got x"},
    {{one_nan {2, 2}},
      "eigh: x [2 2] has a NaN or an infinity"},
  },
  atol32 = 1e-4,
}

rows.eigvalsh = {
  from = from_symmetric,
  cases = {
    {real {3, 3}}, {real {2, 3, 3}, "U"}, {real {0, 0}}, {real {1, 1}},
  },
  errors = {
    {{real {2, 3}},
      "eigvalsh: x must be square matrices (..., n, n), got float64 [2 3]"},
    {{one_nan {2, 2}},
      "eigvalsh: x [2 2] has a NaN or an infinity"},
  },
  atol32 = 1e-4,
}

-- -- equations ---------------------------------------------------------------

rows.solve = {
  from = from_regular,
  cases = {
    {real {3, 3}, other {3, 2}}, {real {3, 3}, other {3}},
    {real {2, 3, 3}, other {3, 2}}, {real {3, 3}, other {2, 3, 2}},
    {real {2, 3, 3}, other {2, 3}}, {real {2, 1, 2, 2}, other {3, 2, 1}},
    {real {0, 0}, other {0, 2}}, {real {2, 2}, other {2, 0}},
    {real {0, 2, 2}, other {2, 1}}, {real {1, 1}, other {1}},
  },
  errors = {
    {{real {2, 3}, real {2}},
      "solve: a must be square matrices (..., n, n), got float64 [2 3]"},
    {{real {2, 2}, real {3, 1}},
      "solve: a [2 2] and b [3 1]: a has 2 rows, b has 3 rows"},
    {{real {2, 2}, real {3}},
      "solve: a [2 2] and b [3]: a has 2 rows, b has 3 elements"},
    {{real {2, 2, 2}, real {3, 2, 1}},
      "solve: a [2 2 2] and b [3 2 1]: batch sizes [2] and [3] cannot be " ..
        "broadcast together"},
    {{heed.ones(2, 2), heed.ones(2)},
      "solve: a [2 2] is singular"},
    {{heed.stack {heed.eye(2), heed.ones(2, 2)}, heed.ones(2, 1)},
      "solve: matrix 2 of a [2 2 2] is singular"},
    {{one_nan {2, 2}, real {2}},
      "solve: a [2 2] has a NaN or an infinity"},
  },
}

rows.solve_triangular = {
  from = from_regular,
  cases = {
    {real {3, 3}, other {3, 2}, true}, {real {3, 3}, other {3, 2}, false},
    {real {2, 3, 3}, other {2, 3}, {upper = true, left = false}},
    {real {3, 3}, other {2, 2, 3}, {upper = false, left = false}},
    {real {3, 3}, other {3, 1}, {upper = true, unitriangular = true}},
    {real {3, 3}, other {3, 1}, {upper = false, unitriangular = true}},
    {real {0, 0}, other {0, 2}, true}, {real {2, 2}, other {2, 0}, true},
    {real {1, 1}, other {1, 1}, true},
  },
  errors = {
    {{real {2, 3}, real {2, 3}, true},
      "solve_triangular: a must be square matrices (..., n, n), got float64 " ..
        "[2 3]"},
    {{real {2, 2}, real {2}, true},
      "solve_triangular: b must have at least 2 dimensions, got float64 [2]"},
    {{real {2, 2}, real {3, 2}, true},
      "solve_triangular: a [2 2] and b [3 2]: a has 2 rows, b has 3 rows"},
    {{real {2, 2}, real {2, 3}, {upper = true, left = false}},
      "solve_triangular: a [2 2] and b [2 3]: a has 2 rows, b has 3 columns"},
    {{heed.stack {heed.eye(2), heed.eye(2) - 1}, heed.ones(2, 1), true},
      "solve_triangular: matrix 2 of a [2 2 2] is singular: element 1 of " ..
        "its diagonal is 0"},
    {{real {2, 2}, real {2, 2}},
      "solve_triangular: upper is missing"},
  },
}

rows.inv = {
  from = from_regular,
  cases = {
    {real {3, 3}}, {real {2, 3, 3}}, {real {0, 0}}, {real {0, 2, 2}},
    {real {1, 1}},
  },
  errors = {
    {{real {2, 3}},
      "inv: x must be square matrices (..., n, n), got float64 [2 3]"},
    {{heed.ones(2, 2)},
      "inv: x [2 2] is singular"},
    {{one_nan {3, 2, 2}},
      "inv: matrix 3 of x [3 2 2] has a NaN or an infinity"},
  },
}

rows.det = {
  cases = {
    {real {3, 3}}, {real {2, 3, 3}}, {real {2, 2, 2, 2}}, {real {0, 0}},
    {real {0, 2, 2}}, {real {1, 1}},
    -- singular, of rank n - 1 and less
    {heed.tensor({{1, 2, 3}, {4, 5, 6}, {5, 7, 9}}, {dtype = "float64"})},
    {heed.ones({2, 3, 3}, {dtype = "float64"})},
    {heed.zeros({1, 1}, {dtype = "float64"})},
  },
  errors = {
    {{real {2, 3}},
      "det: x must be square matrices (..., n, n), got float64 [2 3]"},
    {{one_nan {2, 2}},
      "det: x [2 2] has a NaN or an infinity"},
  },
}

rows.slogdet = {
  cases = {
    {real {3, 3}}, {real {2, 3, 3}}, {real {0, 0}}, {real {0, 2, 2}},
    {real {1, 1}},
  },
  errors = {
    {{real {2, 3}},
      "slogdet: x must be square matrices (..., n, n), got float64 [2 3]"},
    {{one_nan {2, 2}},
      "slogdet: x [2 2] has a NaN or an infinity"},
  },
}

rows.pinv = {
  cases = {
    {real {3, 3}}, {real {4, 2}}, {real {2, 2, 4}}, {real {0, 2}},
    {real {2, 0}}, {real {1, 1}},
  },
  errors = {
    {{real {3}},
      "pinv: x must have at least 2 dimensions, got float64 [3]"},
    {{real {2, 2}, -1},
      "pinv: atol must not be negative, got -1"},
    {{real {2, 2}, {rtol = -1}},
      "pinv: rtol must not be negative, got -1"},
    {{one_nan {2, 2}},
      "pinv: x [2 2] has a NaN or an infinity"},
  },
  atol32 = 1e-4,
}

rows.lstsq = {
  cases = {
    {real {4, 2}, other {4, 3}}, {real {2, 4}, other {2, 1}},
    {real {3, 3}, other {3, 1}}, {real {2, 4, 2}, other {2, 4, 1}},
    {real {0, 2}, other {0, 1}}, {real {2, 0}, other {2, 1}},
    {real {0, 2, 2}, other {0, 2, 1}}, {real {1, 1}, other {1, 1}},
  },
  errors = {
    {{real {4, 2}, real {3, 1}},
      "lstsq: a [4 2] and b [3 1] must agree in all sizes but the last"},
    {{real {4, 2}, real {4, 1}, -1},
      "lstsq: rcond must not be negative, got -1"},
    {{one_nan {2, 2}, real {2, 1}},
      "lstsq: a [2 2] has a NaN or an infinity"},
  },
  atol32 = 1e-4,
}

return rows
