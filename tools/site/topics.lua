--- Which page of the reference each entry stands on: by its part, and in the
-- large parts by the file in which it is defined.

local topics = {}

-- {part, page, title, patterns of file names; none: whatever is left}. A part
-- without a line gets a page of its own.
local PAGES <const> = {
  {"heed", "tensor-making", "Making tensors",
    {"^make$", "^values$", "^heed$"}},
  {"heed", "tensor-shapes", "Shapes, views and parts",
    {"^shape$", "^part$", "^diagonal$", "^convert$", "^mask$"}},
  {"heed", "tensor-indexing", "Indexing, gathering and scattering",
    {"^index$", "^gather$", "^embedding$"}},
  {"heed", "tensor-maths", "Maths of elements",
    {"^arithmetic$", "^bits$", "^maths$", "^special$", "^trigonometry$",
      "^rounding$", "^choose$", "^combine$", "^activation$", "^compare$"}},
  {"heed", "tensor-reductions", "Reductions and statistics",
    {"^sums$", "^extremes$", "^moments$", "^median$", "^statistics$",
      "^scan$", "^softmax$", "^histogram$"}},
  {"heed", "tensor-order", "Order and search",
    {"^order$", "^search$", "^unique$"}},
  {"heed", "tensor-products", "Products of matrices",
    {"^matmul$", "^algebra$", "^cdist$", "^einsum$"}},
  {"heed", "random", "Random numbers",
    {"^random$", "^generator$", "^multinomial$"}},
  {"heed", "system", "Files, threads, memory, recording"},
  {"tensor", "tensor-methods", "Methods of tensors only"},
  {"heed.nn", "nn-attention", "Attention and positions",
    {"attention", "^heads$", "^cache$", "position", "^rotary"}},
  {"heed.nn", "nn-transformers", "Transformers",
    {"transformer", "^gpt$"}},
  {"heed.nn", "nn-layers", "Layers",
    {"linear$", "^embedding$", "^convolution$", "^pooling$", "^reshaping$",
      "norm$", "dropout$"}},
  {"heed.nn", "nn-recurrent", "Recurrent layers", {"^recurrent"}},
  {"heed.nn", "nn-activations", "Activations", {"^activation$"}},
  {"heed.nn", "nn-losses", "Losses", {"^loss$"}},
  {"heed.nn", "nn", "Modules and containers"},
  {"heed.nn.functional", "functional-attention", "Functions of attention",
    {"attention", "^additive$", "^masked$", "^pattern$", "^rotary$"},
    {attend = true, scaled_dot_product_attention = true}},
  {"heed.nn.functional", "functional-losses", "Functions of losses",
    {"^classes$", "^ctc$", "^ranking$", "^regression$"}},
  {"heed.nn.functional", "functional", "Functions of layers"},
  {"heed.nn.init", "nn-init", "First values of weights"},
  {"heed.optim", "optim", "Optimisers and schedules"},
  {"heed.train", "train", "Training"},
  {"heed.metrics", "metrics", "Metrics"},
  {"heed.data", "data", "Data"},
  {"heed.text", "text", "Text"},
  {"heed.image", "image", "Images"},
  {"heed.plot", "plot", "Plots"},
  {"heed.models", "models", "Models"},
  {"heed.autograd", "autograd", "Gradients of functions"},
  {"heed.linalg", "linalg", "Linear algebra"},
  {"heed.script", "script", "Scripts"},
}

-- A class's methods stand where the class does.
local function home_of(entry)
  if entry.kind == "method" and entry.part ~= "tensor" then
    return entry.part:match "^(.*)%.[^.]+$"
  end
  return entry.part
end

local function fits(page, entry)
  if not page[4] then return true end
  if page[5] and page[5][entry.name] then return true end
  local stem = entry.source:match "([%w_]+)%.%w+$"
  if stem == "init" then stem = entry.source:match "([%w_]+)/init%.lua$" end
  for _, pattern in ipairs(page[4]) do
    if stem:find(pattern) then return true end
  end
  return false
end

local function page_of(entry)
  local home <const> = home_of(entry)
  for _, page in ipairs(PAGES) do
    if page[1] == home and fits(page, entry) then return page end
  end
  return {home, home:gsub("^heed%.", ""):gsub("%.", "-"), home}
end

--- Returns the pages in order, each with `part`, `name`, `title` and `entries`:
-- functions and classes, and behind each class its methods.
function topics.pages(entries)
  local order, pages, place_of = {}, {}, {}
  for i, page in ipairs(PAGES) do place_of[page[2]] = i end
  local of_class = {}
  for i, entry in ipairs(entries) do
    local of = of_class[entry.part] or page_of(entry)
    if entry.kind == "class" then of_class[entry.path] = of end
    local page = pages[of[2]]
    if not page then
      page = {part = of[1], name = of[2], title = of[3], entries = {},
        place = place_of[of[2]] or #PAGES + i}
      pages[of[2]] = page
      order[#order + 1] = page
    end
    page.entries[#page.entries + 1] = entry
  end
  table.sort(order, function(a, b) return a.place < b.place end)
  return order
end

return topics
