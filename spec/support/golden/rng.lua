--- rng: the cases of the random generator.

local program = require "spec.support.golden.program"

return {
  rng_program = function(c)
    return program.run(c.params.rng_program, c.input)
  end,
}
