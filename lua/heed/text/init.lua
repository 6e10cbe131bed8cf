--- Text: tokenisers, vocabularies and the measure of a translation.
--
-- `BPE` and `Vocabulary` turn text into ids and back, `bleu` and `chrf` score
-- translations, `unicode` holds the functions on strings that they stand on:
-- `nfc`, `valid`, `repair`, `lower`, `trim`, `words`.

return {
  BPE = require "heed.text.bpe",
  Vocabulary = require "heed.text.vocabulary",
  bleu = require "heed.text.bleu".bleu,
  chrf = require "heed.text.chrf".chrf,
  unicode = require "heed.core".unicode,
}
