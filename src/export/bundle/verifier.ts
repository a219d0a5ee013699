/** @module `verify.mjs`, which stands by itself in every bundle, with its types: the ledger says what the bundle says of itself. */
import type { KeyObject } from 'node:crypto'
import type { CallFacts } from '../../../projections/event-facts.ts'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import type { BundlePredicate, BundleProof, BundleQuery } from './statement.ts'

/** The worst that was found. */
export type BundleWord = Verdict | 'CONSISTENT, NOT AUTHENTICATED'
type Verdict = 'VERIFIED' | 'TAMPERED' | 'INCOMPLETE' | 'UNVERIFIABLE'

export interface BundleFault {
  readonly verdict: Exclude<BundleWord, 'VERIFIED'>
  readonly code: string
  readonly message: string
}

export interface RunKeyFile {
  readonly stream: string
  readonly keys: readonly { readonly kid: string; readonly key: string }[]
}

export interface BundleOptions {
  /** Verifier key of the log, or what says it of the one in the bundle; undefined: the one in the bundle, which authenticates nothing. */
  readonly key?: string | ((bundled: string) => string | undefined) | undefined
  /** Text of a checkpoint that was kept. */
  readonly checkpoint?: string | undefined
  /** Verifier keys of witnesses (C2SP cosignatures). */
  readonly witnesses?: readonly string[] | undefined
  /** How many of them must have cosigned; all of them by default. */
  readonly quorum?: number | undefined
  readonly runKey?: RunKeyFile | undefined
  /** Takes the time-stamped text and the authority's answer, which fit each other: whether the signature does is not checked here. */
  readonly onTimestamp?: (stamp: { readonly text: Uint8Array; readonly reply: Uint8Array }) => void
  /** Instead of `runKey`: undefined where nothing is to be checked, null where there must be a key and is none. */
  readonly keyFor?: (header: {
    readonly kid: string
    readonly tenant: string
    readonly stream: string
  }) => KeyObject | null | undefined
}

export interface BundleVerdict {
  readonly verdict: BundleWord
  readonly faults: readonly BundleFault[]
  readonly notes: string[]
  readonly events: number
  readonly leaves: number
  /** Events that answer the whole query. */
  readonly matching: number
  /** Events that name a large value, and of these such whose value is here as it was named. */
  readonly named: number
  readonly values: number
  readonly macs: number
  readonly keyGiven?: boolean
  /** What shows that nothing was left out; absent where the manifest could not be read. */
  readonly proof?: BundleProof
  /** What the verdict is about; absent where the manifest could not be read. */
  readonly about?: {
    readonly log: string
    readonly key: string
    readonly size: number
    readonly query: BundleQuery
    readonly answer?: NonNullable<BundlePredicate['answer']>
    /** `signedBy`: only where somebody checked the signature, too. */
    timestamp?: { readonly size: number; readonly time: string; signedBy?: string }
  }
}

interface Counts {
  entries(): readonly (readonly [name: string, count: number])[]
}

interface Bounded {
  readonly items: readonly unknown[]
  readonly total: number
}

type Taken = Pick<LedgerEvent, 'header' | 'data'>

/** What is worked out from events in their order, in bounded memory: for large tenants that takes more than one pass over them. */
export interface Gathered {
  take(event: Taken): void
  /** For the passes after the first. */
  takeAgain(event: Taken): void
  /** Whether the events have to be taken again, from the first on; asked after each pass. */
  nextPass(): boolean
  /** Bytes that grow with the number of runs and calls. */
  readonly heldBytes: number
}

/** Counts the events that answer a query. */
export interface AnswerCount extends Gathered {
  readonly count: number
}

/** Of what the report shows, gathered event by event. */
interface ReportFacts extends Gathered {
  readonly ends: Counts
  readonly types: Counts
  readonly agents: Counts
  readonly notable: Bounded
  readonly openRuns: Bounded
  readonly openCalls: Bounded
  readonly tokens: number
  readonly costs: ReadonlyMap<string, string>
}

/** An event of the log, with its body where the bundle holds it. */
export interface LoggedEvent {
  readonly header: Header
  readonly data: JsonObject | undefined
}

/** The answer to a question, made from the events of a log alone: all of them in their order, for as many passes as it takes. */
export interface AuditAnswer {
  gather(event: LoggedEvent, leaf: number): void
  /** Whether all events have to be gathered once more. */
  nextPass(): boolean
  /** After the last pass, every event once more: the rows that are now known. */
  rows(event: LoggedEvent, leaf: number): Iterable<JsonObject>
  /** The rows behind the last event. */
  rest(): Iterable<JsonObject>
}

/** The first rows, and how many there are. */
export interface ListedRows {
  readonly items: readonly JsonObject[]
  readonly total: number
  add(row: JsonObject): void
}

interface Verifier {
  /** Reads a path, or the bytes of a tar, at once. Throws for what the system says of the path, never for what the bundle holds. */
  readonly verifyBundle: (source: string | Uint8Array, options?: BundleOptions) => BundleVerdict
  readonly reportLines: (
    found: BundleVerdict,
    how?: { readonly paint?: (word: BundleWord) => string; readonly keyFrom?: string | undefined },
  ) => readonly string[]
  /** The texts of a bundle: whoever checks it makes them again. */
  readonly readmeText: (
    predicate: BundlePredicate,
    proof: BundleProof,
    hasValues?: boolean,
    hasStamp?: boolean,
  ) => string
  readonly ReportFacts: new (isEarlier?: boolean, maxBytes?: number) => ReportFacts
  /** `isAnswer` judges an event by what the claim of its call says of what the query asks for. */
  readonly AnswerCount: new (
    query: EventQuery,
    isAnswer: (event: LedgerEvent, claim: CallFacts) => boolean,
    maxBytes?: number,
  ) => AnswerCount
  readonly reportHtml: (facts: ReportFacts, predicate: BundlePredicate, listed?: ListedRows) => string
  readonly AuditAnswer: new (question: AnswerQuestion, tenant: string) => AuditAnswer
  readonly BoundedList: new () => ListedRows
  /** The queries whose answer follows from the tenant's log. */
  readonly PROVABLE_QUESTIONS: readonly string[]
  /** Which events a bundle with the answer holds. */
  readonly eventsBehind: (question: AnswerQuestion) => BundleQuery
  readonly jwksText: (verifierKey: string) => string
  /** Bundles of so many events have a proof file for each; of larger ones the first and the last event have. */
  readonly PROOFS_MAX: number
}

export const {
  verifyBundle,
  reportLines,
  readmeText,
  ReportFacts,
  AnswerCount,
  reportHtml,
  jwksText,
  PROOFS_MAX,
  AuditAnswer,
  BoundedList,
  PROVABLE_QUESTIONS,
  eventsBehind,
} = (await import(new URL('./verify.mjs', import.meta.url).href)) as Verifier
