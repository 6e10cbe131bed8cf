-- heed.linalg and the methods beside it: what decompositions give back, values
-- of PyTorch 2 in double precision, gradients, errors.

local close = require "spec.support.close"
local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local sample = require "spec.support.sample"

local linalg <const> = heed.linalg
local real <const>, other <const> = sample.real, sample.other
local INF <const> = math.huge

local function double(values)
  return heed.tensor(values, {dtype = "float64"})
end

local A <const> = double {{4, 1, 2}, {1, 3, 0}, {2, 0, 5}}
local B <const> = double {{1, 2}, {3, 4}, {5, 7}}

local TIGHT <const> = {atol = 1e-11, rtol = 1e-11}

local function check(got, want) close.check("value", got, want, TIGHT) end

local function eye(n) return heed.eye(n, {dtype = "float64"}) end

local function check_orthonormal(q)
  local product = q:transpose():matmul(q)
  check(product, eye(q:size(-1)):expand(product.shape))
end

local SHAPES <const> = {
  {3, 3}, {5, 3}, {3, 5}, {2, 4, 3}, {2, 2, 3, 4}, {1, 1}, {3, 1}, {1, 3},
}

describe("linalg gives back", function()
  it("x = L L^T and x = U^T U", function()
    local r = real {2, 4, 4}
    local x = r:matmul(r:transpose()) + eye(4)
    local l = linalg.cholesky(x)
    check(l:matmul(l:transpose()), x)
    check(l:triu(1), heed.zeros({2, 4, 4}, {dtype = "float64"}))
    check(linalg.cholesky(x, {upper = true}), l:transpose())
  end)

  it("cholesky from one triangle only", function()
    check(linalg.cholesky(A:tril()), linalg.cholesky(A))
    check(linalg.cholesky(A:triu(), true), linalg.cholesky(A, true))
  end)

  it("x = Q R, with orthonormal columns", function()
    for _, shape in ipairs(SHAPES) do
      local x = real(shape)
      for _, mode in ipairs {"reduced", "complete"} do
        local q, r = linalg.qr(x, mode)
        check(q:matmul(r), x)
        check_orthonormal(q)
        check(r:tril(-1):abs():max(), 0)
        local n = mode == "complete" and shape[#shape - 1] or
          math.min(shape[#shape - 1], shape[#shape])
        assert.same(n, q:size(-1))
        assert.same(n, r:size(-2))
      end
    end
  end)

  it("x = U S V^T, from the largest down", function()
    for _, shape in ipairs(SHAPES) do
      local x = real(shape)
      local k = math.min(shape[#shape - 1], shape[#shape])
      for _, full in ipairs {true, false} do
        local u, s, vh = linalg.svd(x, full)
        check_orthonormal(u)
        check_orthonormal(vh:transpose())
        local us = u:slice(-1, 1, k) * s:unsqueeze(-2)
        check(us:matmul(vh:slice(-2, 1, k)), x)
        check(linalg.svdvals(x), s)
        assert.is_true(s:ge(0):all():item())
        assert.same(full and shape[#shape - 1] or k, u:size(-1))
        assert.same(full and shape[#shape] or k, vh:size(-2))
      end
    end
  end)

  it("x = V w V^T, from the smallest up", function()
    local r = real {2, 4, 4}
    local x = r + r:transpose()
    for _, side in ipairs {"L", "U"} do
      local given = side == "L" and x:tril() or x:triu()
      local w, v = linalg.eigh(given, side)
      check((v * w:unsqueeze(-2)):matmul(v:transpose()), x)
      check_orthonormal(v)
      check(linalg.eigvalsh(given, side), w)
      assert.is_true(w:slice(-1, 2):ge(w:slice(-1, 1, 3)):all():item())
    end
  end)

  it("what solves the system", function()
    local a, b = real {2, 4, 4} + eye(4) * 3, other {2, 4, 3}
    check(a:matmul(linalg.solve(a, b)), b)
    check(linalg.solve(a, b), linalg.inv(a):matmul(b))
    for _, upper in ipairs {true, false} do
      local t = upper and a:triu() or a:tril()
      check(t:matmul(linalg.solve_triangular(a, b, upper)), b)
      local c = b:transpose()
      check(linalg.solve_triangular(a, c, {upper = upper, left = false})
        :matmul(t), c)
      local one = t - heed.diag_embed(t:diagonal(0, -2, -1)) + eye(4)
      check(one:matmul(linalg.solve_triangular(a, b,
        {upper = upper, unitriangular = true})), b)
    end
  end)

  it("determinants of products", function()
    local a, b = real {2, 3, 3}, other {2, 3, 3}
    check(linalg.det(a:matmul(b)), linalg.det(a) * linalg.det(b))
    local sign, log = linalg.slogdet(a)
    check(sign * log:exp(), linalg.det(a))
  end)

  it("the four conditions of Penrose", function()
    for _, shape in ipairs(SHAPES) do
      local x = real(shape)
      local p = linalg.pinv(x)
      local xp, px = x:matmul(p), p:matmul(x)
      check(xp:matmul(x), x)
      check(px:matmul(p), p)
      check(xp:transpose(), xp)
      check(px:transpose(), px)
    end
  end)

  it("the shortest solution of a rank-deficient system", function()
    local x = double {{1, 1}, {1, 1}, {0, 0}}
    local solution, residuals, rank = linalg.lstsq(x, double {2, 4, 1})
    check(solution, {1.5, 1.5})
    assert.same({0}, residuals.shape)
    assert.same(1, rank:item())
    check(linalg.pinv(x):mv(double {2, 4, 1}), {1.5, 1.5})
  end)
end)

-- -- values ------------------------------------------------------------------

describe("linalg computes what PyTorch does:", function()
  it("decompositions", function()
    check(linalg.cholesky(A), {
      {2, 0, 0}, {0.5, 1.658312395178, 0},
      {1, -0.301511344578, 1.977142106448}})
    check(linalg.eigvalsh(A),
      {1.854897308800, 3.476023602918, 6.669079088282})
    check(linalg.svdvals(B), {10.191428257097, 0.367137685944})
    local q, r = linalg.qr(B)
    check(q, {
      {-0.1690308509457, 0.9486832980505}, {-0.5070925528371, -0.3162277660168},
      {-0.8451542547285, 0}})
    check(r, {{-5.916079783100, -8.282511696339}, {0, 0.632455532034}})
  end)

  it("equations", function()
    check(linalg.solve(A, double {1, 2, 3}),
      {-0.302325581395, 0.767441860465, 0.720930232558})
    check(linalg.inv(A), {
      {0.348837209302, -0.116279069767, -0.139534883721},
      {-0.116279069767, 0.372093023256, 0.046511627907},
      {-0.139534883721, 0.046511627907, 0.255813953488}})
    check(linalg.det(A), 43)
    local sign, log = linalg.slogdet(A)
    check(sign, 1)
    check(log, 3.761200115694)
    check(linalg.pinv(B), {
      {-2.071428571429, 0.7857142857143, 0.1428571428571}, {1.5, -0.5, 0}})
    local x, residuals, rank, values = linalg.lstsq(B, double {{1}, {0}, {2}})
    check(x, {{-1.785714285714}, {1.5}})
    check(residuals, {0.642857142857})
    assert.same(2, rank:item())
    check(values, {10.191428257097, 0.367137685944})
  end)

  it("norms of matrices", function()
    for _, case in ipairs {
      {"fro", 10.198039027186}, {"nuc", 10.558565943041}, {1, 13}, {-1, 9},
      {2, 10.191428257097}, {-2, 0.367137685944}, {INF, 12}, {-INF, 3},
    } do
      check(linalg.matrix_norm(B, case[1]), case[2])
      check(linalg.norm(B, case[1]), case[2])
      local batch = heed.stack({B, B * 2}, 2) -- [3 2 2]: rows, batch, columns
      check(linalg.matrix_norm(batch, {ord = case[1], dim = {1, 3}}),
        {case[2], 2 * case[2]})
      local kept = linalg.norm(batch, case[1], {1, -1}, true)
      check(kept, {{{case[2]}, {2 * case[2]}}})
    end
    check(linalg.norm(B), 10.198039027186)
    check(heed.norm(double {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}},
      "nuc"), 24.364638499285)
  end)

  it("norms of vectors", function()
    local v = double {3, -4, 1}
    for _, case in ipairs {
      {0, 3}, {1, 8}, {2, 5.099019513593}, {3, 4.514357435474},
      {0.5, 22.392304845413}, {-1, 0.631578947368}, {INF, 4}, {-INF, 1},
    } do
      check(linalg.vector_norm(v, case[1]), case[2])
      check(linalg.norm(v, case[1]), case[2])
      check(v:norm(case[1]), case[2])
      check(heed.stack({v, v}):norm(case[1], 2), {case[2], case[2]})
      check(v:norm {p = case[1], dim = 1, keepdim = true}, {case[2]})
    end
    check(v:norm "fro", 5.099019513593)
  end)

  it("condition numbers and powers", function()
    for _, case in ipairs {
      {nil, 3.595389920857}, {1, 4.232558139535}, {-1, 1.767441860465},
      {"fro", 4.873743961834}, {"nuc", 11.720930232558},
      {INF, 4.232558139535}, {2, 3.595389920857}, {-2, 0.278133949867},
    } do
      check(linalg.cond(A, case[1]), case[2])
    end
    check(linalg.cond(heed.ones(2, 2, 2):to("float64"), 1), {INF, INF})
    check(linalg.matrix_power(A, 3),
      {{127, 42, 132}, {42, 37, 24}, {132, 24, 181}})
    check(linalg.matrix_power(A, -2), {
      {0.154678204435, -0.090319091401, -0.089778258518},
      {-0.090319091401, 0.154137371552, 0.045429962142},
      {-0.089778258518, 0.045429962142, 0.087074094105}})
    check(linalg.matrix_power(A, 0), eye(3))
  end)

  it("ranks", function()
    assert.same({2, 1, 0}, linalg.matrix_rank(heed.stack {
      heed.tensor {{1.0, 0.0}, {0.0, 1e-3}}, heed.ones(2, 2),
      heed.zeros(2, 2)}):totable())
    assert.same(1, linalg.matrix_rank(
      heed.tensor {{1.0, 0.0}, {0.0, 1e-3}}, {rtol = 0.1}):item())
    assert.same(1, linalg.matrix_rank(
      heed.tensor {{1.0, 0.0}, {0.0, 1e-3}}, 0.1):item())
    assert.same(0, linalg.matrix_rank(heed.zeros(0, 3)):item())
  end)

  it("distances", function()
    local a, b = double {{0, 0}, {1, 2}}, double {{3, 4}, {1, 0}}
    for _, case in ipairs {
      {0, {{2, 1}, {2, 1}}}, {0.5, {{13.928203230276, 1}, {8, 2}}},
      {1, {{7, 1}, {4, 2}}}, {2, {{5, 1}, {2.828427124746, 2}}},
      {3, {{4.497941445275, 1}, {2.519842099790, 2}}},
      {INF, {{4, 1}, {2, 2}}},
    } do
      check(a:cdist(b, case[1]), case[2])
    end
  end)

  it("products", function()
    check(double {1, 2}:outer(double {3, 4, 5}), {{3, 4, 5}, {6, 8, 10}})
    check(double {{1, 2}}:kron(double {{1, 0}, {0, 3}}),
      {{1, 0, 2, 0}, {0, 3, 0, 6}})
    check(double {1, 2}:kron(double {{1, 10}}), {{1, 10, 2, 20}})
    check(double {1, 2, 3}:cross(double {4, 5, 6}), {-3, 6, -3})
    check(double {{1, 2, 3}, {0, 0, 1}}:cross(double {1, 0, 0}),
      {{0, 3, -2}, {0, 1, 0}})
    check(double {{1}, {2}, {3}}:cross(double {{4}, {5}, {6}}, 1),
      {{-3}, {6}, {-3}})
    check(A:trace(), 12)
    check(B:diag(-1), {3, 7})
    check(double {1, 2}:diag(1), {{0, 1, 0}, {0, 0, 2}, {0, 0, 0}})
    local x = heed.arange(0, 23):reshape(2, 3, 4):to("float64")
    local y = heed.arange(0, 11):reshape(4, 3):to("float64")
    check(heed.tensordot(x, y, {{2, 3}, {2, 1}}), {440, 1232})
    check(heed.tensordot(x, y, 1), x:matmul(y))
    check(heed.tensordot(double {1, 2}, double {3, 4}, 0), {{3, 4}, {6, 8}})
    check(heed.tensordot(A, A), 60)
  end)
end)

-- -- edges -------------------------------------------------------------------

describe("linalg", function()
  it("takes matrices and batches of size 0", function()
    assert.same({0, 0}, linalg.inv(heed.zeros(0, 0)).shape)
    assert.same({0, 3, 3}, linalg.inv(heed.zeros(0, 3, 3)).shape)
    assert.same(1, linalg.det(heed.zeros(0, 0)):item())
    local u, s, vh = linalg.svd(heed.zeros(2, 0))
    assert.same({{1, 0}, {0, 1}}, u:totable())
    assert.same({0}, s.shape)
    assert.same({0, 0}, vh.shape)
    local q, r = linalg.qr(heed.zeros(2, 0), "complete")
    assert.same({{1, 0}, {0, 1}}, q:totable())
    assert.same({2, 0}, r.shape)
    assert.same({3, 2}, linalg.pinv(heed.zeros(2, 3)).shape)
    assert.same({0, 2}, linalg.solve(heed.zeros(0, 0), heed.zeros(0, 2)).shape)
    assert.same({{0}, {0}}, linalg.lstsq(heed.zeros(0, 2), heed.zeros(0, 1))
      :totable())
  end)

  it("gives diagonals as views", function()
    local x = heed.zeros(2, 2)
    x:diagonal():copy_(heed.tensor {1.0, 2.0})
    assert.same({{1, 0}, {0, 2}}, x:totable())
    linalg.diagonal(x, {offset = 1}):copy_(5.0)
    assert.same({{1, 5}, {0, 2}}, x:totable())
  end)

  it("does not look at what addmm multiplies by 0", function()
    local nan = heed.full({2, 2}, 0 / 0)
    check(heed.addmm(nan, heed.ones(2, 1), heed.ones(1, 2), {beta = 0}),
      {{1, 1}, {1, 1}})
    check(heed.baddbmm(nan, heed.ones(1, 2, 1), heed.ones(1, 1, 2), 0),
      {{{1, 1}, {1, 1}}})
  end)

  it("keeps large and small norms in range", function()
    check(heed.tensor {3e30, 4e30}:norm() / 1e30, 5)
    check(heed.tensor {3e-30, 4e-30}:norm() * 1e30, 5)
    local sign, log = linalg.slogdet(eye(200) * -1e-3)
    check(sign, 1)
    check(log, 200 * math.log(1e-3))
  end)

  it("keeps NaN in norms and distances", function()
    local x = heed.tensor {{1.0, 0 / 0, 5.0}}
    for _, p in ipairs {1, 2, 3, INF, -INF} do
      assert.is_true(x:norm(p):isnan():item())
      if p > 0 then
        assert.is_true(x:cdist(heed.zeros(1, 3), p):isnan():item())
      end
    end
  end)

  it("lets NaN of b through, column by column", function()
    local b = double {{2, 0 / 0}, {2, 1}}
    local x = linalg.solve(eye(2) * 2, b)
    check(x:select(2, 1), {1, 1})
    assert.is_true(x:select(2, 2):isnan():any():item())
  end)

  it("starts no threads of OpenBLAS", function()
    local function threads()
      for line in io.lines "/proc/self/status" do
        local n = line:match "^Threads:%s+(%d+)"
        if n then return tonumber(n) end
      end
    end
    local x = heed.randn {400, 400} -- large enough for OpenBLAS to cut
    local before = threads()
    linalg.inv(x)
    linalg.qr(x)
    linalg.svdvals(x)
    linalg.solve_triangular(x, x, true)
    assert.same(before, threads())
  end)

  it("has the same bits for any number of threads", function()
    local before = heed.get_num_threads()
    heed.manual_seed(3)
    local x = heed.randn {2, 150, 150}
    local p = x:matmul(x:transpose()) + heed.eye(150)
    local function all()
      local list = {
        linalg.cholesky(p), linalg.inv(x), linalg.det(x),
        linalg.solve(x, heed.ones(150, 70)), linalg.pinv(x),
        linalg.vector_norm(x), x:cdist(x), x:norm(3), x:bmm(p),
        linalg.solve_triangular(p, heed.ones(150, 70), {upper = true}),
        heed.addmm(heed.ones(150), x[1], x[2], {beta = 2, alpha = 3}),
        heed.einsum("bij,bkj,bkl->il", x, p, x),
      }
      for _, f in ipairs {linalg.qr, linalg.svd, linalg.eigh} do
        for _, t in ipairs {f(f == linalg.eigh and p or x)} do
          list[#list + 1] = t
        end
      end
      return list
    end
    heed.set_num_threads(1)
    local one = all()
    for _, n in ipairs {2, 3} do
      heed.set_num_threads(n)
      for i, t in ipairs(all()) do
        assert.is_true(t:eq(one[i]):all():item(), "result " .. i)
      end
      assert.same(n, heed.get_num_threads())
    end
    heed.set_num_threads(before)
  end)
end)

-- -- gradients ---------------------------------------------------------------

-- The gradient of a weighted sum of f(x), as a function of x.
local function slope(f)
  return function(args)
    local _ <close> = heed.enable_grad()
    local x = args[1]
    if not x.requires_grad then
      x = x:clone():detach()
      x.requires_grad = true
    end
    local total = 0.0
    for _, y in ipairs {f(x)} do
      total = total + (y * other(y.shape)):sum()
    end
    return heed.grad(total, x, {create_graph = true})
  end
end

local function symmetric(x)
  return x:matmul(x:transpose()) + eye(x:size(-1))
end

describe("gradients of linalg", function()
  for name, case in pairs {
    cholesky = {function(x) return linalg.cholesky(symmetric(x)) end, {3, 3}},
    ["qr, square"] = {linalg.qr, {3, 3}}, ["qr, tall"] = {linalg.qr, {4, 2}},
    ["qr, wide"] = {linalg.qr, {2, 4}},
    svd = {linalg.svd, {3, 3}},
    ["svd, tall"] = {function(x) return linalg.svd(x, false) end, {4, 2}},
    ["svd, wide"] = {function(x) return linalg.svd(x, false) end, {2, 4}},
    svdvals = {linalg.svdvals, {3, 2}},
    eigh = {function(x) return linalg.eigh(symmetric(x)) end, {3, 3}},
    eigvalsh = {function(x) return linalg.eigvalsh(symmetric(x)) end, {3, 3}},
    solve = {function(x) return linalg.solve(x, other {3, 2}) end, {3, 3}},
    ["solve of b"] = {function(x) return linalg.solve(A, x) end, {3, 2}},
    ["solve_triangular"] = {function(x)
      return linalg.solve_triangular(x + eye(3) * 3, other {3, 2}, true)
    end, {3, 3}},
    inv = {linalg.inv, {3, 3}}, det = {linalg.det, {2, 3, 3}},
    slogdet = {linalg.slogdet, {3, 3}}, pinv = {linalg.pinv, {4, 2}},
    lstsq = {function(x)
      local y, residuals, _, values = linalg.lstsq(x, other {4, 2})
      return y, residuals, values
    end, {4, 2}},
    matrix_power = {function(x) return linalg.matrix_power(x, -3) end, {3, 3}},
    cond = {function(x) return linalg.cond(x, "fro") end, {3, 3}},
    ["matrix_norm of nuc"] = {function(x)
      return linalg.matrix_norm(x, "nuc")
    end, {2, 3, 2}},
    ["vector_norm"] = {function(x) return x:norm(2, 1) end, {3, 2}},
    ["vector_norm of 3"] = {function(x) return x:norm(3, 1) end, {3, 2}},
    cdist = {function(x) return x:cdist(other {2, 3}) end, {3, 3}},
    ["cdist of 3"] = {function(x) return x:cdist(x * 2 + 1, 3) end, {2, 3}},
    addmm = {function(x) return heed.addmm(x, x, x * x, {alpha = 2}) end,
      {2, 2}},
    kron = {function(x) return x:kron(x) end, {2, 2}},
    tensordot = {function(x) return x:tensordot(x * x, {{1}, {2}}) end, {2, 2}},
    cross = {function(x) return x:cross(x * x) end, {2, 3}},
  } do
    it("agree with differences, first and second ones: " .. name, function()
      local f, x = case[1], real(case[2])
      gradient.check(function(args) return f(args[1]) end, {x})
      gradient.check(slope(f), {x}, {atol = 2e-5})
    end)
  end

  it("are those of PyTorch", function()
    local function of(f, x)
      x = x:clone():detach()
      x.requires_grad = true
      f(x):backward()
      return x.grad
    end
    check(of(function(x)
      return (linalg.cholesky(x) *
        double {{1, 2, 3}, {0, 1, 2}, {5, 1, 1}}):sum()
    end, A), {
      {-0.202111359379, -0.264918596271, 1.036682016894},
      {-0.264918596271, 0.364691597953, 0.347491393565},
      {1.036682016894, 0.347491393565, 0.252890269429}})
    check(of(function(x)
      local q, r = linalg.qr(x)
      return (q * double {{1, 2}, {0, 3}, {4, 1}}):sum() +
        (r * double {{1, 2}, {0, 3}}):sum()
    end, B), {
      {-6.280658804741, 3.524434583029}, {-2.931581640248, 1.086470768580},
      {1.831864788477, -3.723201290994}})
    check(of(function(x)
      return (linalg.pinv(x) * double {{1, 2, 0}, {0, 3, 1}}):sum()
    end, B), {
      {-4.071428571429, 2.785714285714}, {3.785714285714, -2.642857142857},
      {-1.357142857143, 0.928571428571}})
    check(of(function(x) -- only the first columns of U count
      local u, _, vh = linalg.svd(x)
      return (u:slice(2, 1, 2):matmul(vh) ^ 3):sum()
    end, B), {
      {0.509084889793, -0.152203786641}, {1.181891123874, -0.893423176227},
      {-0.647511636372, 0.437271456948}})
  end)

  it("through equal values are finite where they exist", function()
    local x = eye(3)
    x.requires_grad = true
    local total = linalg.svdvals(x):sum() + linalg.eigvalsh(x):sum() +
      linalg.pinv(x):sum() + x:norm "nuc"
    total:backward()
    assert.is_true(x.grad:isfinite():all():item())
  end)

  it("of singular determinants are the cofactors", function()
    local x = double {{1, 2}, {2, 4}}
    x.requires_grad = true
    linalg.det(x):backward()
    check(x.grad, {{4, -2}, {-2, 1}})
  end)

  it("are 0 where a norm or a distance is 0", function()
    local x = heed.zeros({2, 2}, {requires_grad = true})
    for _, p in ipairs {0, 0.5, 1, 2, 3, INF} do
      for _, f in ipairs {
        function() return x:norm(p) end,
        function() return x:cdist(heed.zeros(1, 2), p):sum() end,
      } do
        x.grad = nil
        f():backward()
        assert.same({{0, 0}, {0, 0}}, x.grad:totable())
      end
    end
  end)
end)

-- -- errors ------------------------------------------------------------------

describe("linalg refuses", function()
  for _, case in ipairs {
    {linalg.norm, {B, "nuc", 1}, "norm: ord of vectors must be a number, " ..
      'got "nuc"'},
    {linalg.norm, {real {2, 2, 2}, 2}, "norm: with ord, x [2 2 2] must have " ..
      "1 or 2 dimensions, or dim name them"},
    {linalg.norm, {B, 2, 1, true, 5},
      "norm: too many arguments, got 5 behind the last one"},
    {linalg.norm, {B, {order = 2}},
      'norm: unknown option "order"; known: dim, keepdim, ord'},
    {linalg.norm, {B, 2, {ord = 2}}, "norm: ord is given twice"},
    {linalg.matrix_norm, {B, 3}, 'matrix_norm: ord must be "fro", "nuc", ' ..
      "inf, -inf, 1, -1, 2 or -2, got 3"},
    {linalg.matrix_norm, {double {1}}, "matrix_norm: x must have at least 2 " ..
      "dimensions, got tensor float64 [1]"},
    {linalg.matrix_norm, {B, "fro", {1, 3}}, "matrix_norm: dim must be 1..2 " ..
      "or -2..-1 for x [3 2], got 3"},
    {linalg.matrix_norm, {B, "fro", {1, -2}},
      "matrix_norm: dim 1 is given twice"},
    {linalg.matrix_norm, {B, "fro", {1}},
      "matrix_norm: dim must be two dimensions, got 1"},
    {linalg.matrix_norm, {B, "fro", 1},
      "matrix_norm: dim must be a list, got 1"},
    {linalg.matrix_power, {B, 2}, "matrix_power: x must be square matrices " ..
      "(..., m, m), got tensor float64 [3 2]"},
    {linalg.matrix_power, {A, 1.5},
      "matrix_power: n must be an integer, got 1.5"},
    {linalg.cond, {B, 1}, "slogdet: x must be square matrices (..., n, n), " ..
      "got float64 [3 2]"},
    {linalg.lstsq, {B, 1}, "lstsq: b must be a tensor, got 1"},
    {heed.norm, {B, "max"}, 'norm: p must be a number, "fro" or "nuc", got ' ..
      '"max"'},
    {heed.outer, {B, B}, "outer: a must have 1 dimension, got tensor " ..
      "float64 [3 2]"},
    {heed.trace, {double {1}}, "trace: x must have 2 dimensions, got tensor " ..
      "float64 [1]"},
    {heed.diag, {real {1, 1, 1}}, "diag: x must have 1 or 2 dimensions, got " ..
      "tensor float64 [1 1 1]"},
    {heed.diag, {B, 0.5}, "diag: offset must be an integer, got 0.5"},
    {heed.kron, {heed.ones(1, 1, 1, 1, 1), B},
      "kron: a [1 1 1 1 1] and b [3 2] must have at most 4 dimensions"},
    {heed.cross, {B, B}, "cross: dim -1 of a [3 2] and b [3 2] must have " ..
      "size 3"},
    {heed.tensordot, {A, B}, "tensordot: dim 2 of a [3 3] has size 3, dim 2 " ..
      "of b [3 2] has 2"},
    {heed.tensordot, {A, B, 3},
      "tensordot: a [3 3] and b [3 2] have no 3 dimensions to sum over"},
    {heed.tensordot, {A, B, {{1, 2}, {1}}},
      "tensordot: dims names 2 dimensions of a and 1 of b"},
    {heed.tensordot, {A, B, {{1, 1}, {1, 2}}},
      "tensordot: dim 1 of a is given twice"},
    {heed.tensordot, {A, B, {{3}, {1}}},
      "tensordot: dims of a must be 1..2 or -2..-1 for [3 3], got 3"},
    {heed.tensordot, {A, B, {1, 2}},
      "tensordot: dims of a must be a list, got 1"},
  } do
    it(case[3], function()
      assert.same(case[3], message(case[1], table.unpack(case[2])))
    end)
  end

  it("a gradient that does not exist", function()
    local x = heed.ones(2, 2)
    x.requires_grad = true
    local _, log = linalg.slogdet(x)
    assert.same("inv: x [2 2] is singular", message(log.backward, log))
    local q = linalg.qr(x * 0)
    assert.same("solve_triangular: a [2 2] is singular: element 1 of its " ..
      "diagonal is 0", message(function() q:sum():backward() end))
  end)
end)
