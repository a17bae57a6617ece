--- What happens to sessions, for the windows of this plugin and for other plugins.

local M = {}

---@alias pid.Event
---| "open" # a session was opened here: `{session}`
---| "close" # a session was closed, or its file was lost: `{session, reason}`
---| "change" # entries were added or the leaf moved: `{session, change: pid.DidChangeNotice}`
---| "usage" # the use of the model's window changed: `{session, usage: pid.ContextUsage}`
---| "compaction" # a compaction began, went on or ended: `{session, compaction: pid.CompactionNotice}`
---| "problems" # problems were found in the file: `{session, problems: pid.Problem[]}`
---| "restart" # the daemon was started again and the session is open: `{session}`

local listeners = {} ---@type table<string, table<fun(data: table), true>>

--- Calls `fn` at each event of this kind, until the function that is returned is called.
---@param event pid.Event
---@param fn fun(data: table)
---@return fun() stop
function M.on(event, fn)
  listeners[event] = listeners[event] or {}
  listeners[event][fn] = true
  return function()
    listeners[event][fn] = nil
  end
end

--- Tells all listeners. One that fails is told of, and harms no other.
---@param event pid.Event
---@param data table
function M.emit(event, data)
  for _, fn in ipairs(vim.tbl_keys(listeners[event] or {})) do
    local ok, message = pcall(fn, data)
    if not ok then
      require("pid.notify").error(message)
    end
  end
end

return M
