-- The command `:Pid`. All else is loaded when it is first used.
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
