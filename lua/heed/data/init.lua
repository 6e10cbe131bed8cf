--- Data: readers of corpora, and batches of examples.

local pairs_file = require "heed.data.pairs"

return {
  read_pairs = pairs_file.read_pairs,
  group_references = pairs_file.group_references,
  Ragged = require "heed.data.ragged",
  batches = require "heed.data.batches",
}
