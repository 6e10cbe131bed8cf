--- The merges of a vocabulary whose tokens have scores: any two tokens whose
-- text together is a token, those of the highest score first.

--- Returns the merges, as tokenizer.json has them.
-- @tparam {string,...} tokens
-- @tparam table scores by token; tokens without one are never made
-- @treturn {{string,string},...}
return function(tokens, scores)
  local rank <const> = {}
  for i, token in ipairs(tokens) do rank[token] = rank[token] or i end
  local list <const> = {}
  for _, token in ipairs(tokens) do
    local score <const> = scores[token]
    for at = 2, score and #token or 0 do
      local a <const>, b <const> = token:sub(1, at - 1), token:sub(at)
      if scores[a] and scores[b] then
        list[#list + 1] = {a, b, score, rank[a], rank[b], rank[token]}
      end
    end
  end
  table.sort(list, function(x, y)
    if x[3] ~= y[3] then return x[3] > y[3] end
    if x[6] ~= y[6] then return x[6] < y[6] end
    if x[4] ~= y[4] then return x[4] < y[4] end
    return x[5] < y[5]
  end)
  for i, merge in ipairs(list) do list[i] = {merge[1], merge[2]} end
  return list
end
