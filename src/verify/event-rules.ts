/** @module Rules for the content of verified events: known types and bodies, the first event of each stream, and the order of the ledger's keys. */

import { knowsBody } from '../../projections/body-versions.ts'
import { isOfSchema } from '../../schemas/compiled-schema.ts'
import { EVENTS, type EventBody, type EventType } from '../../schemas/events.ts'
import type { Header } from '../../schemas/header.ts'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import { parseStream, SYSTEM_STREAM } from '../../schemas/names.ts'
import { readSuccession } from '../merkle/key-succession.ts'
import { type NoteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { type KeyOrder, ringIndex } from '../signing/key-ring.ts'
import type { VerifyFaultCode } from './fault.ts'
import type { SoundLink } from './source-item.ts'

type EventFaults = readonly { readonly code: VerifyFaultCode; readonly message: string }[]

const NONE: EventFaults = []
const FIRST_OF_RUN = 'RunStarted'
const FIRST_OF_LEDGER = 'LedgerCreated'
const DISCLOSURE = 'RunKeyDisclosed'
const OF_ACCESS = 'AccessRecorded'
const OF_VALUE = 'ValueStored'

/** Whether an event of this type changes how later events of its run are judged. */
export function disclosesRun(type: string): boolean {
  return type === DISCLOSURE
}

export interface EventRulesOptions {
  /** Undefined if there are no keys to compare with. */
  readonly ring: KeyOrder | undefined
  /** Verifier keys derived from the supplied keys for an origin: all current and former signing keys of the logs, oldest first. */
  readonly verifierKeys?: (origin: string) => readonly string[]
  /** Whether to parse each body and compare it with the schema of its type. */
  readonly bodies: boolean
}

export interface LedgerFacts {
  readonly ledgerId: string
  readonly origin: string
}

export class EventRules {
  readonly #options: EventRulesOptions
  /** Ring index of the last key that the ledger announced; undefined before its founding event. */
  #announced: number | undefined
  #announcedKid: string | undefined
  readonly #announcedKids = new Set<string>()
  #facts: LedgerFacts | undefined
  /** Keys that the ledger announced for its logs, oldest first. */
  #logKeys: readonly NoteVerifier[] = []
  /** Streams of the runs whose keys were disclosed. */
  readonly #disclosed = new Set<string>()

  constructor(options: EventRulesOptions) {
    this.#options = options
  }

  get facts(): LedgerFacts | undefined {
    return this.#facts
  }

  /** Keys that the ledger has announced so far for its logs, oldest first; each predecessor signed its successor. */
  get logKeys(): readonly NoteVerifier[] {
    return this.#logKeys
  }

  /** Number of runs whose keys were disclosed: their MACs prove nothing any more. */
  get disclosedRuns(): number {
    return this.#disclosed.size
  }

  /** Whether the ledger announced this key in an event with a valid seal. */
  wasAnnounced(kid: string): boolean {
    return this.#announcedKids.has(kid)
  }

  /** Whether records that were found sound on their own also satisfy the rules that depend on the order of events. */
  admits({ stream, lastRingIndex: index }: Pick<SoundLink, 'stream' | 'lastRingIndex'>): boolean {
    return !this.#disclosed.has(stream) && (this.#announced === undefined || index <= this.#announced)
  }

  /** Applies the rules to an event whose seal is valid or cannot be checked. */
  check(header: Header, data: string): EventFaults {
    const found = [this.#place(header), this.#end(header), this.#key(header), this.#body(header, data)]
    return found.every((each) => each === NONE) ? NONE : found.flat()
  }

  #place({ stream, revision, type }: Header): EventFaults {
    if (type === FIRST_OF_LEDGER && stream !== SYSTEM_STREAM)
      return fault('first-event', `${type} outside ${SYSTEM_STREAM}`)
    const kind = parseStream(stream)?.kind
    if ((type === OF_ACCESS) !== (kind === 'access') || (type === OF_VALUE) !== (kind === 'value'))
      return fault('first-event', `${type} does not belong in ${stream}`)
    const first = stream === SYSTEM_STREAM ? FIRST_OF_LEDGER : kind === 'run' ? FIRST_OF_RUN : undefined
    if (first === undefined || (type === first) === (revision === 0)) return NONE
    return fault(
      'first-event',
      revision === 0 ? `the first event is ${type}, not ${first}` : `${type} is not the first event`,
    )
  }

  #end({ stream, type }: Header): EventFaults {
    const isBehind = this.#disclosed.has(stream)
    if (disclosesRun(type)) this.#disclosed.add(stream)
    if (!isBehind) return NONE
    return fault(
      'after-disclosure',
      `${type} is after the keys of the run were disclosed: anyone who has them may have sealed it`,
    )
  }

  #key(header: Header): EventFaults {
    const { ring } = this.#options
    if (ring === undefined || this.#announced === undefined) return NONE
    if (ringIndex(ring, header.kid) <= this.#announced) return NONE
    return fault('key-not-announced', `sealed with ${header.kid} before the ledger announced that key`)
  }

  #body(header: Header, data: string): EventFaults {
    const system = header.stream === SYSTEM_STREAM
    if (!this.#options.bodies && !system) return Object.hasOwn(EVENTS, header.type) ? NONE : unknownType(header.type)
    if (!Object.hasOwn(EVENTS, header.type)) return unknownType(header.type)

    const body = parseJsonOrUndefined(data)
    if (!knowsBody(header.type, versionOf(body)))
      return fault('body-version', `this build does not know that version of ${header.type}`)
    const { schema } = EVENTS[header.type as EventType]
    if (!isOfSchema(schema, body)) {
      const issue = schema.safeParse(body).error?.issues[0]
      return fault(
        'body-schema',
        `the body of ${header.type} does not fit its schema at /${issue?.path.join('/') ?? ''}`,
      )
    }
    if (!system) return NONE
    if (header.type === 'KeyRotated') return this.#rotate(EVENTS.KeyRotated.schema.parse(body))
    if (header.type === 'LogKeyRotated') return this.#rotateLogKey(EVENTS.LogKeyRotated.schema.parse(body))
    return this.#found(header, body)
  }

  #found(header: Header, body: unknown): EventFaults {
    const founding = EVENTS.LedgerCreated.schema.safeParse(body)
    if (header.type !== FIRST_OF_LEDGER || !founding.success) return NONE
    const { ledgerId, origin, kid, verifierKey } = founding.data
    this.#facts = { ledgerId, origin }
    this.#announce(kid)
    const announced = parseVerifierKey(verifierKey)
    this.#logKeys = announced === undefined ? [] : [announced]
    if (this.#ownLogKey(0, verifierKey)) return NONE
    return fault('foreign-verifier-key', `the key file's checkpoint key is not this ledger's (${verifierKey})`)
  }

  /** Whether the supplied keys have this key at its place; an older key file cannot be compared beyond its last key. */
  #ownLogKey(place: number, verifierKey: string): boolean {
    const own = this.#options.verifierKeys?.(this.#facts?.origin ?? '')[place]
    return own === undefined || own === verifierKey
  }

  #rotateLogKey(body: EventBody<'LogKeyRotated'>): EventFaults {
    const last = this.#logKeys.at(-1)
    const succession = readSuccession(body.succession)
    if (
      succession?.from.text !== body.previousKey ||
      succession.to.text !== body.verifierKey ||
      succession.origin !== this.#facts?.origin
    )
      return fault('key-rotation', 'its note is not the succession, signed by both keys, that it names')
    if (last?.text !== body.previousKey)
      return fault('key-rotation', `the key of the log before it was ${last?.text}, not ${body.previousKey}`)
    this.#logKeys = [...this.#logKeys, succession.to]
    if (this.#ownLogKey(this.#logKeys.length - 1, body.verifierKey)) return NONE
    return fault(
      'key-rotation',
      `the key file has another successor of ${body.previousKey} than ${body.verifierKey}: one of the two was signed by somebody who has the old key and should not`,
    )
  }

  #rotate({ kid, previousKid }: { readonly kid: string; readonly previousKid: string }): EventFaults {
    const before = this.#announcedKid
    const beforeIndex = this.#announced
    this.#announce(kid)
    if (before !== undefined && previousKid !== before) {
      return fault('key-rotation', `the key before it was ${before}, not ${previousKid}`)
    }
    const index = this.#announced ?? -1
    if (index < 0 || beforeIndex === undefined || index > beforeIndex) return NONE
    return fault('key-rotation', `${kid} does not come after ${before} in the key ring`)
  }

  #announce(kid: string): void {
    this.#announcedKid = kid
    this.#announcedKids.add(kid)
    if (this.#options.ring !== undefined) this.#announced = ringIndex(this.#options.ring, kid)
  }
}

function fault(code: VerifyFaultCode, message: string): EventFaults {
  return [{ code, message }]
}

function unknownType(type: string): EventFaults {
  return fault('unknown-type', `this build does not know the type ${type}`)
}

function versionOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'v' in body ? body.v : undefined
}
