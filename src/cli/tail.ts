/** @module `countersign tail [-f]`: prints the last events, and with `-f` new ones until interrupted. */

import { isJsonObject, type JsonObject, parseJson } from '../../schemas/json.ts'
import { RunId } from '../../schemas/names.ts'
import { frames } from '../client/sse-frames.ts'
import { pause } from '../client/transport.ts'
import { type Api, openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { cellText, jsonLine } from './shown.ts'
import { stdout } from './table.ts'
import { painter } from './terminal.ts'

const LINES_DEFAULT = 10
const LINES_MAX = 500
/** Milliseconds to wait before a broken connection is resumed. */
const AGAIN_MS = 1_000
const TYPE_COLUMN = 22

export async function tail(inputs: Arguments): Promise<number> {
  const run = inputs.text('run')
  if (run !== undefined && !RunId.safeParse(run).success) throw usageFailure(`--run: "${run}" is no run id`)
  const lines = linesOf(inputs)
  await using api = await openApi(inputs, { endless: inputs.has('follow') })
  const params = { run, types: inputs.text('types'), order: 'desc', limit: Math.max(1, lines) }
  const last = await api.get('/v1/audit/events', params)
  const items = Array.isArray(last.items) ? (last.items as readonly JsonObject[]) : []
  const print = printer(inputs)
  for (const item of items.slice(0, lines).reverse()) print(item)
  if (inputs.has('follow')) await follow(api, { args: inputs, run, after: last.tailCursor }, print)
  return api.exitCode()
}

function linesOf({ text }: Arguments): number {
  const value = text('lines') ?? String(LINES_DEFAULT)
  if (!/^\d{1,3}$/.test(value) || Number(value) > LINES_MAX) throw usageFailure(`--lines takes 0 to ${LINES_MAX}`)
  return Number(value)
}

interface Followed {
  readonly args: Arguments
  readonly run: string | undefined
  readonly after: unknown
}

/** Resumes after the last event that was printed, however often the connection breaks. */
async function follow(api: Api, { args, run, after }: Followed, print: (event: JsonObject) => void): Promise<void> {
  const types = args.text('types')?.split(',')
  const path = run === undefined ? '/v1/tail' : `/v1/runs/${run}/tail`
  const stop = new AbortController()
  const end = (): void => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  let lastId = typeof after === 'string' ? after : undefined
  while (!stop.signal.aborted) {
    let answered = false
    try {
      for await (const frame of frames(api.text(path, { after: lastId }, stop.signal))) {
        answered = true
        if (frame.id !== undefined) lastId = frame.id
        const event = frame.data === undefined ? undefined : eventOf(frame.data)
        if (event !== undefined && (types === undefined || types.includes(String(event.type)))) print(event)
      }
    } catch (error) {
      // A connection that was established and broke is resumed; if there was no response at all, the retries are already used up.
      const broke = answered && error instanceof CliFailure && error.exitCode === EXIT.network
      if (!broke) throw error
    }
    await pause(AGAIN_MS, stop.signal).catch(() => undefined)
  }
}

/** The event as in the listing, limited to the fields in its header and payload. */
function eventOf(data: string): JsonObject | undefined {
  const record = parseJson(data) as JsonObject
  const { header } = record
  if (!isJsonObject(header)) return undefined
  const { id, stream, time, type, actor, revision, principal } = header
  const run = /^run-[^.]*\.(.*)$/.exec(String(stream))?.[1]
  const named = isJsonObject(record.data) ? record.data : {}
  const { agent, tool } = named
  return {
    ...{ time: time ?? null, type: type ?? null, revision: revision ?? null, actor: actor ?? null, event: id ?? null },
    ...(principal !== undefined && { principal }),
    ...(run === undefined ? { stream: stream ?? null } : { run }),
    ...(agent !== undefined && { agent }),
    ...(tool !== undefined && { tool }),
    digest: record.digest ?? null,
  }
}

function printer(input: Arguments): (event: JsonObject) => void {
  const paint = painter(stdout)
  if (input.has('json') || stdout.isTTY !== true) return (event) => stdout.write(jsonLine(event))
  return ({ time, type, run, stream, revision, actor, agent, tool, verdict }) => {
    const place = `${cellText(run ?? stream)}@${cellText(revision)}`
    const columns = [actor, agent, tool, verdict].map(cellText).filter((text) => text !== '')
    const kind = cellText(type).padEnd(TYPE_COLUMN)
    stdout.write(`${paint(cellText(time), 'dim')}  ${paint(kind, 'bold')}  ${place}  ${columns.join('  ')}\n`)
  }
}
