--- rng: the cases of the random generator.

local program = require "spec.support.golden.program"

return {
  rng_program = function(c)
    local results, missing = program.run(c.params.rng_program, c.input)
    return results, nil, missing
  end,
}
