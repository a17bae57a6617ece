--- What people are told: one clear line, with a way out where there is one; and the log of `:Pid log`.

local M = {}

local KEPT = 500

M.log = {} ---@type string[]

---@param text string
function M.record(text)
  for line in vim.gsplit(vim.trim(text), "\n") do
    M.log[#M.log + 1] = os.date("%H:%M:%S ") .. line
  end
  if #M.log > 2 * KEPT then
    M.log = vim.list_slice(M.log, #M.log - KEPT + 1)
  end
end

-- By the `kind` of an error: what the user can do about it.
local WAYS_OUT = {
  noDaemon = "install it (:help pid-install) or set `cmd` (:help pid-options)",
  daemonEnded = "see :Pid log and :checkhealth pid",
  methodNotFound = "update the daemon",
  sessionChangedOnDisk = "open it again with :Pid open",
  summarizerUnavailable = "set `summarize` or `settings.summarizer` (:help pid-options)",
  sessionBusy = "try again",
  internalFault = "see :Pid log",
}

--- An error as one line.
---@param err any What a request or a flow failed with.
---@return string
function M.line(err)
  if type(err) ~= "table" then
    return tostring(err)
  end
  local kind = err.kind or (type(err.data) == "table" and err.data.kind)
  local way_out = WAYS_OUT[kind]
  local message = vim.trim((err.message or "unknown error"):gsub("%s+", " "))
  return way_out and ("%s: %s"):format(message, way_out) or message
end

local function tell(text, level)
  vim.notify("pid: " .. text, level, { title = "pid" })
end

---@param text string
function M.info(text)
  tell(text, vim.log.levels.INFO)
end

---@param text string
function M.warn(text)
  tell(text, vim.log.levels.WARN)
end

---@param err any
function M.error(err)
  if type(err) == "string" and not err:find("^pid: ") then
    M.record(debug.traceback(err))
    err = { kind = "internalFault", message = err }
  end
  local line = M.line(err):gsub("^pid: ", "")
  M.record(line)
  tell(line, vim.log.levels.ERROR)
end

return M
