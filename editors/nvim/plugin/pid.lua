-- The command `:Pid`, and session files in buffers. All else is loaded when it is first used.
if vim.g.loaded_pid then
  return
end
vim.g.loaded_pid = true

vim.api.nvim_create_user_command("Pid", function(call)
  require("pid.commands").run(call)
end, {
  nargs = "*",
  bang = true,
  range = true,
  desc = "Sessions of coding agents (:help pid)",
  complete = function(lead, line)
    return require("pid.commands").complete(lead, line)
  end,
})

vim.api.nvim_create_autocmd("FileType", {
  group = vim.api.nvim_create_augroup("pid.documents", { clear = true }),
  pattern = "jsonl",
  callback = function(event)
    local first = vim.api.nvim_buf_get_lines(event.buf, 0, 1, false)[1] or ""
    if first:sub(1, 4096):find('"type"%s*:%s*"session"') then
      require("pid.documents").attach(event.buf)
    end
  end,
})
