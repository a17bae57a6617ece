--- `:checkhealth pid`: is the daemon there, does it answer, where are sessions kept, is there a summarizer?

local client = require("pid.client")
local config = require("pid.config")

local M = {}

local PROTOCOL_VERSION = 1
local OLDEST = "nvim-0.10"

local function check_neovim()
  if vim.fn.has(OLDEST) == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.error("Neovim is older than 0.10")
  end
end

---@return boolean found
local function check_command()
  local command = config.options.cmd[1]
  local found = vim.fn.exepath(command)
  if found ~= "" then
    vim.health.ok(("command `%s`: %s"):format(command, found))
    return true
  end
  local ways = { "install the daemon: `:help pid-install`", "or set `cmd`: `:help pid-options`" }
  vim.health.error(("there is no command `%s`"):format(command), ways)
  return false
end

local function check_daemon()
  local answer = nil
  client.ready(function(err)
    answer = { err = err }
  end)
  vim.wait(10000, function()
    return answer ~= nil
  end, 20)
  local daemon = client.info()
  if not daemon then
    local message = answer and require("pid.notify").line(answer.err) or "the daemon does not answer"
    return vim.health.error(message, { "run the command in a shell and see what it says", "see `:Pid log`" })
  end
  local offer = daemon.offer
  vim.health.ok(("daemon %s, %d methods"):format(daemon.version, #offer.methods))
  if offer.protocolVersion == PROTOCOL_VERSION then
    vim.health.ok(("protocol version %d"):format(offer.protocolVersion))
  else
    local text = ("protocol version %s, this plugin speaks %d"):format(
      offer.protocolVersion,
      PROTOCOL_VERSION
    )
    vim.health.warn(text, { "update the daemon and the plugin" })
  end
  vim.health.info(
    "summarizers: " .. (next(offer.summarizers) and table.concat(offer.summarizers, ", ") or "none")
  )
end

-- Where the daemon keeps sessions, by the rule of its protocol.md; the directory may not be there yet.
local function session_directory()
  local options = config.options
  local agent = options.agent_dir or vim.env.PI_CODING_AGENT_DIR or "~/.pi/agent"
  return vim.fs.normalize(
    options.session_dir or vim.env.PI_CODING_AGENT_SESSION_DIR or (agent .. "/sessions")
  )
end

local function check_directory()
  local directory = session_directory()
  local there = directory
  while vim.fn.isdirectory(there) == 0 and there ~= vim.fs.dirname(there) do
    there = vim.fs.dirname(there)
  end
  local text = ("sessions are kept in %s"):format(directory)
  if vim.fn.filewritable(there) ~= 2 then
    vim.health.error(text .. ", which cannot be written", { "set `session_dir`: `:help pid-options`" })
  else
    vim.health.ok(text .. (there == directory and "" or " (not there yet)"))
  end
end

-- Whether there is a key is told, the key never.
local function check_summarizer()
  if config.options.summarize then
    vim.health.ok("`summarize` is set: summaries come from your own model")
  end
  local has_key = (vim.env.ANTHROPIC_API_KEY or "") ~= "" or (vim.env.ANTHROPIC_AUTH_TOKEN or "") ~= ""
  if has_key then
    vim.health.ok("a key for the Anthropic API is in the environment")
  else
    vim.health.info(
      "no key for the Anthropic API in the environment: summaries work without one, but more plainly"
    )
  end
end

function M.check()
  vim.health.start("pid")
  check_neovim()
  if check_command() then
    check_daemon()
  end
  check_directory()
  check_summarizer()
end

return M
