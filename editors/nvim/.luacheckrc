std = "luajit"
read_globals = { "vim" }
globals = { "vim.o", "vim.bo", "vim.wo", "vim.b", "vim.g", "vim.w" }
max_line_length = 140
exclude_files = { "lua/pid/_meta" }
