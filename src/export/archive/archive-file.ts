/**
 * @module The file of an archive: the events of whole runs as lines of an export, with a head and a signed trailer, so that `verify` reads it as an export
 * (LIFE-51). It is durable before anything refers to it, and is read again and compared, line by line, with the events in the store.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { runStream } from '../../../schemas/names.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { syncPlaced } from '../../signing/durable-file.ts'
import type { MovedRow } from '../../store/archived-body.ts'
import { readLines } from '../../verify/read-lines.ts'
import { exportDigest, exportHead, exportLine, exportTrailer, recordText } from '../jsonl.ts'
import { signedTrailer } from '../signed-trailer.ts'

const OWNER_ONLY = 0o600
const LINE_MAX_BYTES = 64 * 1024 * 1024

/** A run cannot be archived: one of its events does not verify, or cannot be read. */
export class UnsoundRunError extends Error {
  override readonly name = 'UnsoundRunError'
  readonly run: string

  constructor(run: string, reason: string) {
    super(`the run ${run} cannot be archived: ${reason}`)
    this.run = run
  }
}

/** The file on the disk is not what was written, or not what the store holds. */
export class ArchiveFileError extends Error {
  override readonly name = 'ArchiveFileError'
}

export interface ArchivedRun {
  readonly run: string
  /** Number of its events in the archive, from the first one on. */
  readonly events: number
}

/** A file that was read again and compared with the store. */
export interface CheckedArchive {
  readonly digest: string
  readonly bytes: number
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

export const archivePath = ({ folder, archive }: Pick<Places, 'folder' | 'archive'>): string =>
  join(folder, `${archive}.jsonl`)

/**
 * Writes the runs, in this order, and puts the file in its place once it is durable; a file of that name that is not on record is replaced. Throws
 * `UnsoundRunError`, and the errors of the file system.
 */
export async function writeArchive(places: Places, runs: readonly string[]): Promise<readonly ArchivedRun[]> {
  const path = archivePath(places)
  const file = await open(`${path}.part`, 'w', OWNER_ONLY)
  let written: readonly ArchivedRun[]
  try {
    written = await writeLines(file, places, runs)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.part`, path)
  syncPlaced(path)
  return written
}

async function writeLines(
  file: FileHandle,
  { ledger, caller, archive }: Places,
  runs: readonly string[],
): Promise<readonly ArchivedRun[]> {
  const digest = exportDigest()
  const put = async (text: string): Promise<void> => {
    digest.update(text)
    await file.appendFile(text)
  }
  const filter = { archive }
  await put(exportHead(filter))
  const written: ArchivedRun[] = []
  for (const run of runs) {
    let events = 0
    for await (const page of soundPages(ledger, caller, { run })) {
      events += page.length
      await put(page.map(({ texts }) => exportLine(texts)).join(''))
    }
    if (events === 0) throw new UnsoundRunError(run, 'the store holds no event of it')
    written.push({ run, events })
  }
  const { tree } = await ledger.exports.pin(caller, {})
  const trailer = signedTrailer(ledger, caller, {
    ...{ ledgerId: ledger.ledgerId, tenant: caller.tenant, run: null, filter },
    ...{ events: sumOf(written), digest: digest.text(), asOf: tree?.eventId ?? null },
    ...{ treeSize: tree?.size ?? null, root: tree?.root ?? null },
  })
  await file.appendFile(exportTrailer(trailer))
  return written
}

/** The events of a run from its first one, each of which was checked. Throws `UnsoundRunError`. */
async function* soundPages(
  ledger: Ledger,
  caller: Caller,
  { run, to }: { readonly run: string; readonly to?: number },
): AsyncGenerator<readonly LedgerEvent[]> {
  const found = await ledger.runEvents(caller, run, { from: 0, ...(to !== undefined && { to }) })
  if (!found.ok) throw new UnsoundRunError(run, found.refusal.detail)
  let next = 0
  for await (const page of found.value) {
    for (const { seal, header } of page) {
      if (seal !== 'valid') throw new UnsoundRunError(run, `its event ${header.revision} does not verify`)
      if (header.revision !== next) throw new UnsoundRunError(run, `its event ${next} is missing`)
      next += 1
    }
    yield page
  }
}

/** Reads the file, and compares each line with the event in the store, whose seal is checked. Throws `ArchiveFileError` and `UnsoundRunError`. */
export async function checkArchive(places: Places, runs: readonly ArchivedRun[]): Promise<CheckedArchive> {
  const lines = linesOf(archivePath(places))
  const next = async (): Promise<FileLine | undefined> => {
    const read = await lines.next()
    return read.done === true ? undefined : read.value
  }
  await next()
  const { ledger, caller, archive } = places
  const rows: MovedRow[] = []
  for (const { run, events } of runs) {
    const before = rows.length
    for await (const page of soundPages(ledger, caller, { run, to: events - 1 })) {
      for (const event of page) {
        const line = await next()
        if (line?.text !== recordText(event.texts))
          throw new ArchiveFileError(
            `${archive}.jsonl does not hold ${runStream(caller.tenant, run)} @ ${event.header.revision} as the store does: nothing was moved out of the store; look at the disk`,
          )
        rows.push({ position: event.position, offset: line.offset, bytes: line.bytes })
      }
    }
    if (rows.length - before !== events)
      throw new ArchiveFileError(
        `${archive}.jsonl holds more events of the run ${run} than the store: nothing was moved`,
      )
  }
  const trailer = await next()
  const end = await lines.next()
  if (trailer?.text.startsWith('{"trailer":') !== true || end.done !== true)
    throw new ArchiveFileError(`${archive}.jsonl does not end with its trailer: nothing was moved out of the store`)
  return { ...end.value, events: rows.length, rows }
}

interface FileLine {
  readonly text: string
  readonly offset: number
  readonly bytes: number
}

/** Returns the digest and the length of the whole file. */
async function* linesOf(path: string): AsyncGenerator<FileLine, { readonly digest: string; readonly bytes: number }> {
  const hash = createHash('sha256')
  let total = 0
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      total += chunk.length
      yield chunk
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

function sumOf(runs: readonly ArchivedRun[]): number {
  return runs.reduce((sum, { events }) => sum + events, 0)
}
