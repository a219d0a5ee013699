/** @module `countersign import`: converts chat transcripts to signed runs, one per line; importing the same file again adds nothing. */
import { createReadStream, existsSync } from 'node:fs'
import { Tenant } from '../../schemas/names.ts'
import { openLedger } from '../compose/compose.ts'
import { httpTarget, ImportNetworkError } from '../import/http-target.ts'
import { ImportRefusedError, type ImportTarget, importRun } from '../import/import-run.ts'
import { ledgerTarget } from '../import/ledger-target.ts'
import { openaiChatRun } from '../import/openai-chat.ts'
import { silentLog } from '../ledger/effects.ts'
import { parseStrictJson } from '../signing/strict-json.ts'
import { type Line, readLines } from '../verify/read-lines.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { type Progress, startProgress } from './progress.ts'
import { jsonLine, oneLine } from './shown.ts'

const LINE_MAX_BYTES = 16 * 1024 * 1024
/** Number of concurrent runs: each waits for the disk once per turn, and concurrent runs share these waits. */
const CONCURRENT_RUNS = 32
const MS_PER_SECOND = 1_000
/** The recorded actor on a local store; over HTTP, the subject of the token. */
const ACTOR = 'local'

interface Tally {
  runs: number
  added: number
  known: number
  calls: number
  refused: number
}

export async function importRuns(inputs: Arguments): Promise<number> {
  const [file = ''] = inputs.positionals
  if (inputs.text('format') === undefined) throw usageFailure('--format is missing: there is openai')
  if (file !== '-' && !existsSync(file)) throw usageFailure(`there is no file ${file}`)
  const tenant = Tenant.safeParse(inputs.text('tenant') ?? 'default')
  if (!tenant.success) throw usageFailure(`--tenant: ${tenant.error.issues[0]?.message}`)

  const startedMs = performance.now()
  const source = file === '-' ? process.stdin : createReadStream(file)
  const work = { source, tenant: tenant.data }
  const { tally, events } =
    inputs.text('url') === undefined ? await intoStore(inputs, work) : await overHttp(inputs, work)
  print(
    { ...tally, ...(events !== undefined && { events }) },
    { json: inputs.has('json'), elapsedMs: performance.now() - startedMs },
  )
  return tally.refused > 0 ? EXIT.failed : EXIT.ok
}

interface Work {
  readonly source: AsyncIterable<Uint8Array>
  readonly tenant: string
}

interface Done {
  readonly tally: Tally
  /** Number of appended events, if known. */
  readonly events?: number
}

async function intoStore({ settings }: Arguments, work: Work): Promise<Done> {
  await using opened = await openLedger(settings, silentLog)
  const { ledger } = opened
  const tally = await importLines(work, ledgerTarget(ledger, { tenant: work.tenant, actor: ACTOR }))
  return { tally, events: ledger.stats().appendedEvents }
}

async function overHttp({ text }: Arguments, work: Work): Promise<Done> {
  const token = text('token') ?? process.env.COUNTERSIGN_TOKEN
  if (token === undefined || token === '')
    throw usageFailure('--url needs a token: set COUNTERSIGN_TOKEN, or give --token')
  const url = text('url') ?? ''
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`)
  return { tally: await importLines(work, httpTarget(url, token)) }
}

/** Lines are read only as fast as runs are written. */
async function importLines({ source, tenant }: Work, target: ImportTarget): Promise<Tally> {
  const tally: Tally = { runs: 0, added: 0, known: 0, calls: 0, refused: 0 }
  const progress = startProgress({ unit: 'runs' })
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  for await (const lines of readLines(source, LINE_MAX_BYTES + 1)) {
    for (const line of lines) {
      if (line.bytes.every(isBlank)) continue
      const done = importLine(line, { tenant, target, tally, progress })
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(done))
      underWay.add(done)
      if (underWay.size >= CONCURRENT_RUNS) await Promise.race(underWay)
      if (failures.length > 0) break
    }
    if (failures.length > 0) break
  }
  await Promise.all(underWay)
  progress.end()
  if (failures.length > 0) throw asFailure(failures[0])
  return tally
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d
}

interface Importing {
  readonly tenant: string
  readonly target: ImportTarget
  readonly tally: Tally
  readonly progress: Progress
}

async function importLine(line: Line, { tenant, target, tally, progress }: Importing): Promise<void> {
  const refuse = (reason: string): void => {
    tally.refused += 1
    progress.end()
    process.stderr.write(`countersign: line ${line.number}: ${oneLine(reason)}\n`)
  }
  const parsed = parseStrictJson(line.bytes, { maxBytes: LINE_MAX_BYTES, maxKeys: LINE_MAX_BYTES })
  if (!parsed.ok) return refuse(`${parsed.error.code} at offset ${parsed.error.offset}: ${parsed.error.message}`)
  const transcript = openaiChatRun(parsed.value, { tenant, actor: ACTOR })
  if (!transcript.ok) return refuse(transcript.message)
  try {
    const result = await importRun(transcript.run, target)
    tally[result === 'new' ? 'added' : 'known'] += 1
  } catch (error) {
    if (error instanceof ImportRefusedError)
      return refuse(`run ${transcript.run.runId}: ${error.code}: ${error.message}`)
    throw error
  }
  tally.runs += 1
  tally.calls += transcript.run.calls
  progress.report(tally.runs)
}

function asFailure(error: unknown): unknown {
  return error instanceof ImportNetworkError ? new CliFailure(error.message, EXIT.network, { cause: error }) : error
}

function print(
  figures: Tally & { readonly events?: number },
  { json, elapsedMs }: { readonly json: boolean; readonly elapsedMs: number },
): void {
  if (json) {
    process.stdout.write(jsonLine({ ...figures, elapsedMs: Math.round(elapsedMs) }))
    return
  }
  const { runs, added, known, calls, refused, events } = figures
  const counts = [
    `${runs} runs, ${calls} calls: ${added} runs added, ${known} known already`,
    ...(events === undefined ? [] : [`${events} events appended`]),
    ...(refused === 0 ? [] : [`${refused} lines refused`]),
  ]
  process.stdout.write(`${counts.join(', ')} (${(elapsedMs / MS_PER_SECOND).toFixed(1)} s)\n`)
}
