--- models: whole networks, put together from `nn`.

return {
  Translator = require "heed.models.translator",
  Translation = require "heed.models.translation",
  beam_search = require "heed.models.beam_search",
}
