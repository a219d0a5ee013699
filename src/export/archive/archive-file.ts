/**
 * @module The file of an archive: the events of whole runs, and the large values that they name, as lines of an export, with a head and a signed trailer, so
 * that `verify` reads it as an export (LIFE-51). It is durable before anything refers to it, and is read again and compared, line by line, with the events in the store.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, link, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RefusalCode } from '../../../schemas/error-code.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { ARCHIVED_VALUES_MAX } from '../../../schemas/retention.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { syncPlaced } from '../../signing/durable-file.ts'
import type { MovedRow } from '../../store/archived-body.ts'
import { StoreUnavailableError } from '../../store/event-store.ts'
import { readLines } from '../../verify/read-lines.ts'
import { exportDigest, exportHead, exportLine, exportTrailer, recordText } from '../jsonl.ts'
import { signedTrailer } from '../signed-trailer.ts'
import { valueNamedBy } from '../value-named-by.ts'

const OWNER_ONLY = 0o600
const LINE_MAX_BYTES = 64 * 1024 * 1024
const RETRY_MS = 1_000
/** Refusals to read a run that are about that run. After any other one nothing is known of it. */
const OF_THE_RUN: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  'run-not-found',
  'stream-damaged',
  'archive-missing',
  'contended',
])

/** A run cannot be archived: one of its events does not verify, or cannot be read. */
export class UnsoundRunError extends Error {
  override readonly name = 'UnsoundRunError'
  readonly run: string

  constructor(run: string, reason: string) {
    super(`the run ${run} cannot be archived: ${reason}`)
    this.run = run
  }
}

/** The file on the disk cannot be read, or is not what was written, or not what the store holds. */
export class ArchiveFileError extends Error {
  override readonly name = 'ArchiveFileError'
}

export interface ArchivedRun {
  readonly run: string
  /** Number of its events in the archive, from the first one on. */
  readonly events: number
}

/** What an archive holds. */
export interface ArchiveContents {
  readonly runs: readonly ArchivedRun[]
  /** Digests of the large values of these runs, in the order of the file. */
  readonly values: readonly string[]
}

/** A file that was read again and compared with the store. */
export interface CheckedArchive {
  readonly digest: string
  readonly bytes: number
  /** Number of its events, with the parts of large values. */
  readonly events: number
  readonly rows: readonly MovedRow[]
}

interface Places {
  readonly ledger: Ledger
  readonly caller: Caller
  /** Folder of the archives; it must exist. */
  readonly folder: string
  readonly archive: string
}

const archivePath = ({ folder, archive }: Pick<Places, 'folder' | 'archive'>): string =>
  join(folder, `${archive}.jsonl`)

/** Behind the name of an archive: the file while it is written, then a second name of it until just before it is recorded. */
export const PART_ENDING = '.jsonl.part'

const partPath = ({ folder, archive }: Pick<Places, 'folder' | 'archive'>): string =>
  join(folder, `${archive}${PART_ENDING}`)

/** Once this has resolved, also after a power cut, the file is no longer one that the next pass may remove. */
export async function keepArchive(places: Pick<Places, 'folder' | 'archive'>): Promise<void> {
  await rm(partPath(places), { force: true })
  syncPlaced(archivePath(places))
}

/** The file first: as long as the other name is there, the next pass removes what is left. */
export async function removeArchive(places: Pick<Places, 'folder' | 'archive'>): Promise<void> {
  await rm(archivePath(places), { force: true })
  await rm(partPath(places), { force: true })
}

/**
 * Writes the runs, in this order, and puts the file in its place once it is durable; the name of the part stays, too, until `keepArchive`. Throws
 * `UnsoundRunError`, and the errors of the file system: `EEXIST` if there is a file of that name, which is never replaced.
 */
