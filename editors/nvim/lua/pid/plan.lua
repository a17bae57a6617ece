--- A compaction's plan as text for people: what is summarised, what stays, what it saves. Pure.

local markdown = require("pid.markdown")
local status = require("pid.status")

local M = {}

---@param ids string[]
---@param nodes table<string, pid.TreeNode>
---@param lines string[]
local function list(ids, nodes, lines)
  for _, id in ipairs(ids) do
    local node = nodes[id]
    local said = node and ("%-11s %s"):format(node.role or node.type, node.preview or "") or ""
    lines[#lines + 1] = ("- `%s` %s"):format(id, said)
  end
end

---@param title string
---@param ids string[]
---@param nodes table<string, pid.TreeNode>
---@param lines string[]
local function section(title, ids, nodes, lines)
  if #ids > 0 then
    vim.list_extend(lines, { "", ("## %s (%d)"):format(title, #ids), "" })
    list(ids, nodes, lines)
  end
end

---@param plan pid.CompactionPlan
---@param nodes table<string, pid.TreeNode>
---@return string[]
function M.lines(plan, nodes)
  local saved = plan.tokensBefore > 0 and math.floor(100 * (1 - plan.tokensAfter / plan.tokensBefore)) or 0
  local lines = {
    "# Compaction",
    "",
    ("**%s → about %s tokens** (%d%% less), %d request%s of %s tokens in all"):format(
      status.tokens(plan.tokensBefore),
      status.tokens(plan.tokensAfter),
      saved,
      plan.requestCount,
      plan.requestCount == 1 and "" or "s",
      status.tokens(plan.requestTokens)
    ),
    "",
    "`<CR>` compact   `i` compact with instructions   `q` leave it",
  }
  if plan.isSplitTurn then
    vim.list_extend(lines, { "", "The cut parts a long turn: its beginning is summarised on its own." })
  end
  vim.list_extend(lines, markdown.files(plan.details))
  section("Summarised", plan.summarizeEntryIds, nodes, lines)
  section("Summarised: the beginning of the turn that is cut", plan.turnPrefixEntryIds, nodes, lines)
  section("Kept", plan.keepEntryIds, nodes, lines)
  if plan.previousSummary then
    vim.list_extend(lines, { "", "## The summary that is brought up to date", "" })
    vim.list_extend(lines, vim.split(plan.previousSummary, "\n"))
  end
  return lines
end

return M
