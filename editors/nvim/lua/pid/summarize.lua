--- Serves `pid/summarize`: hands the daemon's request to the user's own model, and its answer back.

local config = require("pid.config")
local events = require("pid.events")

local M = {}

local running = {} ---@type table<string, fun()> What stops the user's model, by compaction.

local function failure(message)
  return vim.lsp.rpc_response_error(
    vim.lsp.protocol.ErrorCodes.InternalError,
    message,
    { reason = "transport" }
  )
end

events.on("compaction", function(data)
  local id = data.compaction.compactionId
  if running[id] and (data.compaction.state == "cancelled" or data.compaction.state == "failed") then
    running[id]()
    running[id] = nil
  end
end)

---@param result pid.SummarizeResult|string
local function complete(result)
  return type(result) == "string" and { summary = result, stopReason = "stop" } or result
end

--- Neovim runs handlers of requests in a coroutine, so the answer may take its time.
---@param request pid.SummarizeParams
---@return pid.SummarizeResult? result
---@return table? err
function M.handle(_, request)
  local thread, answered = coroutine.running(), false
  local function done(err, result)
    if not answered then
      answered = true
      running[request.compactionId] = nil
      vim.schedule(function()
        coroutine.resume(thread, err, result)
      end)
    end
  end
  local ok, stop = pcall(config.options.summarize or error, request, done)
  if not ok then
    done(stop or "no `summarize` is set")
  elseif type(stop) == "function" and not answered then
    running[request.compactionId] = stop
  end
  local err, result = coroutine.yield()
  if err or not result then
    return nil, failure(tostring(err or "no summary came"))
  end
  return complete(result)
end

return M
