/** @module One session of the proxy on stdio: a host, a server, a run; it ends with whichever of the two goes first. */
import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { Client } from '../client/client.ts'
import { withTimeout } from '../resources/with-timeout.ts'
import { CallRecord } from './call-record.ts'
import { DefinitionsRecord } from './definitions-record.ts'
import type { Effects } from './effects.ts'
import { LineTooLong, type RawLine, rawLines } from './lines.ts'
import type { Secrets } from './recorded-form.ts'
import { Relay, type Write } from './relay.ts'
import { SessionRun } from './session-run.ts'
import { startUpstream, type Upstream } from './upstream.ts'

export interface McpSessionOptions {
  readonly client: Client
  /** Of a ledger that is served; undefined where it is in this process. */
  readonly url: string | undefined
  readonly command: readonly string[]
  /** Of the server: without this program's own settings. */
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
  /** Resolves with why the session is to end, whatever the host sends. */
  readonly ends: Promise<string>
  readonly say: (text: string) => void
}

/** `server`: it ended first, and the host is left without it. */
export type SessionEnd = 'host' | 'server'

/** How long what was read of a host that is gone may still be on its way to the server. */
const FORWARDS_MS = 1_000
/** How long the last records may take, all together: what is not recorded by then is found in doubt by whoever looks, since this process is gone. */
const RECORDS_MS = 2_500
const OUTPUT_MS = 500

export async function runMcpSession(options: McpSessionOptions): Promise<SessionEnd> {
  const { client, url, server, pin, say, host, ends } = options
  const run = new SessionRun({ client, named: options.run, server, transport: 'stdio' })
  const calls = new CallRecord({ ...options, run, desk: { url } })
  const definitions = new DefinitionsRecord({ client, run, server, pin, say })
  const upstream = startUpstream(options.command, options.env)
  const relay = new Relay({
    toHost: writerTo(host.output),
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

/** Each direction goes on line by line, and reads no faster than the other side takes. A stream that broke has ended. */
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

/** Undefined where it takes longer: it goes on, and is waited for no more. */
async function atMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  return withTimeout<T | undefined>(work, ms, () => new Error('late')).catch(() => undefined)
}

/** Output that a process left behind holds open is not waited for. */
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

/** What the server answered is recorded; what it did not is in doubt. */
async function recorded({ relay, calls, run, reason, say }: Recording): Promise<true> {
  await relay.serverGone(reason)
  const { owed } = await calls.close()
  if (owed > 0) say(`${owed} records could not be made: the ledger did not answer`)
  const end = await run.end()
  if (end?.closed === false) say(`the run ${end.runId} stays open: ${end.reason}`)
  return true
}

/** What is written to a side that is gone is dropped: its end is seen where it is read. */
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
