--- The options: their defaults, what the user set, and one clear error for what does not fit.

local M = {}

---@class pid.TreeOptions
---@field split string A split as in `:help mods`, such as "vertical", "botright" or "tab".
---@field time string How times are shown, for `os.date`.
---@field date string How times of another day are shown.
---@field hide table<"tools"|"meta", boolean> What a new tree window leaves out.
---@field icons table<string, string> By role or type of the entry; `other` for the rest.

---@class pid.Options
---@field cmd string[] The daemon's command.
---@field session_dir? string Where sessions are kept. Default: the daemon's, which is pi's.
---@field agent_dir? string The agent directory. Default: the daemon's, which is pi's.
---@field settings pid.SettingsUpdate Settings for all sessions, such as `contextWindow`.
---@field documents boolean Whether the daemon is attached to buffers of session files.
---@field summarize? fun(request: pid.SummarizeParams, done: fun(err: string?, result: pid.SummarizeResult?)): fun()?
---@field tree pid.TreeOptions

---@type pid.Options
local defaults = {
  cmd = { "pid", "--stdio" },
  settings = {},
  documents = true,
  tree = {
    split = "vertical",
    time = "%H:%M",
    date = "%d %b",
    hide = { tools = false, meta = true },
    icons = {
      user = "U",
      assistant = "A",
      toolResult = "T",
      bashExecution = "!",
      system = "S",
      compaction = "C",
      branch_summary = "B",
      custom_message = "M",
      label = "L",
      session_info = "N",
      other = "·",
    },
  },
}

M.types = {
  cmd = "table",
  session_dir = "string",
  agent_dir = "string",
  settings = "table",
  documents = "boolean",
  summarize = "function",
  tree = "table",
}

---@param opts table
local function check(opts)
  for name, value in pairs(opts) do
    if not M.types[name] then
      error(("pid: there is no option `%s`; see :help pid-options"):format(name), 0)
    elseif type(value) ~= M.types[name] then
      error(("pid: option `%s` must be a %s; see :help pid-options"):format(name, M.types[name]), 0)
    end
  end
  for name in pairs(opts.tree or {}) do
    if defaults.tree[name] == nil then
      error(("pid: there is no option `tree.%s`; see :help pid-options"):format(name), 0)
    end
  end
end

---@type pid.Options
M.options = vim.deepcopy(defaults)

--- Takes the user's options over the defaults. Raises one line for what does not fit.
---@param opts? table
function M.set(opts)
  check(opts or {})
  M.options = vim.tbl_deep_extend("force", vim.deepcopy(defaults), opts or {})
end

return M
