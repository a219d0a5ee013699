/** @module One session of the proxy on stdio: a host, a server and a run. It ends when the host or the server ends. */
import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { Client } from '../client/client.ts'
import { withTimeout } from '../resources/with-timeout.ts'
import { CallRecord } from './call-record.ts'
import { DefinitionsRecord } from './definitions-record.ts'
import type { Effects } from './effects.ts'
import { LineTooLong, type RawLine, rawLines } from './lines.ts'
import { type Secrets, withoutSecrets } from './recorded-form.ts'
import { Relay, type Write } from './relay.ts'
import { SessionRun } from './session-run.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { UrlApprovals } from './url-approvals.ts'

export interface McpSessionOptions {
  readonly client: Client
  /** URL of a served ledger; undefined if the ledger is in this process. */
  readonly url: string | undefined
  readonly command: readonly string[]
  /** Environment of the server, without the settings of this program. */
  readonly env: NodeJS.ProcessEnv
  readonly server: string
  readonly run: string | undefined
  readonly agent: string | undefined
  readonly effects: Effects
  readonly secrets: Secrets
  readonly owner: string | undefined
  readonly whenAway: 'refuse' | 'pass'
  readonly pin: string | undefined
  readonly host: { readonly input: Readable; readonly output: Writable }
  /** Resolves with the reason for ending the session, even if the host still sends. */
  readonly ends: Promise<string>
  readonly say: (text: string) => void
}

/** `server`: the server ended first, so the host has lost it. */
export type SessionEnd = 'host' | 'server'

/** Maximum time to forward lines that were read before the host closed. */
const FORWARDS_MS = 1_000
/** Maximum time for all last records together. Calls not recorded by then are found in doubt later, since this process has ended. */
const RECORDS_MS = 2_500
const OUTPUT_MS = 500

export async function runMcpSession(options: McpSessionOptions): Promise<SessionEnd> {
  const { client, url, server, pin, secrets, host, ends } = options
  const say = (text: string): void => options.say(withoutSecrets(text, secrets))
  const run = new SessionRun({ client, named: options.run, server, transport: 'stdio' })
  const calls = new CallRecord({ ...options, run, desk: { url } })
  const definitions = new DefinitionsRecord({ client, run, server, pin, secrets, say })
  const upstream = startUpstream(options.command, options.env)
  const toHost = writerTo(host.output)
  const relay = new Relay({
    toHost,
    asksHost: toHost,
    approvals: new UrlApprovals({ client, run, desk: { url } }),
    toServer: writerTo(upstream.input),
    calls,
    definitions,
    say,
  })

  const fromServer = pump(upstream.output, (line) => relay.fromServer(line), say)
  const fromHost = pump(host.input, (line) => relay.fromHost(line), say)
  const hostEnd = Promise.race([fromHost.then(() => 'the host closed its end'), ends])
  const serverEnd = upstream.ended.then(async (reason) => {
    await fromServer
    return reason
  })
  const first = await Promise.race([
    hostEnd.then((reason) => ({ by: 'host' as const, reason })),
    serverEnd.then((reason) => ({ by: 'server' as const, reason })),
  ])
  say(`the session ends: ${first.reason}`)
  await atMost(FORWARDS_MS, relay.forwarded())
  await finish({ upstream, fromServer })
  const isRecorded = await atMost(RECORDS_MS, recorded({ relay, calls, run, reason: first.reason, say }))
  if (isRecorded === undefined) say('not everything could be recorded in time: calls without an outcome are in doubt')
  return first.by
}

/** Relays one direction line by line, with backpressure. A broken stream counts as ended. */
async function pump(
  from: Readable,
  take: (line: RawLine) => Promise<void>,
  say: (text: string) => void,
): Promise<void> {
  try {
    for await (const line of rawLines(from)) await take(line)
  } catch (error) {
    if (error instanceof LineTooLong) say(error.message)
  }
}

/** Undefined on timeout; the work continues, but is no longer awaited. */
async function atMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  return withTimeout<T | undefined>(work, ms, () => new Error('late')).catch(() => undefined)
}

/** Limits the wait for output that a leftover child process holds open. */
async function finish({
  upstream,
  fromServer,
}: {
  readonly upstream: Upstream
  readonly fromServer: Promise<void>
}): Promise<void> {
  await upstream.close()
  await atMost(OUTPUT_MS, fromServer)
}

interface Recording {
  readonly relay: Relay
  readonly calls: CallRecord
  readonly run: SessionRun
  readonly reason: string
  readonly say: (text: string) => void
}

/** Records the answered calls; calls without an answer are in doubt. */
async function recorded({ relay, calls, run, reason, say }: Recording): Promise<true> {
  await relay.serverGone(reason)
  const { owed } = await calls.close()
  if (owed > 0) say(`${owed} records could not be made: the ledger did not answer`)
  const end = await run.end()
  if (end?.closed === false) say(`the run ${end.runId} stays open: ${end.reason}`)
  return true
}

/** Data for a closed peer is dropped; the end of the peer is noticed on the read side. */
function writerTo(stream: Writable): Write {
  stream.on('error', () => undefined)
  return async (parts) => {
    let hasRoom = true
    for (const part of parts) {
      if (!stream.writable) return
      hasRoom = stream.write(typeof part === 'string' ? Buffer.from(part) : part)
    }
    if (!hasRoom) await Promise.race([once(stream, 'drain'), once(stream, 'close')]).catch(() => undefined)
  }
}
