--- A compaction's plan as text for people: what is summarised, what stays, what it saves. Pure.

local render = require("pid.render")
local status = require("pid.status")

local M = {}

---@class pid.PlanText
---@field lines string[]
---@field spans [integer, pid.Span][] Each with its line, from 0.

---@param text pid.PlanText
---@param parts [string, string?][]
local function add(text, parts)
  local joined = render.joined(parts)
  for _, span in ipairs(joined.spans) do
    text.spans[#text.spans + 1] = { #text.lines, span }
  end
  text.lines[#text.lines + 1] = joined.text
end

---@param plan pid.CompactionPlan
---@return string
local function saving(plan)
  local after = status.tokens(plan.tokensAfter)
  if plan.tokensAfter >= plan.tokensBefore then
    return ("about %s, no saving"):format(after)
  end
  local share = math.floor(100 * (1 - plan.tokensAfter / plan.tokensBefore))
  return ("about %s tokens, %d%% less"):format(after, share)
end

---@param text pid.PlanText
---@param plan pid.CompactionPlan
local function head(text, plan)
  local requests = ("%d request%s"):format(plan.requestCount, plan.requestCount == 1 and "" or "s")
  local cost = ("   by %s of %s tokens in all"):format(requests, status.tokens(plan.requestTokens))
  add(text, {
    { "Compaction  ", "PidTitle" },
    { status.tokens(plan.tokensBefore) .. " → " .. saving(plan) },
    { cost, "PidMeta" },
  })
  add(text, {})
  add(text, {
    { "<CR>", "PidPath" },
    { " compact   " },
    { "i", "PidPath" },
    { " compact with instructions   " },
    { "q", "PidPath" },
    { " leave it" },
  })
end

---@param text pid.PlanText
---@param details pid.FileDetails
local function files(text, details)
  for _, part in ipairs({
    { "Files read      ", details.readFiles },
    { "Files modified  ", details.modifiedFiles },
  }) do
    if #(part[2] or {}) > 0 then
      add(text, { { part[1], "PidTitle" }, { table.concat(part[2], "  "), "PidMeta" } })
    end
  end
end

---@class pid.PlanSection
---@field [1] string
---@field [2] string[] The ids.

---@param text pid.PlanText
---@param section pid.PlanSection
---@param nodes table<string, pid.TreeNode>
---@param icons table<string, string>
local function list(text, section, nodes, icons)
  local ids = section[2]
  if #ids == 0 then
    return
  end
  add(text, {})
  add(
    text,
    { { section[1], "PidTitle" }, { ("  %d entr%s"):format(#ids, #ids == 1 and "y" or "ies"), "PidMeta" } }
  )
  for _, id in ipairs(ids) do
    local parts = nodes[id] and render.node(nodes[id], icons) or { { id, "PidMeta" } }
    table.insert(parts, 1, { "  " })
    add(text, parts)
  end
end

--- A plan as text.
---@param plan pid.CompactionPlan
---@param nodes table<string, pid.TreeNode>
---@param icons table<string, string>
---@return pid.PlanText
function M.text(plan, nodes, icons)
  local text = { lines = {}, spans = {} }
  head(text, plan)
  add(text, {})
  files(text, plan.details)
  list(text, { "Summarised", plan.summarizeEntryIds }, nodes, icons)
  list(
    text,
    { "Summarised on its own, the beginning of the turn that is cut", plan.turnPrefixEntryIds },
    nodes,
    icons
  )
  list(text, { "Kept", plan.keepEntryIds }, nodes, icons)
  if plan.previousSummary then
    add(text, {})
    add(text, { { "The summary that is brought up to date", "PidTitle" } })
    for line in vim.gsplit(plan.previousSummary, "\n") do
      add(text, { { "  " .. line, "PidSummary" } })
    end
  end
  return text
end

return M
