-- SPDX-License-Identifier: GPL-2.0-or-later
local function work()
	local total, parts = 0, {}
	for i = 1, 20000 do
		total = (total + i * i) % 1000003
	end
	for i = 1, 50 do
		parts[#parts + 1] = tostring(i * total)
	end
	return total + #table.concat(parts)
end

local function deep(n)
	if n == 0 then return work() end
	return deep(n - 1) + 1
end

for turn = 1, 200 do deep(20) end
print("ready")
io.stdout:flush()
while true do deep(20) end
