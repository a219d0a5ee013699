/**
 * @module `countersign copy`: copies a whole ledger from one store to another, with identical digests and in the order of the source, up to the end that the
 * source had at the start. Each event is verified before it is written, and the whole copy is read back at the end; an interrupted copy resumes where it
 * stopped.
 */
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import type { AppendRecord } from '../../schemas/header.ts'
import type { Loss } from '../../schemas/loss.ts'
import { SYSTEM_TENANT } from '../../schemas/names.ts'
import { NO_NOTES, openReader, openStore } from '../compose/compose-stores.ts'
import { lossesAtRest } from '../compose/log-at-rest.ts'
import type { LossesOfTenant } from '../ledger/log/tenant-logs.ts'
import { requireKeys } from '../settings/key-source.ts'
import { type StorePlace, storePlace } from '../settings/places.ts'
import { type CheckKeys, checkRecord, type Expectation, firstExpectation, nextExpectation } from '../signing/check.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import { streamTenant } from '../signing/stream-tenant.ts'
import { requireBodies } from '../store/archive-missing-error.ts'
import type { Append, EventStore, ReadRecord, RecordPages } from '../store/event-store.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { exitCodeWith } from './named-losses.ts'
import { startProgress } from './progress.ts'
import { jsonLine, oneLine } from './shown.ts'

const GROUP_RECORDS_MAX = 128
const AGAIN_MAX = 30

/** An event of the source does not verify: the only outcome with exit code 1. */
class TamperedError extends Error {}

export async function copy({ settings, text, has }: Arguments): Promise<number> {
  const [from, to] = [placeOf('from', text('from'), settings.data), placeOf('to', text('to'), settings.data)]
  if (JSON.stringify(from) === JSON.stringify(to)) throw usageFailure('--from and --to are the same store')
  const { ring } = requireKeys(settings.keys)
  using source = await openReader(from, NO_NOTES)
  await using target = await openStore(to, { ring: () => ring })
  // The copy holds nothing that says what its source has lost.
  const beside = from.kind === 'sqlite' ? dirname(from.path) : settings.data
  const lost = await lossesAtRest({ ...settings, store: from, data: beside }, source)
  const until = await source.end()
  if (until === undefined) throw new CliFailure(`${source.url} is empty`, EXIT.unproven)

  const progress = startProgress({ unit: 'events' })
  const work = new Copy(target, { ring, runKeys: createRunKeys(ring) }, progress.report)
  try {
    await work.run(source.readAll({ until }))
    await work.readBack()
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    progress.end()
    process.stderr.write(`countersign: ${oneLine(error.message)}\n`)
    // It may be the first event behind one that is known to be lost.
    exitCodeWith(lossesOf(lost, work.tenants))
    return EXIT.tampered
  } finally {
    progress.end()
  }
  const { copied, known } = work
  const summary = { from: source.url, to: target.url, copied, known }
  const line = `${copied} events copied from ${source.url} to ${target.url}, ${known} were there already`
  process.stdout.write(has('json') ? jsonLine(summary) : `${oneLine(line)}\n`)
  return exitCodeWith(lossesOf(lost, work.tenants))
}

/** Each once, although those of the store are losses of every tenant. */
function lossesOf(lost: LossesOfTenant, tenants: ReadonlySet<string>): readonly Loss[] {
  const losses = [SYSTEM_TENANT, ...tenants].flatMap((tenant) => lost(tenant))
  return [...new Map(losses.map((loss) => [JSON.stringify(loss), loss])).values()]
}

function placeOf(flag: string, inputs: string | undefined, data: string): StorePlace {
  if (inputs === undefined) throw usageFailure(`--${flag} is missing: a path, sqlite:<path> or esdb://...`)
  const place = storePlace(inputs, data)
  if (place.kind === 'memory') throw usageFailure(`--${flag}: a store in memory cannot be copied`)
  return place
}

class Copy {
  copied = 0
  known = 0
  /** Of the events so far. */
  readonly tenants = new Set<string>()
  readonly #target: EventStore
  readonly #keys: CheckKeys
  readonly #report: (done: number) => void
  readonly #expected = new Map<string, Expectation>()
  readonly #written = new Fingerprint()

  constructor(target: EventStore, keys: CheckKeys, report: (done: number) => void) {
    this.#target = target
    this.#keys = keys
    this.#report = report
  }

