--- Choosing a session, through `vim.ui.select`, so that people's own pickers serve. In flows.

local sessions = require("pid.sessions")
local task = require("pid.task")

local M = {}

local MOST = 1000

---@param info pid.SessionInfo
---@return string
local function describe(info)
  local first = info.firstMessage:gsub("%s+", " ")
  local when = (info.modifiedAt or info.createdAt or ""):sub(1, 16):gsub("T", " ")
  local text = info.name or (first ~= "" and first or "(no message yet)")
  return ("%-16s  %4d  %s"):format(when, info.messageCount, vim.fn.strcharpart(text, 0, 100))
end

--- Lets the user choose a session of this directory, or of all.
---@param all boolean
---@return pid.SessionInfo?
function M.session(all)
  sessions.need("session/list")
  local params = all and { all = true } or { cwd = vim.fn.getcwd() }
  params.limit = MOST
  local listing = sessions.request("session/list", params)
  if #listing.sessions == 0 then
    local hint = all and "" or " of this directory (:Pid list all has all)"
    error({ message = "there is no session" .. hint }, 0)
  end
  local more = listing.total > #listing.sessions and (" (%d of %d)"):format(#listing.sessions, listing.total)
    or ""
  return task.select(listing.sessions, {
    prompt = "Sessions" .. more,
    kind = "pid.session",
    format_item = describe,
  })
end

return M
