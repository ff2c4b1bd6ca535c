// Every script gets two keys: the holder (nonce, epoch and owner, one on each line), and the epoch.

/** Values: nonce, above, owner, time to live. Answers 1 and the epoch, or 0, the holder's epoch and the holder's owner. */
export const acquireScript = `
local holder = redis.call('GET', KEYS[1])
if holder then
  local nonce, epoch, owner = string.match(holder, '^(%x+)\\n(%d+)\\n(.*)$')
  if not nonce then return redis.error_reply('ERR the holder of ' .. KEYS[1] .. ' cannot be read') end
  if nonce == ARGV[1] then return { 1, epoch, '' } end
  return { 0, epoch, owner }
end
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if not last then return redis.error_reply('ERR the epoch ' .. KEYS[2] .. ' cannot be read') end
local next = math.max(last, tonumber(ARGV[2])) + 1
if next > 9007199254740991 then return redis.error_reply('ERR the epochs of ' .. KEYS[2] .. ' are used up') end
local epoch = string.format('%.0f', next)
redis.call('SET', KEYS[2], epoch)
redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. epoch .. '\\n' .. ARGV[3], 'PX', ARGV[4])
return { 1, epoch, '' }`;

const mine = `
local holder = redis.call('GET', KEYS[1])
if not holder then return 0 end
if string.sub(holder, 1, #ARGV[1] + 1) ~= ARGV[1] .. '\\n' then return -1 end`;

/** Values: nonce, time to live. Answers 1, 0 when the server let it go, -1 when somebody else has it. */
export const renewScript = `${mine}
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** Values: nonce. The epoch stays. */
export const freeScript = `${mine}
return redis.call('DEL', KEYS[1])`;

/** Answers how long the server keeps the holder, in milliseconds; below 0 when there is none. */
export const holderScript = `return redis.call('PTTL', KEYS[1])`;
