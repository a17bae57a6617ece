--- One form of what the daemon sends for all versions of Neovim: a null field is an absent one, as protocol.md says.
--- Neovim 0.10 and 0.11 decode it so; 0.12 gives `vim.NIL`. In lists, where places count, it stays.

local M = {}

--- Takes the null fields out of a decoded value, in place, to any depth.
---@generic T
---@param value T
---@return T?
function M.plain(value)
  if value == vim.NIL then
    return nil
  end
  local stack = { type(value) == "table" and value or nil }
  while #stack > 0 do
    local item = table.remove(stack)
    local is_list = item[1] ~= nil
    for key, part in pairs(item) do
      if type(part) == "table" then
        stack[#stack + 1] = part
      elseif part == vim.NIL and not is_list then
        item[key] = nil
      end
    end
  end
  return value
end

--- A handler of the LSP client that gets plain values.
---@param handler fun(err: any, result: any, context: any): ...
---@return fun(err: any, result: any, context: any): ...
function M.handler(handler)
  if vim.fn.has("nvim-0.12") == 0 then
    return handler
  end
  return function(err, result, context)
    return handler(M.plain(err), M.plain(result), context)
  end
end

return M
