--- Where each entry stands: the rows of the tree from top to bottom, as in git's graphs.
--- The newest child goes on in its parent's column; older ones branch off to the right, before it. So a stretch
--- without branches is flat, and moving the leaf moves no row. Pure, and linear in the nodes.

local M = {}

---@class pid.Rows Columns, from top to bottom: a table for each row would cost more than all the rest.
---@field ids string[] "" for the place before the first entry, the first row.
---@field depths integer[] The column of each.
---@field heads string[] The first entry of the side branch that each is in, "" in the trunk.
---@field folded table<integer, integer> How many entries are folded into a row.

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
---@param children table<string, string[]> As `Model` has them.
---@param is_folded table<string, boolean> Heads of side branches whose rows are left out.
---@return pid.Rows
function M.rows(children, is_folded)
  local ids, depths, heads, folded = {}, {}, {}, {}
  local top, next_ids, next_depths, next_heads = 1, { "" }, { 0 }, { "" }
  local count = 0
  while top > 0 do
    local id, depth, head = next_ids[top], next_depths[top], next_heads[top]
    top, count = top - 1, count + 1
    ids[count], depths[count], heads[count] = id, depth, head
    local below = children[id]
    if below and is_folded[id] and head == id and id ~= "" then
      folded[count] = count_below(children, id)
    elseif below then
      top = top + 1
      next_ids[top], next_depths[top], next_heads[top] = below[#below], depth, head
      for index = #below - 1, 1, -1 do
        top = top + 1
        next_ids[top], next_depths[top], next_heads[top] = below[index], depth + 1, below[index]
      end
    end
  end
  return { ids = ids, depths = depths, heads = heads, folded = folded }
end

return M
