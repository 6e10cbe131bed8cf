--- Text: tokenisers, vocabularies and the measure of a translation.
--
-- The tokenisers `BPE`, `WordPiece`, `Words` and `Characters` turn text into
-- ids and back, all by the same methods (see tokenizer.lua); `load` reads what
-- their `save` wrote, and as `Pretrained` the tokenisers of models that were
-- trained elsewhere. `Vocabulary` numbers tokens, `bleu` and `chrf` score
-- translations, `unicode` holds the functions on strings that they stand on:
-- `nfc`, `nfd`, `nfkc`, `nfkd`, `valid`, `repair`, `lower`, `trim`, `words`,
-- `characters`, `graphemes`, `bert_words`.

return {
  BPE = require "heed.text.bpe",
  Characters = require "heed.text.characters",
  Pretrained = require "heed.text.pretrained",
  Vocabulary = require "heed.text.vocabulary",
  WordPiece = require "heed.text.wordpiece",
  Words = require "heed.text.words",
  load = require "heed.text.load".load,
  bleu = require "heed.text.bleu".bleu,
  chrf = require "heed.text.chrf".chrf,
  unicode = require "heed.core".unicode,
}
