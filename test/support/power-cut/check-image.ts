/** @module An image of a power cut is started as what it is: each promise that does not hold is one line. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dropViews, openLedger } from '../../../src/compose/compose.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { Log } from '../../../src/ledger/ports.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { NO_STREAM, StoreOpenError } from '../../../src/store/event-store.ts'
import { GroupWriter } from '../../../src/store/sqlite/group-writer.ts'
import type { Database } from '../../../src/store/sqlite/open.ts'
import { openWriter, settleLog } from '../../../src/store/sqlite/open-writer.ts'
import { openSqliteReader } from '../../../src/store/sqlite/sqlite-reader.ts'
import { prepareStorePath } from '../../../src/store/sqlite/store-path.ts'
import { settleWalLoss } from '../../../src/store/sqlite/wal-loss.ts'
import { packGroup } from '../../../src/store/sqlite/writer-protocol.ts'
import { askAll } from '../audited.ts'
import { runInProcess } from '../in-process-command.ts'
import { appendOf, collect } from '../records.ts'
import { drive, ok } from '../run-driver.ts'
import { alice } from '../test-ledger.ts'
import type { DiskImage } from './power-cut.ts'

const OWNER_ONLY = { file: 0o600, folder: 0o700 }

/** Puts the files of an image below `to`, which takes the place of `root`. */
export function placeImage(image: DiskImage, root: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const [path, bytes] of image) {
    const place = `${to}${path.slice(root.length)}`
    if (bytes === 'folder') mkdirSync(place, { mode: OWNER_ONLY.folder })
    else writeFileSync(place, bytes, { mode: OWNER_ONLY.file })
  }
}

/**
 * The store opens, holds every acknowledged append whole, in order and once, and takes another. `onRefused`: a start was refused because the
 * log may be damaged; told to go on, the store must be as whole.
 */
export async function storeFaults(
  path: string,
  acknowledged: readonly string[],
  onRefused: () => void,
): Promise<readonly string[]> {
  try {
    // As the store and its writer's thread do it, without the thread.
    const file = prepareStorePath(path)
    try {
      settleWalLoss(file, {})
    } catch (error) {
      if (!(error instanceof StoreOpenError) || error.code !== 'wal-damaged') throw error
      onRefused()
      settleWalLoss(file, { acceptWalLoss: true })
    }
    const db = openWriter(file)
    try {
      if (!settleLog(db)) return ['the log is not settled']
      const before = rowsOf(db)
      const outcome = new GroupWriter(db).write(packGroup(1, [appendOf('run-acme.afterwards', NO_STREAM)]))
      const isCommitted = outcome.kind === 'committed' && outcome.refusals.size === 0
      const records = rowsOf(db)
      const isUnchanged = JSON.stringify(records.slice(0, -1)) === JSON.stringify(before)
      return [
        ...(isCommitted && isUnchanged ? [] : [`does not take another append: ${JSON.stringify(outcome)}`]),
        ...(records.every(({ position }, index) => position === index + 1) ? [] : ['a position is missing']),
        ...outOfOrder(records),
        ...lost(records, acknowledged),
      ]
    } finally {
      db.close()
    }
  } catch (error) {
    return [`does not open: ${error}`]
  }
}

interface Row {
  readonly position: number
  readonly stream: string
  readonly revision: number
  readonly data: string
}

function rowsOf(db: Database): readonly Row[] {
  return db
    .prepare<[], Row>(
      'SELECT position, s.name AS stream, revision, data FROM events e JOIN streams s ON s.id = e.stream_id ORDER BY position',
    )
    .all()
}

/** Gaps, and appends of which only a part is there: each says of how many records it is. */
function outOfOrder(records: readonly Row[]): readonly string[] {
  const next = new Map<string, number>()
  const parts = new Map<string, { readonly of: number; there: number }>()
  const faults: string[] = []
  for (const { stream, revision, data } of records) {
    if (revision !== (next.get(stream) ?? 0)) faults.push(`${stream} @ ${revision} is out of order`)
    next.set(stream, revision + 1)
    const { mark, of } = JSON.parse(data) as { readonly mark?: string; readonly of?: number }
    if (mark === undefined || of === undefined) continue
    const part = parts.get(mark) ?? { of, there: 0 }
    part.there += 1
    parts.set(mark, part)
  }
  for (const [mark, { of, there }] of parts) if (there !== of) faults.push(`${there} of ${of} records of ${mark}`)
  return faults
}

/**
 * The ledger starts without an error, holds what was acknowledged, verifies, takes more, and answers as it does after a rebuild.
 * `rebuilt` is the dearer half: the files that follow the store are rebuilt and everything is asked again.
 */
export async function ledgerFaults(
  data: string,
  acknowledged: readonly string[],
  { rebuilt }: { readonly rebuilt: boolean },
): Promise<readonly string[]> {
  const faults: string[] = []
  const log: Log = {
    info: () => undefined,
    warn: () => undefined,
    error: (fields, message) => void faults.push(`${message} ${JSON.stringify(fields)}`),
  }
  const settings = readSettings({ data, 'checkpoint-seconds': '0' }, {})
  try {
    const first = await answersOf(async () => openLedger(settings, log))
    using reader = openSqliteReader({ path: `${data}/store.db` })
    faults.push(...lost(await collect(reader.readAll()), acknowledged))
    const { code, stdout, stderr } = await runInProcess(['verify', '--data', data])
    if (code !== 0) faults.push(`verify ended with ${code}: ${stdout} ${stderr}`)
    if (!rebuilt) return faults
    dropViews(settings)
    const second = await answersOf(async () => openLedger(settings, log))
    if (first !== second) faults.push(`answers differ from those of a rebuild:\n${first}\n${second}`)
  } catch (error) {
    faults.push(`does not start: ${error}`)
  }
  return faults
}

/** What is answered of the runs that were there, after one more was written. */
async function answersOf(open: () => Promise<{ readonly ledger: Ledger } & AsyncDisposable>): Promise<string> {
  await using opened = await open()
  const { ledger } = opened
  const before = await ledger.listRuns(alice, { limit: 200 })
  const known = new Set(before.items.map(({ id }) => id))
  if (!known.has('afterwards')) await drive({ ledger }, 'afterwards').start()
  ok(await drive({ ledger }, 'afterwards').hand('a', { note: 'still takes handoffs' }))
  const runs = (await ledger.listRuns(alice, { limit: 200 })).items
  const filter = { types: ['EnvelopeAccepted', 'RunStarted', 'ToolCallSucceeded'] }
  const events = await askAll(ledger, 'events', { filter })
  const spend = await askAll(ledger, 'spend')
  const isOld = (value: unknown): boolean => !JSON.stringify(value).includes('"afterwards"')
  return JSON.stringify({ runs: runs.filter(isOld), events: events.filter(isOld), spend: spend.filter(isOld) })
}

function lost(
  records: readonly { readonly stream: string; readonly data: string }[],
  acknowledged: readonly string[],
): readonly string[] {
  const found = new Set(records.flatMap(({ stream, data }) => [stream, ...marksIn(JSON.parse(data))]))
  const missing = acknowledged.filter((mark) => !found.has(mark))
  return missing.length === 0 ? [] : [`${missing.length} acknowledged are lost, the first ${missing[0]}`]
}

/** Every text in a body: marks are among them; of a run that was started the mark is its stream. */
function marksIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(marksIn)
}
