--- Tells the user what happens by itself: compactions that started without them, and a window that gets full.

local events = require("pid.events")
local notify = require("pid.notify")
local status = require("pid.status")

local TOLD = {
  completed = function(session, notice)
    local before, after = status.tokens(notice.tokensBefore or 0), status.tokens(notice.tokensAfter or 0)
    notify.info(("%s was compacted: %s → %s tokens"):format(session.name or "the session", before, after))
  end,
  failed = function(_, notice)
    notify.error(notice.error)
  end,
}

events.on("compaction", function(data)
  local tell = TOLD[data.compaction.state]
  if tell and not data.session.is_compacted_here then
    tell(data.session, data.compaction)
  end
end)

events.on("usage", function(data)
  local session, usage = data.session, data.usage
  local was_due = data.previous and data.previous.shouldCompact
  if usage.shouldCompact and not was_due and not session.settings.autoCompact then
    notify.warn(("the context takes %s: :Pid compact makes room"):format(status.usage(usage)))
  end
end)
