--- Data: datasets, loaders of their batches, and readers of corpora.

local arrays = require "heed.data.arrays"
local collate = require "heed.data.collate"
local corpus = require "heed.data.corpus"
local dataset = require "heed.data.dataset"
local pairs_file = require "heed.data.pairs"

return {
  read_pairs = pairs_file.read_pairs,
  group_references = pairs_file.group_references,
  describe_pairs = corpus.describe_pairs,
  hold_out = corpus.hold_out,
  encode_pairs = corpus.encode_pairs,
  read_idx = arrays.read_idx,
  read_csv = arrays.read_csv,
  read_images = require "heed.data.images".read_images,
  Ragged = require "heed.data.ragged",
  Dataset = dataset.Dataset,
  TensorDataset = dataset.TensorDataset,
  DataLoader = require "heed.data.loader",
  collate = collate.collate,
  padded = collate.padded,
  pad_sequence = collate.pad_sequence,
}
