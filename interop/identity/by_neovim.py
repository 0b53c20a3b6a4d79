"""Neovim, whose own msgpack-rpc calls the shop: a login first, then the call, on one connection."""

import subprocess

from rows import CODES, code_in, handle_in, run

SCRIPT = """
local connection = vim.fn.sockconnect("tcp", "127.0.0.1:%d", { rpc = true })
local function call(...)
  local fine, answer = pcall(vim.rpcrequest, connection, ...)
  if not fine then
    io.stdout:write("refused " .. tostring(answer))
    vim.cmd("qall!")
  end
  return answer
end
if "%s" ~= "" then call("Session.login", "%s") end
%s
io.stdout:write("answered " .. vim.inspect(call(%s)))
vim.cmd("qall!")
"""
CALLS = {
    "place": '"Orders.place", "lamp", 1', "broken": '"Orders.place", 1, "lamp"', "all": '"Orders.all"',
    "find": '"Orders.find", 1',
}


def neovim(port, token, last, before=""):
    """What Neovim says of a call, behind others on the same connection."""
    script = SCRIPT % (port, token, token, before, last)
    command = ["nvim", "--clean", "--headless", "-c", "lua " + script.replace("\n", " ")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20)
    return ended.stdout + ended.stderr


def call(_, port, token, method):
    said = neovim(port, token, CALLS[method])
    if code_in(said) in CODES:
        return code_in(said)
    if "answered" not in said:
        return said
    return "ada" if "ada" in said else "ok"


class Caller:
    """A caller of the cart: each call is a connection, which goes on with the session."""

    def __init__(self, _, port, token):
        self.port, self.token, self.before = port, token, ""

    def begin(self):
        return handle_in(neovim(self.port, self.token, '"Sessions.begin_session", "Cart"'))

    def resume(self, handle):
        self.before = 'call("Sessions.resume_session", "%s")' % handle

    def add(self, item):
        said = neovim(self.port, self.token, '"Cart.add", "%s", 1' % item, self.before)
        return code_in(said)

    def close(self):
        pass


run(call, Caller)
