/** @module Load by `wrk`, which uses little of the CPU that it shares with the server. It is only ever directed at 127.0.0.1. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Time in addition to the requested one: wrk waits for requests in progress. */
const GRACE_MS = 15_000
/** Timeout per request: on a busy machine an answer takes longer. */
const TIMEOUT_SECONDS = 10

export interface LoadRequest {
  readonly path: string
  readonly body: string
}

export interface Load {
  readonly url: string
  readonly token: string
  /** Sent in turn, repeatedly. */
  readonly requests: readonly LoadRequest[]
  readonly connections: number
  readonly seconds: number
  /** Path of the Lua script, which is rewritten on each call. */
  readonly script: string
}

export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  readonly p50Us: number
  readonly p99Us: number
}

export function hasWrk(): boolean {
  try {
    // A plain `wrk --version` exits with 1, so the command is only looked up.
    execFileSync('sh', ['-c', 'command -v wrk'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Throws if any answer is not 2xx, or a connection fails: a measurement of errors would be meaningless. */
export async function runWrk(load: Load): Promise<LoadResult> {
  if (!load.url.startsWith('http://127.0.0.1:')) throw new TypeError('load goes to 127.0.0.1 only')
  writeFileSync(load.script, luaScript(load))
  const { connections, script, url } = load
  // wrk accepts only whole seconds.
  const seconds = Math.ceil(load.seconds)
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', `${TIMEOUT_SECONDS}s`, '-s', script, url]
  const { stdout } = await run('wrk', args, { timeout: seconds * 1000 + GRACE_MS })
  const result = JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? 'null') as (LoadResult & { errors: number }) | null
  if (result === null) throw new Error(`wrk said no result: ${stdout}`)
  if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} requests failed under load`)
  return result
}

/** The requests are built before the measurement, so that wrk only sends them. */
function luaScript({ requests, token }: Load): string {
  const made = requests.map(({ path, body }) => `  wrk.format("POST", ${luaText(path)}, nil, ${luaText(body)}),`)
  return `wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = ${luaText(`Bearer ${token}`)}
local requests
local at = 0
function init()
  requests = {
${made.join('\n')}
  }
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('RESULT {"requests":%d,"seconds":%.6f,"p50Us":%.0f,"p99Us":%.0f,"errors":%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), failed))
end
`
}

function luaText(text: string): string {
  if (text.includes(']==]')) throw new TypeError('the text would end its Lua literal')
  return `[==[${text}]==]`
}
