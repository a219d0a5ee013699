/**
 * @module What can be said of one record without its neighbours. Whoever looks at records ahead of the one who judges them, in a thread of its own
 * too, hands over this; what is not sound in every respect is judged from the record itself.
 */
import { declarationOf } from '../../schemas/events.ts'
import { SYSTEM_STREAM } from '../../schemas/names.ts'
import { type CheckDepth, checkRecord, firstExpectation } from '../signing/check.ts'
import { readHeader } from '../signing/header-reader.ts'
import { type KeyRing, type RunKeys, ringIndex } from '../signing/key-ring.ts'
import { isValueStream } from '../signing/stream-tenant.ts'
import { disclosesRun, EventRules } from './event-rules.ts'
import { isCheckpoint } from './recorded-checkpoints.ts'
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
    this.#rules = new EventRules({ ring: undefined, bodies: options.depth === 'full' })
  }

  /** Undefined where anything at all is to be said of the record, or where it bears on others. */
  look(record: PlacedRecord): SoundFacts | undefined {
    const { stream, revision } = record
    if (stream === SYSTEM_STREAM || isValueStream(stream)) return undefined
    const read = readHeader(record.header)
    if (!read.ok) return undefined
    const { header } = read
    if (disclosesRun(header.type) || isCheckpoint(header.type)) return undefined
    if (record.requestId !== header.request?.id) return undefined
    const large = declarationOf(header.type)?.large
    if (large !== undefined && namesValue(large, record.data)) return undefined
    const expected = { ...firstExpectation(stream), revision, prevDigest: header.prev }
    const checked = checkRecord(record, expected, this.#options, read)
    // The text of a body may be made only once it is wanted.
    const data = this.#options.depth === 'full' ? record.data : ''
    if (!checked.ok || this.#rules.check(header, data).length > 0) return undefined
    const { id, time, tenant, kid, prev } = header
    const behindClock = header.clock !== undefined
    const index = ringIndex(this.#options.ring, kid)
    return { stream, revision, tenant, id, time, behindClock, ringIndex: index, prev, digest: checked.digest }
  }
}
