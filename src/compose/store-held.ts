/**
 * @module The store as a ledger uses it: it may only grow. An event found to be missing is noted next to the checkpoints, so that the loss is known after a
 * restart.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import type { Loss } from '../../schemas/loss.ts'
import { logFileGuard } from '../ledger/identity/file-guard.ts'
import { WENT_BACK } from '../ledger/integrity/known-losses.ts'
import type { KeySource, Log } from '../ledger/ports.ts'
import { expectedAlone } from '../ledger/read/record-seal.ts'
import type { Settings } from '../settings/config.ts'
import { checkRecord } from '../signing/check.ts'
import { replaceFile } from '../signing/durable-file.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { EventStore, Position, ReadRecord, StoreReader } from '../store/event-store.ts'
import { forwardOnly } from '../store/forward-only-store.ts'
import { isSameEvent, type KnownEvent } from '../store/known-events.ts'
import { lossPath } from './compose-files.ts'

const Missing = z.strictObject({ stream: z.string(), revision: z.int(), position: z.string(), id: z.string() })
const FileForm = z.strictObject({ v: z.literal(1), missing: Missing, seal: z.string() })

/** Keeps a store that went backwards from being served again; `message` says how to fix it. */
export class StoreLossError extends Error {
  override readonly name = 'StoreLossError'
  readonly code = 'store-went-back'
}

/**
 * Throws `StoreLossError` if an earlier process found an event missing and the store still lacks it; once the event is back, the note is removed. Throws
 * `StoreUnavailableError`.
 */
export async function heldStore(
  store: EventStore,
  { settings, keys, log }: { readonly settings: Settings; readonly keys: KeySource; readonly log: Log },
): Promise<EventStore> {
  const note = lossPath(settings)
  if (note !== undefined) await refuseNoted(store, { path: note, keys, log })
  return forwardOnly(store, {
    note: { place: note, keep: (missing) => note !== undefined && keep(note, missing, keys) },
    isSealed: sealedBy(keys),
    onStreamCut: (cut) =>
      log.error(
        { ...cut },
        'the end of this stream is gone, which this process was told of: it is neither read nor written any more, everything else is served on; "countersign verify" says what can be done',
      ),
    onNoteFailed: (error) =>
      log.error(
        { err: error, file: note },
        'that the store went backwards cannot be noted: the next start will not know of it',
      ),
  })
}

interface Noted {
  readonly path: string
  readonly keys: KeySource
  readonly log: Log
}

async function refuseNoted(store: EventStore, { path, keys, log }: Noted): Promise<void> {
  if (!existsSync(path)) return
  const missing = readNote(path, keys)
  if (missing === undefined)
    throw new StoreLossError(
      `${path}, which says what the store had lost, is damaged or of other keys: restore it, or move it away after "countersign verify"`,
    )
  if (!isSameEvent(await store.recordAt(missing.position), missing)) throw new StoreLossError(stillLost(missing, path))
  rmSync(path)
  const { stream, revision, position } = missing
  log.info({ stream, revision, position }, 'the store again holds the event that it had lost: the ledger goes on')
}

/** Content of the note: the missing event, or `unreadable` if it is damaged or sealed with other keys; undefined if there is no note. */
export function notedLoss(settings: Settings, keys: KeySource): KnownEvent | 'unreadable' | undefined {
  const path = lossPath(settings)
  if (path === undefined || !existsSync(path)) return undefined
  return readNote(path, keys) ?? 'unreadable'
}

/** For a process that only reads: losses from the note that the store has not recovered. */
export async function lossesNoted(
  store: Pick<StoreReader, 'recordAt' | 'comparePositions'>,
  noted: KnownEvent | 'unreadable' | undefined,
): Promise<readonly Loss[]> {
  if (noted === undefined) return []
  if (noted === 'unreadable') return [WENT_BACK]
  if (!isPositionOf(store, noted.position)) return []
  if (isSameEvent(await store.recordAt(noted.position), noted)) return []
  return [WENT_BACK, { scope: 'run', code: 'missing', stream: noted.stream, revision: noted.revision }]
}

/** False for a position of another kind of store, whose files may be in the same folder, as after a copy. */
export function isPositionOf(store: Pick<StoreReader, 'comparePositions'>, position: Position): boolean {
  try {
    return store.comparePositions(position, position) === 0
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

function stillLost({ stream, revision }: KnownEvent, path: string): string {
  return `the store went backwards: it lacks ${stream} @ ${revision}, which an earlier process saw in it. Put the newer store back; only if it is lost for good, move ${path} away after "countersign verify" with the last checkpoint you hold, keep it, and tell those who audit this ledger`
}

function readNote(path: string, keys: KeySource): KnownEvent | undefined {
  const file = FileForm.safeParse(parseJsonOrUndefined(readFileSync(path, 'utf8')))
  if (!file.success) return undefined
  const { missing, seal } = file.data
  return logFileGuard(keys).holds(sealedText(missing), seal) ? missing : undefined
}

function keep(path: string, missing: KnownEvent, keys: KeySource): void {
  const seal = logFileGuard(keys).seal(sealedText(missing))
  replaceFile(path, `${JSON.stringify({ v: 1, missing, seal }, null, 2)}\n`)
}

/** The first line separates the purposes: a seal of one kind of file is not valid in another. */
function sealedText({ stream, revision, position, id }: KnownEvent): string {
  return `store-loss\n${JSON.stringify([stream, revision, position, id])}`
}

/** Checks that an event on its own was sealed with the ledger's keys. */
function sealedBy(keys: KeySource): (record: ReadRecord) => boolean {
  let { ring } = keys.current()
  let runKeys = createRunKeys(ring)
  return (record) => {
    const now = keys.current().ring
    if (now !== ring) [ring, runKeys] = [now, createRunKeys(now)]
    return checkRecord(record, expectedAlone(record), { ring, runKeys, depth: 'fast', headersSuffice: true }).ok
  }
}
