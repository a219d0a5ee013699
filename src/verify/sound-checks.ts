/**
 * @module Checks of one record without its neighbours. Code that examines records ahead of the judging thread, also in other threads, passes on the result; a
 * record that is not sound in every respect is judged from its text instead.
 */
import { declarationOf } from '../../schemas/events.ts'
import { SYSTEM_STREAM } from '../../schemas/names.ts'
import { type CheckDepth, checkRecord } from '../signing/check.ts'
import { readHeader } from '../signing/header-reader.ts'
import { type KeyRing, type RunKeys, ringIndex } from '../signing/key-ring.ts'
import { isValueStream } from '../signing/stream-tenant.ts'
import { bearsOnErasure } from './erasure-checks.ts'
import { disclosesRun, EventRules } from './event-rules.ts'
import { isCheckpoint } from './recorded-checkpoints.ts'
import { isSoundBody } from './sound-body.ts'
import type { PlacedRecord, SoundFacts } from './source-item.ts'
import { namesValue } from './value-checks.ts'

export interface SoundChecksOptions {
  readonly ring: Pick<KeyRing, 'keys'>
  readonly runKeys: RunKeys
  readonly depth: CheckDepth
}

export class SoundChecks {
  readonly #options: SoundChecksOptions
  readonly #rules: EventRules

  constructor(options: SoundChecksOptions) {
    this.#options = options
    // Without a key order: which keys the ledger had announced is known only when events are judged in order.
    this.#rules = new EventRules({ ring: undefined, bodies: false })
  }

  /** Undefined if there is anything to report about the record, or if it affects how others are judged. */
  look(record: PlacedRecord): SoundFacts | undefined {
    const { stream, revision } = record
    if (record.archive !== undefined) return undefined
    if (stream === SYSTEM_STREAM || isValueStream(stream)) return undefined
    const read = readHeader(record.header)
    if (!read.ok) return undefined
    const { header } = read
    if (disclosesRun(header.type) || isCheckpoint(header.type) || header.type === 'LossAcknowledged') return undefined
    if (header.type === 'RunsArchived') return undefined
    if (bearsOnErasure(header.type, record)) return undefined
    if (record.requestId !== header.request?.id) return undefined
    const large = declarationOf(header.type)?.large
    if (large !== undefined && namesValue(large, record.data)) return undefined
    const expected = { stream, revision, prevDigest: header.prev, prevTime: undefined, minRingIndex: 0 }
    const { ring, runKeys, depth } = this.#options
    const checked = checkRecord(record, expected, { ring, runKeys, depth: 'fast' }, read)
    if (!checked.ok || this.#rules.check(header, '').length > 0) return undefined
    if (depth === 'full' && !isSoundBody(header.type, record)) return undefined
    const { id, time, tenant, kid, prev } = header
    const behindClock = header.clock !== undefined
    const index = ringIndex(ring, kid)
    return { stream, revision, tenant, id, time, behindClock, ringIndex: index, prev, digest: checked.digest }
  }
}
