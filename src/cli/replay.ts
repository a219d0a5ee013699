/** @module `countersign replay RUN`: reads one run again, folds it, and compares the result with the recorded snapshots: offline, or as a running ledger does it. */
import { parseJson } from '../../schemas/json.ts'
import { type Loss, lossesText } from '../../schemas/loss.ts'
import { RunId, runStream, Tenant } from '../../schemas/names.ts'
import { openReader } from '../compose/compose-stores.ts'
import { knownAtRest, type LogAtRest, logOf, lossesBeside, openLogAtRest } from '../compose/log-at-rest.ts'
import { lossesOfRun } from '../ledger/integrity/known-losses.ts'
import { lostBehind } from '../ledger/integrity/lost-behind.ts'
import type { ReplayLine } from '../ledger/ledger.ts'
import { replayRecords } from '../ledger/read/replay.ts'
import { requireKeys } from '../settings/key-source.ts'
import { KeyFileError } from '../signing/key-file.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { streamTenant } from '../signing/stream-tenant.ts'
import { StoreOpenError, type StoreReader } from '../store/event-store.ts'
import { VERDICT_EXIT_CODES } from '../verify/fault.ts'
import { type Api, remoteApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { giveWayToOwner } from './give-way.ts'
import { jsonLine, oneLine } from './shown.ts'
import { type Paint, painter } from './terminal.ts'

export async function replay(inputs: Arguments): Promise<number> {
  if (inputs.text('url') !== undefined) return await replayServed(inputs)
  const stream = streamOf(inputs.positionals[0] ?? '', inputs.text('tenant') ?? 'default')
  giveWayToOwner(inputs.settings.store)
  try {
    const keys = requireKeys(inputs.settings.keys)
    const { ring } = keys
    const found = await openLogAtRest(inputs.settings.data, keys)
    using _ = typeof found === 'string' ? undefined : found
    using reader = await openReader(inputs.settings.store, () => ring)
    if ((await reader.head(stream)) < 0) {
      throw new CliFailure(`there is no run ${inputs.positionals[0]} of this tenant in ${reader.url}`, EXIT.unproven)
    }
    const log = logOf(reader, found)
    const noted = await lossesBeside(inputs.settings, keys, reader, log)
    const losses = await lossesAtRest({ reader, log, keys, noted }, stream)
    const lines = replayRecords(reader.readStream(stream), stream, { ring, runKeys: createRunKeys(ring), losses })
    return await print(lines, inputs.has('json'))
  } catch (error) {
    throw asUnproven(error)
  }
}

/** The ledger at `--url` folds the run, and what it says of it is printed. */
async function replayServed(inputs: Arguments): Promise<number> {
  const [run = ''] = inputs.positionals
  if (!RunId.safeParse(run).success) throw usageFailure(`"${run}" is no run id`)
  await using api = remoteApi(inputs)
  try {
    return await print(servedLines(api, run), inputs.has('json'))
  } catch (error) {
    throw asUnproven(error)
  }
}

async function* servedLines(api: Pick<Api, 'text'>, run: string): AsyncGenerator<ReplayLine, void> {
  let rest = ''
  for await (const chunk of api.text(`/v1/runs/${run}/replay`, {}, new AbortController().signal)) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield parseJson(line) as ReplayLine
  }
}

interface AtRest {
  readonly reader: StoreReader
  readonly log: LogAtRest | undefined
  readonly keys: LedgerKeys
  readonly noted: readonly Loss[]
}

/** Losses known before the run is read: missing positions of the store, and events that only the ledger's log file has seen. */
async function lossesAtRest({ reader, log, keys, noted }: AtRest, stream: string): Promise<readonly Loss[]> {
  const losses = await knownAtRest(reader, log, { isCounted: true, keys, noted })
  const known = lossesOfRun(losses(streamTenant(stream) ?? ''), stream)
  const behind = { store: reader, known: log?.knownHead(stream) }
  return [...known, ...(await lostBehind(behind, stream, { events: (await reader.head(stream)) + 1 }))]
}

function streamOf(run: string, tenant: string): string {
  const fault = RunId.safeParse(run).error ?? Tenant.safeParse(tenant).error
  if (fault !== undefined) throw usageFailure(fault.issues[0]?.message ?? 'no run of that name can exist')
  return runStream(tenant, run)
}

/** Exit code 1 is reserved for tampering: any other error that ends a replay early leaves the run unproven. */
function asUnproven(error: unknown): unknown {
  if (error instanceof CliFailure || !(error instanceof Error)) return error
  const known = error instanceof StoreOpenError || error instanceof KeyFileError
  const message = known ? error.message : `the run cannot be replayed: ${error.message}`
  return new CliFailure(message, EXIT.unproven, { cause: error })
}

async function print(lines: AsyncIterable<ReplayLine>, json: boolean): Promise<number> {
  const paint = painter(process.stdout)
  let last: ReplayLine = {}
  for await (const line of lines) {
    last = line
    process.stdout.write(json ? jsonLine(line) : `${textOf(line, paint)}\n`)
  }
  const { verdict } = last
  return verdict === 'VERIFIED' || verdict === 'TAMPERED' ? VERDICT_EXIT_CODES[verdict] : EXIT.unproven
}

function textOf(line: ReplayLine, paint: Paint): string {
  if (line.verdict !== undefined) return verdictText(line, paint)
  const { revision, type = '', time = '', actor = '', ok, step, snapshot, skipped, faults } = line
  const mark = ok === false ? paint('no', 'red') : paint('ok', 'green')
  const reason = skipped ?? (faults === undefined ? undefined : faultText(faults))
  const more = [
    snapshot === undefined ? '' : `snapshot ${String(snapshot)}`,
    reason === undefined ? '' : String(reason),
  ]
  const reported = [String(type).padEnd(20), String(time), `step ${String(step ?? '-')}`, String(actor), ...more]
  const texts = reported.filter((part) => part !== '').map(oneLine)
  return [String(revision).padStart(5), mark, ...texts].join('  ').trimEnd()
}

function faultText(faults: unknown): string {
  if (!Array.isArray(faults)) return ''
  return faults.map((fault: { code?: unknown; message?: unknown }) => `${fault.code}: ${fault.message}`).join('; ')
}

function verdictText(line: ReplayLine, paint: Paint): string {
  const { verdict, stream, events, snapshots, status } = line
  const { matched = 0, mismatched = 0, notCompared = 0 } = (snapshots ?? {}) as Record<string, number>
  const colour = verdict === 'VERIFIED' ? 'green' : 'red'
  const counts = `${String(events)} events, snapshots: ${matched} matched, ${mismatched} did not, ${notCompared} not compared`
  const lost =
    line.losses === undefined ? '' : `; lost: ${oneLine(lossesText(line.losses as unknown as readonly Loss[]))}`
  return `${paint(String(verdict), colour)}  ${oneLine(String(stream))}  ${counts}${lost}${status === undefined ? '' : `; the run is ${oneLine(String(status))}`}`
}
