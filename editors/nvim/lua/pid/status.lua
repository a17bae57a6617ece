--- A session in a few words, for status lines. Pure.

local M = {}

---@param count integer
---@return string
function M.tokens(count)
  if count < 1000 then
    return tostring(count)
  elseif count < 1e6 then
    return (("%.1fk"):format(count / 1000):gsub("%.0k", "k"))
  end
  return (("%.1fM"):format(count / 1e6):gsub("%.0M", "M"))
end

---@param usage? pid.ContextUsage
---@return string?
function M.usage(usage)
  if not usage or not usage.tokens then
    return nil
  elseif not usage.contextWindow then
    return M.tokens(usage.tokens) .. " tokens"
  end
  local share = math.floor(100 * usage.tokens / usage.contextWindow + 0.5)
  return ("%d%% of %s%s"):format(
    share,
    M.tokens(usage.contextWindow),
    usage.shouldCompact and ", compaction is due" or ""
  )
end

---@param compaction? pid.CompactionNotice
---@return string?
function M.compaction(compaction)
  if not compaction then
    return nil
  elseif compaction.chunks and compaction.chunks > 1 then
    return ("compacting %d/%d"):format(compaction.chunk or 1, compaction.chunks)
  end
  return compaction.state == "queued" and "compaction waits" or "compacting"
end

---@param session pid.Session
---@return string
function M.text(session)
  local parts = {}
  parts[#parts + 1] = M.compaction(session.compaction)
  parts[#parts + 1] = M.usage(session.usage)
  return table.concat(parts, " · ")
end

return M
