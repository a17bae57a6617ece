--- Where each entry stands: the rows of the tree from top to bottom, as in git's graphs.
--- The newest child goes on in its parent's column; older ones branch off to the right, before it. So a stretch
--- without branches is flat, and moving the leaf moves no row. Pure, and linear in the nodes.

local M = {}

---@class pid.Row
---@field id string "" for the place before the first entry, the first row.
---@field depth integer The column.
---@field is_head boolean Whether it is the first of a side branch.
---@field head string The first entry of its side branch, "" in the trunk.
---@field folded? integer How many entries are folded into it.

---@param children table<string, string[]>
---@param id string
---@return integer
local function count_below(children, id)
  local count, stack = 0, { id }
  while #stack > 0 do
    local below = children[table.remove(stack)]
    for _, child in ipairs(below or {}) do
      count = count + 1
      stack[#stack + 1] = child
    end
  end
  return count
end

--- The rows, first the one for the place before the first entry.
---@param children table<string, string[]> As `Model:children` gives them.
---@param folded table<string, boolean> Heads of side branches whose rows are left out.
---@return pid.Row[]
function M.rows(children, folded)
  local rows = {}
  local stack = { { id = "", depth = 0, is_head = false, head = "" } }
  while #stack > 0 do
    local row = table.remove(stack)
    rows[#rows + 1] = row
    local below = children[row.id] or {}
    if row.is_head and folded[row.id] and #below > 0 then
      row.folded = count_below(children, row.id)
    else
      local newest = below[#below]
      if newest then
        stack[#stack + 1] = { id = newest, depth = row.depth, is_head = false, head = row.head }
      end
      for index = #below - 1, 1, -1 do
        local id = below[index]
        stack[#stack + 1] = { id = id, depth = row.depth + 1, is_head = true, head = id }
      end
    end
  end
  return rows
end

return M
