/** @module Load by `wrk`: it takes little of the processor that it shares with the server. Only ever against 127.0.0.1. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Over the time requested: wrk waits for what is under way. */
const GRACE_MS = 15_000
/** Of one request: on a machine that is busy with other things an answer takes its time. */
const TIMEOUT_SECONDS = 10

export interface LoadRequest {
  readonly path: string
  readonly body: string
}

export interface Load {
  readonly url: string
  readonly token: string
  /** Sent in turn, again and again. */
  readonly requests: readonly LoadRequest[]
  readonly connections: number
  readonly seconds: number
  /** The Lua file, rewritten at each call. */
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
    // It exits with 1 after printing its version.
    execFileSync('sh', ['-c', 'command -v wrk'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Throws where any answer was no 2xx, or a connection failed: a figure over errors says nothing. */
export async function runWrk(load: Load): Promise<LoadResult> {
  if (!load.url.startsWith('http://127.0.0.1:')) throw new TypeError('load goes to 127.0.0.1 only')
  writeFileSync(load.script, luaScript(load))
  const { connections, script, url } = load
  // It knows no part of a second.
  const seconds = Math.ceil(load.seconds)
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', `${TIMEOUT_SECONDS}s`, '-s', script, url]
  const { stdout } = await run('wrk', args, { timeout: seconds * 1000 + GRACE_MS })
  const result = JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? 'null') as (LoadResult & { errors: number }) | null
  if (result === null) throw new Error(`wrk said no result: ${stdout}`)
  if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} requests failed under load`)
  return result
}

/** The requests are made before the clock starts, so that wrk only sends. */
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
