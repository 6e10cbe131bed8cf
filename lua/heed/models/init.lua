--- models: whole networks, put together from `nn`.

return {
  load = require "heed.models.load",
  Model = require "heed.models.model",
  Bert = require "heed.models.bert",
  Gpt2 = require "heed.models.gpt2",
  Llama = require "heed.models.llama",
  Marian = require "heed.models.marian",
  T5 = require "heed.models.t5",
  Translator = require "heed.models.translator",
  Translation = require "heed.models.translation",
  beam_search = require "heed.models.beam_search",
}
