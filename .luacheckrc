std = "lua54"
max_line_length = 80
exclude_files = { "build*/**" }
files["spec/**/*.lua"].std = "+busted"
files["examples/testing/*_spec.lua"].std = "+busted"