export async function writeArchive(places: Places, runs: readonly ArchivedRun[]): Promise<ArchiveContents> {
  const path = archivePath(places)
  const part = partPath(places)
  const file = await open(part, 'w', OWNER_ONLY)
  let written: ArchiveContents
  try {
    try {
      written = await writeLines(file, places, runs)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(part, path)
  } catch (error) {
    // On a full disk it would keep the space until the next pass.
    await rm(part, { force: true })
    throw error
  }
  syncPlaced(path)
  return written
}

async function writeLines(file: FileHandle, places: Places, runs: readonly ArchivedRun[]): Promise<ArchiveContents> {
  const { ledger, caller, archive } = places
  const digest = exportDigest()
  const put = async (text: string): Promise<void> => {
    digest.update(text)
    await file.appendFile(text)
  }
  const filter = { archive }
  await put(exportHead(filter))
  const values = new Set<string>()
  let lines = 0
  for (const { run, events: expected } of runs) {
    let events = 0
    for await (const { page, isOfRun } of contentsOf(places, { run }, values)) {
      if (isOfRun) events += page.length
      lines += page.length
      await put(page.map(({ texts }) => exportLine(texts)).join(''))
    }
    if (events !== expected) throw new UnsoundRunError(run, `its ${expected} events are ${events} by now`)
  }
  const { tree } = await ledger.exports.pin(caller, {})
  const trailer = signedTrailer(ledger, caller, {
    ...{ ledgerId: ledger.ledgerId, tenant: caller.tenant, run: null, filter },
    ...{ events: lines, digest: digest.text(), asOf: tree?.eventId ?? null },
    ...{ treeSize: tree?.size ?? null, root: tree?.root ?? null },
  })
  await file.appendFile(exportTrailer(trailer))
  return { runs: runs.map(({ run, events }) => ({ run, events })), values: [...values] }
}

interface RunRange {
  readonly run: string
  /** Revision of the last event; the last one of the run if absent. */
  readonly to?: number
}

interface Contents {
  readonly page: readonly LedgerEvent[]
  /** Events of the run, rather than parts of a large value. */
  readonly isOfRun: boolean
}

/**
 * The events of a run from its first one, then the large values that they name and that are not among `values` yet, which they are added to. Each was
 * checked. Throws `UnsoundRunError`, and `StoreUnavailableError` if the store lets nothing be read now.
 */
async function* contentsOf(
  { ledger, caller }: Pick<Places, 'ledger' | 'caller'>,
  { run, to }: RunRange,
  values: Set<string>,
): AsyncGenerator<Contents> {
  const found = await ledger.runEvents(caller, run, { from: 0, ...(to !== undefined && { to }) })
  if (!found.ok) throw unread(run, found.refusal)
  const named = new Set<string>()
  for await (const page of sound(found.value, run)) {
    for (const event of page) {
      const digest = valueNamedBy(event)
      if (digest !== undefined && !values.has(digest)) named.add(digest)
    }
    yield { page, isOfRun: true }
  }
  for (const digest of named) {
    if (values.size >= ARCHIVED_VALUES_MAX) return
    let [parts, expected] = [0, -1]
    for await (const page of sound(ledger.archives.valueParts(caller, digest), run)) {
      const { run: owner, parts: all }: JsonObject = page[0]?.data ?? {}
      expected = owner === run ? Number(all) : 0
      // The value of another run stays with that run.
      if (owner !== run) break
      parts += page.length
      yield { page, isOfRun: false }
    }
    if (parts !== expected) throw new UnsoundRunError(run, `the large value ${digest} that it names is not whole`)
    if (parts > 0) values.add(digest)
  }
}

function unread(run: string, { code, detail, retryAfterMs = RETRY_MS }: Refusal): Error {
  return OF_THE_RUN.has(code) ? new UnsoundRunError(run, detail) : new StoreUnavailableError(detail, retryAfterMs)
}

/** Checks that each event of a stream from its first one is there, and verifies. */
async function* sound(
  pages: AsyncIterable<readonly LedgerEvent[]>,
  run: string,
): AsyncGenerator<readonly LedgerEvent[]> {
  let next = 0
  for await (const page of pages) {
    for (const { seal, header } of page) {
      const place = `${header.stream} @ ${next}`
      if (header.revision !== next) throw new UnsoundRunError(run, `${place} is missing`)
      if (seal !== 'valid') throw new UnsoundRunError(run, `${place} does not verify`)
      next += 1
    }
    yield page
  }
}

/**
 * Reads the file, and compares each line with the event in the store, whose seal is checked. Throws `ArchiveFileError`, `UnsoundRunError` and the errors of the
 * store.
 */
export async function checkArchive(places: Places, contents: ArchiveContents): Promise<CheckedArchive> {
  const lines = linesOf(archivePath(places))
  try {
    return await compared(places, contents, lines)
  } finally {
    // Closes the file where it was not read to its end.
    await lines.return(undefined as never)
  }
}

async function compared(
  places: Places,
  { runs, values: recorded }: ArchiveContents,
  lines: ReturnType<typeof linesOf>,
): Promise<CheckedArchive> {
  const next = async (): Promise<FileLine | undefined> => {
    const read = await lines.next()
    return read.done === true ? undefined : read.value
  }
  await next()
  const { archive } = places
  const rows: MovedRow[] = []
  const values = new Set<string>()
  for (const { run, events } of runs) {
    let found = 0
    for await (const { page, isOfRun } of contentsOf(places, { run, to: events - 1 }, values)) {
      if (isOfRun) found += page.length
      for (const event of page) rows.push(rowOf(event, await next(), archive))
    }
    if (found !== events)
      throw new ArchiveFileError(`the store has fewer events of the run ${run} than ${archive}.jsonl`)
  }
  const isSame = values.size === recorded.length && recorded.every((digest) => values.has(digest))
  if (!isSame) throw new ArchiveFileError(`${archive}.jsonl does not hold the large values that its runs name`)
  const trailer = await next()
  const end = await lines.next()
  if (trailer?.text.startsWith('{"trailer":') !== true || end.done !== true)
    throw new ArchiveFileError(`${archive}.jsonl does not end with its trailer`)
  return { ...end.value, events: rows.length, rows }
}

function rowOf(event: LedgerEvent, line: FileLine | undefined, archive: string): MovedRow {
  if (line?.text === recordText(event.texts))
    return { position: event.position, offset: line.offset, bytes: line.bytes }
  const { stream, revision } = event.header
  throw new ArchiveFileError(
    `${archive}.jsonl does not hold ${stream} @ ${revision} as the store does: look at the disk`,
  )
}

interface FileLine {
  readonly text: string
  readonly offset: number
  readonly bytes: number
}

/** Returns the digest and the length of the whole file. Throws `ArchiveFileError` if it cannot be read. */
async function* linesOf(path: string): AsyncGenerator<FileLine, { readonly digest: string; readonly bytes: number }> {
  const hash = createHash('sha256')
  let total = 0
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
        hash.update(chunk)
        total += chunk.length
        yield chunk
      }
    } catch (cause) {
      throw new ArchiveFileError(`an archive cannot be read: ${String(cause)}`, { cause })
    }
  }
  let offset = 0
  for await (const lines of readLines(chunks(), LINE_MAX_BYTES)) {
    for (const { bytes } of lines) {
      yield { text: Buffer.from(bytes).toString('utf8'), offset, bytes: bytes.length }
      offset += bytes.length + 1
    }
  }
  return { digest: `sha256:${hash.digest('hex')}`, bytes: total }
}
