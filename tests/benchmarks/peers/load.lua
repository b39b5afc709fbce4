-- Arguments after "--": the scenario, a file of pet ids, and a string that no earlier idempotency key contains.
-- Only the number in an idempotency key is formatted for each request, so that wrk itself uses little CPU time.

function init(args)
  local scenario, ids, unique = args[1], args[2], args[3]
  if scenario == "fetch-one-pet" then
    local requests = {}
    for id in io.lines(ids) do
      requests[#requests + 1] = wrk.format("GET", "/v1/pets/" .. id)
    end
    request = function() return requests[math.random(#requests)] end
  elseif scenario:find("^post") then
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
    wrk.body = '{"name":"Rex","tag":"dog"}'
  end
  if scenario == "post-replay" then
    wrk.headers["Idempotency-Key"] = "always-the-same"
  elseif scenario == "post-key" then
    wrk.headers["Idempotency-Key"] = unique .. "-00000000"
    local head, tail = wrk.format():match("^(.*" .. unique:gsub("%-", "%%-") .. "%-)00000000(.*)$")
    local number = 0
    request = function()
      number = number + 1
      return string.format("%s%08d%s", head, number, tail)
    end
  end
end
