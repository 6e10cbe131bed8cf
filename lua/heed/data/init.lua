--- Data: readers of corpora.

local pairs_file = require "heed.data.pairs"

return {
  read_pairs = pairs_file.read_pairs,
  group_references = pairs_file.group_references,
}
