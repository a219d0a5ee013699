URL=${URL:-http://127.0.0.1:7070}
TOKEN=$(npx countersign token --scope "runs:write runs:read audit:read audit:export")
api() { curl -s "$URL/v1/$1" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' "${@:2}"; echo; }

# A run with a budget, and a handoff.
api runs -d '{"id": "hello", "name": "hello", "budget": {"tokens": 1000}}'
api runs/hello/envelopes -d '{"agent": "researcher", "payload": {"entities": ["Apple"], "revenue": "2024"}}'

# A handoff that drops the entities: 409, with the findings and the envelope that was restored.
api runs/hello/envelopes -d '{"agent": "writer", "payload": {"summary": "growth"}}'

# A tool call: claimed, settled, and repeated.
CLAIM=$(api runs/hello/calls -d '{"tool": "charge", "args": {"cents": 2500}, "reserve": {"agent": "writer", "tokens": 400}}')
CALL=$(echo "$CLAIM" | sed 's/.*"callId":"\([^"]*\)".*/\1/')
api "runs/hello/calls/$CALL/settle" -d '{"fence": 1, "result": {"payment": "p-1"}, "usage": {"tokens": 380}}'
api runs/hello/calls -d '{"tool": "charge", "args": {"cents": 2500}}'

# What was recorded: state, events, a replay that ends in a verdict; then the end.
api runs/hello
api "runs/hello/events?limit=3"
api runs/hello/replay
api runs/hello/complete -d '{"output": {"paid": true}}'

# Offline: the store, and an export.
npx countersign verify
curl -s "$URL/v1/export" -H "Authorization: Bearer $TOKEN" > export.jsonl
npx countersign verify export.jsonl --data "${COUNTERSIGN_DATA:-.countersign}"   # with your own keys, by name
