--- Flows of several requests and questions, written as straight code: coroutines that wait for callbacks.
--- A failure is raised as it came and ends the flow; it is never swallowed.

local M = {}

--- Runs a flow. `done` gets what it raised, or what it returned.
---@param flow fun(): any
---@param done fun(err: any, result: any)
function M.run(flow, done)
  local thread = coroutine.create(flow)
  local function step(...)
    local ok, value = coroutine.resume(thread, ...)
    if not ok then
      done(value)
    elseif coroutine.status(thread) == "dead" then
      done(nil, value)
    else
      value(step)
    end
  end
  step()
end

--- Waits for a callback; returns what it was called with.
---@param start fun(resume: fun(...)) Starts something that calls `resume` once.
function M.wait(start)
  return coroutine.yield(start)
end

--- Waits for a callback of the form `(err, result)`; raises `err`.
---@param start fun(resume: fun(err: any, result: any))
function M.call(start)
  local err, result = M.wait(start)
  if err then
    error(err, 0)
  end
  return result
end

--- Asks for a line of text; nil if the user gives up.
---@param opts table As for `vim.ui.input`.
---@return string?
function M.input(opts)
  return M.wait(function(resume)
    vim.ui.input(opts, resume)
  end)
end

--- Lets the user choose; nil if they give up.
---@generic T
---@param items T[]
---@param opts table As for `vim.ui.select`.
---@return T?
function M.select(items, opts)
  return M.wait(function(resume)
    vim.ui.select(items, opts, resume)
  end)
end

return M
