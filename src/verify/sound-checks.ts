/**
 * @module What can be said of one record without its neighbours. Whoever looks at records ahead of the one who judges them, in a thread of its own
 * too, hands over this; what is not sound in every respect is judged from the record itself.
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
    // No order of keys: which of them the ledger has announced by then is known in order alone.
    this.#rules = new EventRules({ ring: undefined, bodies: false })
  }

  /** Undefined where anything at all is to be said of the record, or where it bears on others. */
  look(record: PlacedRecord): SoundFacts | undefined {
    const { stream, revision } = record
    if (stream === SYSTEM_STREAM || isValueStream(stream)) return undefined
    const read = readHeader(record.header)
    if (!read.ok) return undefined
    const { header } = read
    if (disclosesRun(header.type) || isCheckpoint(header.type) || header.type === 'LossAcknowledged') return undefined
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