  async run(source: RecordPages): Promise<void> {
    const existing = singly(this.#target.readAll())
    for await (const page of source) {
      const fresh: ReadRecord[] = []
      for (const record of page) {
        const known = await existing.next()
        if (known.done === true) fresh.push(record)
        else this.#take(record, known.value)
      }
      for (const append of this.#appendsOf(fresh)) await this.#write(append)
      this.#report(this.copied + this.known)
    }
    if ((await existing.next()).done !== true) throw otherEvents(this.#target)
  }

  /** A store on a server cannot be locked: this detects events that other processes wrote in the meantime, and events that the store lost. */
  async readBack(): Promise<void> {
    const found = new Fingerprint()
    for await (const page of this.#target.readAll()) for (const record of page) found.add(record)
    if (found.text() !== this.#written.text()) {
      throw new CliFailure(
        `${this.#target.url} does not hold what was copied and nothing else: stop what writes to it, and copy into an empty store`,
      )
    }
  }

  /** Events that the target already has must be the beginning of the source, event by event. */
  #take(record: ReadRecord, existing: ReadRecord): void {
    const isSame =
      record.stream === existing.stream && record.revision === existing.revision && record.header === existing.header
    // A body in an archive that is elsewhere is not another body.
    if (isSame) requireBodies([record, existing])
    if (!isSame || record.data !== existing.data) throw otherEvents(this.#target)
    this.#verified(record)
    this.known += 1
  }

  /** Groups consecutive records of one stream into one append. */
  *#appendsOf(records: readonly ReadRecord[]): Generator<Append, void> {
    let group: { stream: string; expectedRevision: number; records: AppendRecord[]; bytes: number } | undefined
    for (const record of records) {
      const checked = this.#verified(record)
      const bytes = Buffer.byteLength(record.header) + Buffer.byteLength(record.data) + record.salt.byteLength
      const fits = (group?.bytes ?? 0) + bytes <= this.#target.maxAppendBytes
      if (group?.stream === record.stream && fits && group.records.length < GROUP_RECORDS_MAX) {
        group.records.push(checked)
        group.bytes += bytes
        continue
      }
      if (group !== undefined) yield group
      group = { stream: record.stream, expectedRevision: record.revision - 1, records: [checked], bytes }
    }
    if (group !== undefined) yield group
  }

  #verified(record: ReadRecord): AppendRecord {
    const { stream, revision, header, salt, data } = record
    const checked = checkRecord(record, this.#expected.get(stream) ?? firstExpectation(stream), this.#keys)
    if (!checked.ok) {
      // Anything else that is wrong is damage, wherever the body is.
      if (checked.faults.every(({ code }) => code === 'archive-missing')) requireBodies([record])
      const reasons = checked.faults.map(({ code, message }) => `${code}: ${message}`).join('; ')
      throw new TamperedError(`${stream} @ ${revision} does not verify (${reasons}); the copy ends before it`)
    }
    const tenant = streamTenant(stream)
    if (tenant !== undefined) this.tenants.add(tenant)
    this.#expected.set(stream, nextExpectation(checked))
    this.#written.add(record)
    const { id, type, request } = checked.header
    return { id, type, header, salt, data, ...(request !== undefined && { requestId: request.id }) }
  }

  async #write(append: Append): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const result = await this.#target.append(append)
      if (result.kind === 'appended') break
      if (result.kind !== 'unavailable' || tries === AGAIN_MAX) {
        throw new CliFailure(
          `${append.stream} cannot be written to ${this.#target.url} (${result.kind}); ask for the copy again`,
        )
      }
      await new Promise((resolve) => setTimeout(resolve, result.retryAfterMs))
    }
    this.copied += append.records.length
  }
}

/** Digest over records in order, byte for byte: two stores with the same digest contain the same ledger. */
class Fingerprint {
  readonly #hash = createHash('sha256')

  add({ stream, revision, header, salt, data }: ReadRecord): void {
    this.#hash.update(JSON.stringify([stream, revision, header, Buffer.from(salt).toString('base64url'), data]))
  }

  /** The digest in hex; no record can be added afterwards. */
  text(): string {
    return this.#hash.digest('hex')
  }
}

function otherEvents({ url }: EventStore): CliFailure {
  return new CliFailure(`${url} holds events that are not the beginning of the source: copy into an empty store`)
}

async function* singly(pages: RecordPages): AsyncGenerator<ReadRecord, undefined> {
  for await (const page of pages) yield* page
  return undefined
}
