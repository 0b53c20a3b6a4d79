-- The Neovim peer: its own msgpack-rpc, behind the common command line, which stands in v:argv after `--`.

local arguments = {}
for place, word in ipairs(vim.v.argv) do
  if word == '--' then
    arguments = vim.list_slice(vim.v.argv, place + 1)
  end
end

local function option(name)
  for place, word in ipairs(arguments) do
    if word == name then
      return arguments[place + 1]
    end
  end
end

local function say(line)
  io.stdout:write(line, '\n')
  io.stdout:flush()
end

local function finish(code)
  vim.cmd('cquit ' .. code)
end

-- ----- cases

local function check(got, want)
  if not vim.deep_equal(got, want) then
    error(('got %s, want %s'):format(vim.inspect(got), vim.inspect(want)), 0)
  end
end

--- The message of a call that has to fail.
local function thrown(channel, ...)
  local answered, message = pcall(vim.rpcrequest, channel, ...)
  if answered then
    error('nothing was thrown', 0)
  end
  return tostring(message)
end

local function refused_as(text, channel, ...)
  local message = thrown(channel, ...)
  if not message:find(text, 1, true) then
    error(message, 0)
  end
end

local function echo(...)
  local values = { ... }
  return function(channel)
    for _, value in ipairs(values) do
      check(vim.rpcrequest(channel, 'echo', value), value)
    end
  end
end

local cases = {
  {
    'greet',
    function(channel)
      check(vim.rpcrequest(channel, 'greet', 'Lua'), 'hello, Lua')
    end,
  },
  {
    'by_service',
    function(channel)
      check(vim.rpcrequest(channel, 'Host.greet', 'Lua'), 'hello, Lua')
    end,
  },
  { 'echo_scalars', echo(true, false, 0, -1, 2 ^ 53, 1.5, -0.25, '', 'Grüße, 世界 🚀', vim.NIL) },
  { 'echo_containers', echo({ 1, 'two', { 3.5 } }, { one = 1, two = { deep = { true } } }) },
  { 'echo_long', echo(('x'):rep(100000)) },
  {
    'struct_as_list',
    function(channel)
      check(vim.rpcrequest(channel, 'move', { 1, 2, 'a' }, 10), { 11, 12, 'a' })
      check(vim.rpcrequest(channel, 'move', { 1, 2 }, 10), { 11, 12 })
    end,
  },
  {
    'struct_by_name',
    function(channel)
      check(vim.rpcrequest(channel, 'move', { label = 'b', x = 1 }, 10), { 11, 10, 'b' })
    end,
  },
  {
    'exception',
    function(channel)
      thrown(channel, 'move', { 1, 2 }, 0)
      check(vim.rpcrequest(channel, 'greet', 'again'), 'hello, again')
    end,
  },
  {
    'unknown_method',
    function(channel)
      refused_as('UNIMPLEMENTED', channel, 'not_yet')
      refused_as('UNIMPLEMENTED', channel, 'Nowhere.greet', 'x')
    end,
  },
  {
    'wrong_parameters',
    function(channel)
      refused_as('INVALID_ARGUMENT', channel, 'greet', 7)
    end,
  },
  {
    'notification',
    function(channel)
      local token = vim.loop.hrtime() % 1000000007
      check(vim.rpcrequest(channel, 'was_noted', token), false)
      vim.rpcnotify(channel, 'note', token)
      -- Nothing overtakes a notification.
      check(vim.rpcrequest(channel, 'was_noted', token), true)
    end,
  },
  {
    'many_calls',
    function(channel)
      for number = 1, 500 do
        check(vim.rpcrequest(channel, 'echo', number), number)
      end
    end,
  },
}

local function connect(address)
  local path = address:match('^unix:(.*)$')
  return vim.fn.sockconnect(path and 'pipe' or 'tcp', path or address, { rpc = true })
end

local function call(address)
  local failed = 0
  for _, case in ipairs(cases) do
    local name, run = unpack(case)
    if (option('--case') or name) == name then
      local channel = connect(address)
      local passed, problem = pcall(run, channel)
      vim.fn.chanclose(channel)
      failed = passed and failed or 1
      say(vim.json.encode({
        case = name,
        result = passed and 'ok' or 'fail',
        detail = passed and '' or tostring(problem),
      }))
    end
  end
  finish(failed)
end

-- ----- the command line

if arguments[1] == 'capabilities' then
  local way = { protocol = 'msgpack-rpc', transport = 'buffered', multiplexed = false }
  say(vim.json.encode({ vim.tbl_extend('error', way, { roles = { 'client', 'server' }, unix = true }) }))
  finish(0)
elseif arguments[1] == 'server' then
  local path = option('--address'):match('^unix:(.*)$')
  local address = vim.fn.serverstart(path or option('--address'))
  say('READY ' .. (path and 'unix:' or '') .. address)
else
  call(option('--address'))
end
